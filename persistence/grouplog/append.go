package grouplog

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// write makes a batch and commits it.
func (l *Log) write(sync bool, fill func(b *pebble.Batch) error) error {
	b := l.disk.Reader().NewBatch()
	err := fill(b)
	if err == nil && b.Empty() {
		if !sync {
			return b.Close()
		}
		err = b.LogData(nil, nil) // Pebble does not sync for an empty batch
	}
	if err != nil {
		return errors.Join(err, b.Close())
	}
	if err := l.disk.Apply(b, sync); err != nil {
		return fmt.Errorf("write log of group %d: %w", l.group, err)
	}
	return nil
}

// Append writes entries, and the hard state unless it is nil, in one batch. Entries
// from the first one's index on that are there already are replaced. It is on the
// device afterwards with sync, or if term or vote changed.
//
// The error is ErrCorrupt, and nothing was written, for entries that leave a gap, that
// would replace a committed one, whose term is lower than of one before, or whose
// records are damaged or not the next; and for a state that goes back, or has two votes
// in a term. After an error of the disk nothing of it counts, whatever a restart finds.
// The data of the entries belong to the log, and must not be changed.
func (l *Log) Append(entries []Entry, state *HardState, sync bool) error {
	return l.append(entries, state, sync, nil)
}

// Keeper has a copy of entries that are in no hurry to be on the device.
type Keeper interface {
	// Keep copies entries that are about to be written. After an error they are not.
	Keep(entries []Entry) error
}

// AppendKept is Append without sync, of entries that a keeper gets first, once it is known that they
// can be appended.
func (l *Log) AppendKept(entries []Entry, state *HardState, keeper Keeper) error {
	return l.append(entries, state, false, keeper)
}

// Forces reports whether Append has a state on the device afterwards in any case: its term or vote is another one.
func (l *Log) Forces(state *HardState) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.forcesLocked(state)
}

func (l *Log) forcesLocked(state *HardState) bool {
	return state != nil && (state.Term != l.state.Term || state.Vote != l.state.Vote)
}

func (l *Log) append(entries []Entry, state *HardState, sync bool, keeper Keeper) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.state
	if state != nil {
		next = *state
		sync = sync || l.forcesLocked(state)
	}
	at := l.lastLocked() + 1
	if len(entries) > 0 {
		at = entries[0].Index
	}
	if at <= max(l.cut, l.state.Commit) || at > l.lastLocked()+1 {
		return fmt.Errorf("entry %d after %d, of which %d are committed: %w", at, l.lastLocked(), l.state.Commit, ErrCorrupt)
	}
	values, added, err := l.prepare(at, entries)
	if err == nil {
		err = l.state.advances(next, at-1+uint64(len(entries)))
	}
	if err != nil {
		return err
	}
	if keeper != nil {
		if err := keeper.Keep(entries); err != nil {
			return err
		}
	}
	err = l.write(sync, func(b *pebble.Batch) (err error) {
		if at <= l.lastLocked() {
			err = b.DeleteRange(l.entryKey(at), l.entryKey(l.lastLocked()+1), nil)
		}
		for i, v := range values {
			err = errors.Join(err, b.Set(l.entryKey(at+uint64(i)), v, nil))
		}
		if next != l.state {
			err = errors.Join(err, l.setRecord(b, recordState, appendNumbers(nil, next.Term, next.Vote, next.Commit)))
		}
		return err
	})
	if err != nil {
		return err
	}
	l.recent.replace(entries, at, l.lastLocked()+1)
	l.places = append(l.places[:at-l.cut-1], added...)
	l.state = next
	return nil
}

// prepare encodes entries that are to begin at an index.
func (l *Log) prepare(at uint64, entries []Entry) (values [][]byte, added []place, err error) {
	before := l.at(at - 1)
	for i := range entries {
		e := &entries[i]
		if e.Index != at+uint64(i) {
			return nil, nil, fmt.Errorf("entry %d in the place of %d: %w", e.Index, at+uint64(i), ErrCorrupt)
		}
		if err := l.ascends(before.term, e); err != nil {
			return nil, nil, err
		}
		v, last, err := encode(e, before.last)
		if err != nil {
			return nil, nil, err
		}
		before = place{e.Term, last, uint32(len(v)), e.Type}
		values, added = append(values, v), append(added, before)
	}
	return values, added, nil
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

// Cut removes the entries up to an index, which must be committed, and adds to the
// batch what more is, if also is not nil. Nothing happens if they are gone already.
func (l *Log) Cut(index uint64, also func(b *pebble.Batch) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if index > l.state.Commit {
		return fmt.Errorf("cut at entry %d, but %d are committed: %w", index, l.state.Commit, ErrCorrupt)
	}
	index = max(index, l.cut)
	begin := l.at(index)
	err := l.write(true, func(b *pebble.Batch) error {
		err := errors.Join(b.DeleteRange(l.entryKey(l.cut+1), l.entryKey(index+1), nil),
			l.setRecord(b, recordCut, appendNumbers(nil, index, begin.term, begin.last)))
		if err == nil && also != nil {
			err = also(b)
		}
		return err
	})
	if err != nil {
		return err
	}
	l.recent.cutBefore(index+1, l.lastLocked()+1)
	l.places = append([]place(nil), l.places[index-l.cut:]...)
	l.cut, l.begin = index, begin
	return nil
}

// Excess returns up to which entry the log is to be cut so that what follows, up to a
// committed entry, takes about so many bytes and entries at most. It is 0 if nothing is.
func (l *Log) Excess(committed uint64, bytes int64, entries int) (index uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for index = min(committed, l.state.Commit); index > l.cut; index-- {
		bytes -= int64(l.places[index-l.cut-1].size)
		if entries--; bytes < 0 || entries < 0 {
			return index
		}
	}
	return 0
}
