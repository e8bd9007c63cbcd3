package log

import (
	"errors"
	"fmt"
	"io/fs"
)

// Trim drops the segments that lie whole below a position, oldest first, but never the last one. They are
// recycled if nobody else has them: see Config.Spares. The caller must have recorded the position, or one
// behind it, durably: a restart needs it as Config.From. A lower position than before does nothing.
//
// While the log is pinned nothing is dropped until it no longer is. After an error some segments may be
// left; the next Trim tries again.
func (l *Log) Trim(to Position) error {
	l.dir.Lock()
	defer l.dir.Unlock()
	l.mu.Lock()
	if l.mu.trimmed.Before(to) {
		l.mu.trimmed = to
	}
	l.mu.Unlock()
	return l.trim()
}

// Pin keeps all segments in place until release is called, once, which drops what Trim could not. An error of
// that is found by the next Trim.
func (l *Log) Pin() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.pins++
	return func() {
		l.mu.Lock()
		l.mu.pins--
		l.mu.Unlock()
		l.dir.Lock()
		defer l.dir.Unlock()
		_ = l.trim() // what is left is dropped by the next Trim
	}
}

// trim drops what is below the position of the last Trim. Dir is held.
func (l *Log) trim() error {
	l.mu.Lock()
	s := &l.mu
	if l.view || s.closed {
		defer s.Unlock()
		return l.usableLocked()
	}
	n := 0
	for s.pins == 0 && n < len(s.segments)-1 && s.segments[n].number < s.trimmed.Segment {
		n++
	}
	gone := s.segments[:n:n]
	s.segments = append([]*segment(nil), s.segments[n:]...) // no reader finds those that are gone
	s.Unlock()
	for i, g := range gone {
		if err := l.retire(g); err != nil {
			s.Lock()
			s.segments = append(gone[i:len(gone):len(gone)], s.segments...)
			s.Unlock()
			return errors.Join(err, l.settle())
		}
	}
	return l.settle()
}

// retire makes a spare of a segment, or removes it. Dir is held.
func (l *Log) retire(g *segment) error {
	l.mu.Lock()
	recycle := g.ours && !g.linked && !g.big && g.readers == 0 && len(l.mu.spares) < l.cfg.Spares
	l.mu.unsettled = true
	l.mu.Unlock()
	name := l.cfg.path(segmentName(g.number))
	var err error
	if recycle {
		err = l.cfg.FS.Rename(name, l.cfg.path(spareName(g.number)))
	} else {
		err = l.cfg.FS.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was dropped, and the attempt reported a failure
	}
	if err != nil {
		return fmt.Errorf("drop %s: %w", segmentName(g.number), err)
	}
	if recycle {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.mu.spares = append(l.mu.spares, spareName(g.number))
	}
	return nil
}
