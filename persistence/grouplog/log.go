package grouplog

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/persistence/storelog"
)

// Disk is Pebble, where records and the base are.
type Disk interface {
	// Reader is Pebble as it is now.
	Reader() *pebble.DB
	// Apply commits a batch and closes it. It is on the device then.
	Apply(b *pebble.Batch) error
}

// Log is the log of a group. Its methods are safe for concurrent use; those that
// write block on the disk, and others wait for them, but not for SetIdentity and Sync.
type Log struct {
	disk  Disk
	group uint16
	files storelog.Config

	noting sync.Mutex // held while the identity is written; taken before mu

	mu sync.Mutex // guards what is below
	contents
}

// contents are what a log has.
type contents struct {
	log *storelog.Log
	// broken is why nothing is appended any more: after a failure the log has frames that memory has not.
	broken error
	// cut is the last entry that was cut off the log, 0 if none was, and begin what is
	// known of it.
	cut    uint64
	begin  place
	first  firstSegment
	base   bool    // there may be entries in Pebble
	places []place // of the entries behind it
	recent recent

	state      HardState
	framed     HardState // that of the last frame, which may have failed
	safe       HardState // the device has it, or a later one
	repairing  bool      // frames are written anew
	rests      uint64    // record that values on disk rested on at Open
	membership Membership
	boot       Boot
	identity   []byte
}

// firstSegment is which segment the log begins in; those before do not count.
type firstSegment struct {
	number uint64 // 0: the first that there is
	made   bool   // it is there
}

// place is what is in memory of an entry.
type place struct {
	at   log.Position // of its frame; zero: it is in the base
	term uint64
	last uint64 // record
	size uint32
	kind byte // of Entry
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
// ErrCompacted, ErrUnavailable, ErrCorrupt, a [log.Damage], or the disk's.
func (l *Log) Entries(lo, hi, maxBytes uint64) (entries []Entry, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lo >= hi {
		return nil, nil
	}
	if err := errors.Join(l.has(lo, l.cut+1), l.has(hi-1, l.cut+1)); err != nil {
		return nil, err
	}
	hi = lo + uint64(fitting(l.places[lo-l.cut-1:hi-l.cut-1], maxBytes))
	if found := l.recent.some(lo, hi, l.lastLocked()+1); found != nil {
		return found, nil
	}
	r := l.viewLocked(l.disk.Reader()).Read(lo, hi)
	more, err := r.Next()
	for ; more && err == nil; more, err = r.Next() {
		e, err := r.Entry()
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		entries = append(entries, e)
	}
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	return entries, nil
}

// fitting returns how many entries fit in maxBytes, at least one.
func fitting(places []place, maxBytes uint64) (n int) {
	for total := uint64(0); n < len(places); n++ {
		if total += uint64(places[n].size); total > maxBytes && n > 0 {
			break
		}
	}
	return n
}

// Size returns how many files the log has, and how many bytes are written to them.
func (l *Log) Size() (files int, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Size()
}

// Files returns the files of the log, to be copied.
func (l *Log) Files() *storelog.Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log
}
