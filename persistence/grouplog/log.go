package grouplog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// Disk is where a log lies.
type Disk interface {
	// Reader is Pebble as it is now.
	Reader() *pebble.DB
	// Apply commits a batch and closes it, with sync on the device.
	Apply(b *pebble.Batch, sync bool) error
}

// Log is the log of a group. Its methods are safe for concurrent use; those that
// write block on the disk, and others wait for them, but not for SetIdentity.
type Log struct {
	disk  Disk
	group uint16

	noting sync.Mutex // held while the identity is written; taken before mu

	mu sync.Mutex // guards what is below
	// cut is the last entry that was cut off the log, 0 if none was, and begin what is
	// known of it.
	cut    uint64
	begin  place
	places []place // of the entries behind it
	recent recent

	state      HardState
	rests      uint64 // record that values on disk rested on at Open
	membership Membership
	boot       Boot
	identity   []byte
}

// place is what is in memory of an entry.
type place struct {
	term uint64
	last uint64 // record
	size uint32
	kind byte // of Entry
}

// Open reads the log of a group, which is empty if there is none.
func Open(disk Disk, group uint16) (*Log, error) {
	l := &Log{disk: disk, group: group, recent: recent{bound: recentBytes}}
	err := l.loadRecords()
	if err == nil {
		err = l.visit(l.cut+1, ^uint64(0), func(index uint64, value []byte) (bool, error) {
			if index != l.lastLocked()+1 {
				return false, fmt.Errorf("entry %d is missing, the next is %d: %w", l.lastLocked()+1, index, ErrCorrupt)
			}
			e, last, err := decode(index, value, l.end().last)
			if err == nil {
				err = l.ascends(l.end().term, &e)
			}
			l.places = append(l.places, place{e.Term, last, uint32(len(value)), e.Type})
			return true, err
		})
	}
	if err == nil && l.rests > l.end().last {
		err = fmt.Errorf("the log ends with record %d, values contain %d: %w", l.end().last, l.rests, ErrCorrupt)
	}
	if err == nil {
		l.state.Commit = max(l.state.Commit, l.cut, l.holding(l.rests))
	}
	if err == nil && l.state.Commit > l.lastLocked() {
		err = fmt.Errorf("the log ends with entry %d, but %d is committed: %w", l.lastLocked(), l.state.Commit, ErrCorrupt)
	}
	if err != nil {
		return nil, fmt.Errorf("open log of group %d: %w", group, err)
	}
	return l, nil
}

// visit calls f with the entries from lo up to hi, hi not included, until it returns
// false. value is valid during the call.
func (l *Log) visit(lo, hi uint64, f func(index uint64, value []byte) (bool, error)) error {
	it, err := l.disk.Reader().NewIter(&pebble.IterOptions{LowerBound: l.entryKey(lo), UpperBound: l.entryKey(hi)})
	if err != nil {
		return err
	}
	for more := it.First(); more && err == nil; {
		k := it.Key()
		if len(k) != len(l.entryKey(0)) {
			err = fmt.Errorf("key of %d bytes: %w", len(k), ErrCorrupt)
			break
		}
		if more, err = f(binary.BigEndian.Uint64(k[3:]), it.Value()); more {
			more = it.Next()
		}
	}
	return errors.Join(err, it.Error(), it.Close())
}

func (l *Log) lastLocked() uint64 { return l.cut + uint64(len(l.places)) }

// end is the last entry.
func (l *Log) end() place {
	if n := len(l.places); n > 0 {
		return l.places[n-1]
	}
	return l.begin
}

// at is the entry with an index, which may be that before the first.
func (l *Log) at(index uint64) place {
	if index == l.cut {
		return l.begin
	}
	return l.places[index-l.cut-1]
}

// ascends returns an error if an entry has no place behind one of a term.
func (l *Log) ascends(term uint64, e *Entry) error {
	if e.Term < term || e.Term == 0 {
		return fmt.Errorf("entry %d has term %d behind one of term %d: %w", e.Index, e.Term, term, ErrCorrupt)
	}
	return nil
}

// Bounds returns the indexes of the first and the last entry; first is last + 1 if
// there is none.
func (l *Log) Bounds() (first, last uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut + 1, l.lastLocked()
}

// Term returns the term of an entry, also of the last one that was cut off. The error
// is ErrCompacted or ErrUnavailable.
func (l *Log) Term(index uint64) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.has(index, l.cut); err != nil {
		return 0, err
	}
	return l.at(index).term, nil
}

// LastRecord returns the number of the last record up to an entry. The error is
// ErrCompacted or ErrUnavailable.
func (l *Log) LastRecord(index uint64) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.has(index, l.cut); err != nil {
		return 0, err
	}
	return l.at(index).last, nil
}

// holding returns the first entry up to which there are the records up to one.
func (l *Log) holding(record uint64) (index uint64) {
	if record <= l.begin.last {
		return l.cut
	}
	return l.cut + 1 + uint64(sort.Search(len(l.places), func(i int) bool { return l.places[i].last >= record }))
}

// Holding returns the first entry up to which there are the records up to one, which is
// in the log.
func (l *Log) Holding(record uint64) (index uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holding(record)
}

// has returns an error unless index is between from and the last entry.
func (l *Log) has(index, from uint64) error {
	switch {
	case index < from:
		return fmt.Errorf("entry %d: %w", index, ErrCompacted)
	case index > l.lastLocked():
		return fmt.Errorf("entry %d: %w", index, ErrUnavailable)
	}
	return nil
}

// OfTypes returns the indexes of the entries from lo up to hi, hi not included, that have
// one of some types, and are in the log.
func (l *Log) OfTypes(lo, hi uint64, types ...byte) (indexes []uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := max(lo, l.cut+1); i < hi && i <= l.lastLocked(); i++ {
		if slices.Contains(types, l.at(i).kind) {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// Entries returns the entries from lo up to hi, hi not included: the first, and as many
// others as fit in maxBytes with it. Their data must not be changed. The error is
// ErrCompacted, ErrUnavailable, ErrCorrupt, or the disk's.
func (l *Log) Entries(lo, hi, maxBytes uint64) ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lo >= hi {
		return nil, nil
	}
	if err := errors.Join(l.has(lo, l.cut+1), l.has(hi-1, l.cut+1)); err != nil {
		return nil, err
	}
	if found := l.recent.some(lo, hi, l.lastLocked()+1, maxBytes, l.places[lo-l.cut-1:]); found != nil {
		return found, nil
	}
	var entries []Entry
	size := uint64(0)
	err := l.visit(lo, hi, func(index uint64, value []byte) (bool, error) {
		if size += uint64(len(value)); size > maxBytes && len(entries) > 0 {
			return false, nil
		}
		e, _, err := decode(index, value, l.at(index-1).last)
		if err == nil && (index != lo+uint64(len(entries)) || e.Term != l.at(index).term) {
			err = fmt.Errorf("entry %d of term %d is not what was written: %w", index, e.Term, ErrCorrupt)
		}
		entries = append(entries, e)
		return true, err
	})
	if err == nil && size <= maxBytes && uint64(len(entries)) < hi-lo {
		err = fmt.Errorf("entry %d is missing: %w", lo+uint64(len(entries)), ErrCorrupt)
	}
	if err != nil {
		return nil, err
	}
	return entries, nil
}
