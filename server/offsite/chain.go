package offsite

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// chain is the log that was uploaded, and the steps that tell of it behind the newest backup.
type chain struct {
	base   string     // backup that the steps are behind; empty: none
	broken bool       // a part of the log was dropped before it was uploaded: no step can follow
	at     position   // what is before has been uploaded
	log    []logPiece // that was uploaded, of segments that a later backup may need, without gaps up to at
	fresh  []logPiece // of these, what no step tells yet
	steps  int        // how many there are
	recent []step     // those that have objects of their own, to be put into one
}

// most steps that have objects of their own.
const separate = 100

// errGap is returned when the log is gone where it should be read.
var errGap = errors.New("the log was trimmed before it was uploaded")

// uploader is what the goroutine of an archiver works with.
type uploader struct {
	c      *Archiver
	vault  *vault // nil before the target was reached
	chain  chain
	state  state
	failed int // attempts in a row; guarded by Archiver.mu
}

// segmentAt returns the segment that has the position, moving it to the next segment from the end of one.
func segmentAt(segments []Segment, at position) (s Segment, found position, err error) {
	for i, s := range segments {
		if s.Number != at.segment {
			continue
		}
		if at.offset < s.Bytes || i == len(segments)-1 {
			return s, at, nil
		}
		if segments[i+1].Number != at.segment+1 {
			return s, at, errGap
		}
		return segments[i+1], position{at.segment + 1, 0}, nil
	}
	if len(segments) == 0 || segments[len(segments)-1].Number < at.segment {
		return s, at, nil // it has not been begun
	}
	return s, at, errGap
}

// nextPiece reads what follows what was uploaded of the log. Nothing is nil.
func (u *uploader) nextPiece() (b []byte, from position, err error) {
	defer u.c.o.Store.Hold()()
	dir, segments := u.c.o.Store.Log()
	s, from, err := segmentAt(segments, u.chain.at)
	if n := min(s.Bytes-from.offset, PieceBytes); err == nil && n > 0 {
		b, err = readPart(filepath.Join(dir, s.Name), from.offset, n)
	}
	return b, from, err
}

// readPart reads a part of a file, all of which has to be there.
func readPart(path string, offset, bytes int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, bytes)
	if _, err := f.ReadAt(b, offset); err != nil && !(err == io.EOF && bytes == 0) {
		return nil, err
	}
	return b, nil
}

// advance uploads the log up to what is on the device. The error is errGap if a part of it is gone.
func (u *uploader) advance(ctx context.Context) error {
	for ctx.Err() == nil {
		b, from, err := u.nextPiece()
		if err != nil || b == nil {
			return err
		}
		if err := u.addLog(ctx, from, b); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// addLog uploads a part of the log.
func (u *uploader) addLog(ctx context.Context, from position, b []byte) error {
	p := piece{u.vault.seal.name(b), int64(len(b))}
	if err := u.vault.put(ctx, objectName(p.Name), b); err != nil {
		return err
	}
	u.c.note(func(s *Status) { s.Sent += p.Bytes })
	l := logPiece{from.segment, from.offset, p}
	u.chain.log, u.chain.fresh = append(u.chain.log, l), append(u.chain.fresh, l)
	u.chain.at = l.end()
	return nil
}

// follow uploads what the log has gained, and tells of it.
func (c *Archiver) follow() error {
	c.note(func(s *Status) { s.Work = "log" })
	if err := c.confirm(c.ctx); err != nil {
		return err
	}
	if _, err := c.tell(c.ctx); err != nil {
		return err
	}
	if _, segments := c.o.Store.Log(); len(segments) > 0 {
		c.chain.log = slices.DeleteFunc(c.chain.log, func(p logPiece) bool { return p.Segment < segments[0].Number })
	}
	return nil
}

// tell makes a step of what the log has gained, and returns the moments in it.
func (c *Archiver) tell(ctx context.Context) ([]moment, error) {
	c.mu.Lock()
	moments, now := slices.Clone(c.moments), c.o.Now()
	c.mu.Unlock()
	err := c.advance(ctx)
	if errors.Is(err, errGap) {
		c.lose()
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ch := &c.chain
	if len(ch.fresh) > 0 || len(moments) > 0 {
		s := step{formatNumber, slices.Clone(ch.fresh), moments, now.UnixMilli()}
		n := ch.steps + 1
		if err := c.vault.write(ctx, span{n, n}.name(ch.base), &s); err != nil {
			return nil, err
		}
		ch.steps, ch.fresh, ch.recent = n, nil, append(ch.recent, s)
	}
	c.mu.Lock()
	if n := len(moments); n > 0 {
		c.moments = slices.DeleteFunc(c.moments, func(m moment) bool { return m.Record <= moments[n-1].Record })
	}
	c.status.LogTime = now
	c.mu.Unlock()
	if len(ch.recent) >= separate {
		return moments, c.merge(ctx)
	}
	return moments, nil
}

// lose notes that no step can follow any more.
func (c *Archiver) lose() {
	c.mu.Lock()
	c.chain.broken = true
	c.status.LogTime = time.Time{}
	c.mu.Unlock()
	c.o.Logf(true, "backup to %s: %v; it goes on with the next backup", c.status.Target, errGap)
}

// merge puts steps that have objects of their own into one: a restore, and a start, then have few to read.
func (c *Archiver) merge(ctx context.Context) error {
	ch, all := &c.chain, step{Format: formatNumber}
	for _, s := range ch.recent {
		all.Log, all.Moments, all.Through = append(all.Log, s.Log...), append(all.Moments, s.Moments...), s.Through
	}
	first := ch.steps - len(ch.recent) + 1
	if err := c.vault.write(ctx, span{first, ch.steps}.name(ch.base), &all); err != nil {
		return err
	}
	ch.recent = nil
	for n := first; n <= ch.steps; n++ {
		if err := c.vault.delete(ctx, span{n, n}.name(ch.base)); err != nil {
			return err // those that are left say nothing else
		}
	}
	return nil
}

// resume goes on behind the steps that are there, if the log of the store does.
func (u *uploader) resume(ctx context.Context, backup string, m *manifest) (through int64, err error) {
	ch := chain{base: backup, log: m.Log}
	through = m.Through
	err = u.vault.steps(ctx, backup, func(s span, doc *step) error {
		ch.log, ch.steps, through = append(ch.log, doc.Log...), s.last, doc.Through
		if s.first == s.last {
			ch.recent = append(ch.recent, *doc)
		} else {
			ch.recent = nil
		}
		return nil
	})
	if err != nil {
		return through, err
	}
	if joined(ch.log) != nil || !u.goesOn(&ch) {
		ch.broken, ch.log = true, nil
	}
	u.c.mu.Lock()
	u.chain = ch
	u.c.mu.Unlock()
	return through, nil
}

// goesOn reports that the last part of the log that was uploaded is in the log of the store.
func (u *uploader) goesOn(ch *chain) bool {
	ch.at = position{1, 0}
	if len(ch.log) == 0 {
		return true
	}
	last := &ch.log[len(ch.log)-1]
	ch.at = last.end()
	defer u.c.o.Store.Hold()()
	dir, segments := u.c.o.Store.Log()
	for _, s := range segments {
		if s.Number == last.Segment && s.Bytes >= ch.at.offset {
			b, err := readPart(filepath.Join(dir, s.Name), last.From, last.Bytes)
			return err == nil && u.vault.seal.name(b) == last.Name
		}
	}
	return false
}
