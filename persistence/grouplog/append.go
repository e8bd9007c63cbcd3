package grouplog

import (
	"fmt"
	"sort"

	"github.com/vigildb/vigil/persistence/log"
)

// Append writes entries, and the hard state unless it is nil: they outlive the process. Entries
// from the first one's index on that are there already are replaced. They are on the
// device afterwards with sync, or if term or vote changed. A commit that moves by itself is written with
// what follows.
//
// The error is ErrCorrupt, and nothing was written, for entries that leave a gap, that
// would replace a committed one, whose term is lower than of one before, or whose
// records are damaged or not the next; and for a state that goes back, or has two votes
// in a term. After an error of the disk nothing of it counts, whatever a restart finds, and nothing more is taken.
// The data of the entries belong to the log, and must not be changed.
func (l *Log) Append(entries []Entry, state *HardState, sync bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.state
	if state != nil {
		next = *state
		sync = sync || state.Term != l.state.Term || state.Vote != l.state.Vote
	}
	at := l.lastLocked() + 1
	if len(entries) > 0 {
		at = entries[0].Index
	}
	if at <= max(l.cut, l.state.Commit) || at > l.lastLocked()+1 {
		return fmt.Errorf("entry %d after %d, of which %d are committed: %w", at, l.lastLocked(), l.state.Commit, ErrCorrupt)
	}
	frames, added, err := l.prepare(at, entries)
	if err == nil {
		err = l.state.advances(next, at-1+uint64(len(entries)))
	}
	if err == nil {
		err = l.broken
	}
	if err == nil {
		if err = l.writeFrames(frames, added, next, sync); err != nil {
			l.broken = err
		}
	}
	if err != nil {
		return err
	}
	l.recent.replace(entries, at, l.lastLocked()+1)
	l.places = append(l.places[:at-l.cut-1], added...)
	l.state = next
	if sync {
		l.safe = next
	}
	return nil
}

// frame is what a frame has of an entry.
type frame struct{ head, data []byte }

// prepare encodes entries that are to begin at an index.
func (l *Log) prepare(at uint64, entries []Entry) (frames []frame, added []place, err error) {
	before := l.at(at - 1)
	frames, added = make([]frame, len(entries)), make([]place, len(entries))
	for i := range entries {
		e := &entries[i]
		if e.Index != at+uint64(i) {
			return nil, nil, fmt.Errorf("entry %d in the place of %d: %w", e.Index, at+uint64(i), ErrCorrupt)
		}
		if err := ascends(e.Index, before.term, e.Term); err != nil {
			return nil, nil, err
		}
		head, data, last, err := encode(e, before.last)
		if err != nil {
			return nil, nil, err
		}
		before = place{term: e.Term, last: last, size: uint32(header + len(data)), kind: e.Type}
		frames[i], added[i] = frame{head, data}, before
	}
	return frames, added, nil
}

// writeFrames writes entries, notes their places, and writes the state unless it is the present one.
func (l *Log) writeFrames(frames []frame, added []place, next HardState, sync bool) (err error) {
	for i, f := range frames {
		if added[i].at, err = l.log.Append(kindEntry, f.head, f.data); err != nil {
			return l.failed(err)
		}
	}
	if next != l.state {
		l.framed = next
		if _, err := l.log.Append(kindState, next.append(nil)); err != nil {
			return l.failed(err)
		}
	}
	if (len(frames) > 0 && planted != unflushed) || sync {
		err = l.log.Flush()
	}
	if err == nil && sync {
		err = l.log.Sync()
	}
	return l.failed(err)
}

func (l *Log) failed(err error) error {
	if err != nil {
		return fmt.Errorf("write log of group %d: %w", l.group, err)
	}
	return nil
}

// head is what the head of a segment has: the state that holds before its first frame. Where frames are written anew it may be an earlier
// one, as the last of them is a state.
func (l *Log) head(dst []byte, _ byte, _ [][]byte) []byte {
	if l.repairing {
		return l.safe.append(dst)
	}
	return l.state.append(dst)
}

// advances returns an error unless next may follow s in a log that ends with last.
func (s HardState) advances(next HardState, last uint64) error {
	switch {
	case next.Term < s.Term, next.Commit < s.Commit, next.Commit > last,
		next.Term == s.Term && s.Vote != 0 && next.Vote != s.Vote:
		return fmt.Errorf("state %+v behind %+v in a log of %d: %w", next, s, last, ErrCorrupt)
	}
	return nil
}

// ascends returns an error if an entry has no place behind one of a term.
func ascends(index, before, term uint64) error {
	if term < before || term == 0 {
		return fmt.Errorf("entry %d has term %d behind one of term %d: %w", index, term, before, ErrCorrupt)
	}
	return nil
}

// Sync syncs what was appended before. What is appended meanwhile does not wait for it.
func (l *Log) Sync() error {
	l.mu.Lock()
	files, state, err := l.log, l.state, l.broken
	l.mu.Unlock()
	if err == nil {
		err = l.failed(files.Sync())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log != files {
		return nil // it was replaced, with all that it had
	}
	if err != nil {
		l.broken = err
		return err
	}
	l.safe = state
	return nil
}

// Unsynced returns how many bytes the device does not have.
func (l *Log) Unsynced() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Unsynced()
}

// Forced returns up to which entry the device has the log, and the last record up to it. What takes the place of another entry
// counts with the next sync.
func (l *Log) Forced() (index, record uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	synced := l.log.Synced()
	n := sort.Search(len(l.places), func(i int) bool {
		at := l.places[i].at
		return at != log.Position{} && !at.Before(synced)
	})
	index = l.cut + uint64(n)
	return index, l.at(index).last
}

// Close ends the log. If its disk has failed it tries once more to have there what others were told that it has. The error is why
// something that was appended is not on the device.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log.Err() != nil {
		l.repairing = true
		if _, err := l.log.Append(kindState, l.framed.append(nil)); err == nil {
			_ = l.log.Repair() // else Close says why not
		}
	}
	return l.failed(l.log.Close())
}
