package grouplog

import (
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/log"
)

// Cut removes the entries up to an index, which must be committed. What is cut off is on the device before any of it goes, and
// segments go when nothing in them is needed. Nothing happens if they are gone already.
func (l *Log) Cut(index uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if index > l.state.Commit {
		return fmt.Errorf("cut at entry %d, but %d are committed: %w", index, l.state.Commit, ErrCorrupt)
	}
	index = max(index, l.cut)
	begin, first := l.at(index), l.firstBehind(index)
	based := index < l.lastLocked() && l.at(index+1).at == log.Position{} // none is in the base if the next is not
	err := l.write(func(b *pebble.Batch) error {
		err := l.setRecord(b, recordCut, cutFields(index, begin, first))
		if l.base {
			to := l.entryKey(math.MaxUint64)
			if based {
				to = l.entryKey(index + 1)
			}
			err = errors.Join(err, b.DeleteRange(l.entryKey(0), to, nil))
		}
		return err
	})
	if err != nil {
		return err
	}
	l.recent.cutBefore(index+1, l.lastLocked()+1)
	l.places = append([]place(nil), l.places[index-l.cut:]...)
	l.cut, l.begin, l.first, l.base = index, begin, first, l.base && based
	if err := l.log.Trim(first.number); err != nil {
		return fmt.Errorf("drop files of the log: %w", err)
	}
	return nil
}

// firstBehind returns which segment the log begins in if it is cut behind an entry.
func (l *Log) firstBehind(index uint64) firstSegment {
	at := l.log.End()
	if index < l.lastLocked() {
		at = l.at(index + 1).at
	} else if len(l.log.Segments()) == 0 {
		return l.first
	}
	if at == (log.Position{}) {
		return l.first
	}
	return firstSegment{at.Segment, true}
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
