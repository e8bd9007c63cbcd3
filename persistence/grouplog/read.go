package grouplog

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/persistence/storelog"
)

// view is what a log has at one moment. Up to an entry that is committed it may be read while the log is written.
type view struct {
	l      *Log
	db     pebble.Reader
	log    *storelog.Log
	cut    uint64
	begin  place
	places []place
}

// viewLocked returns the log as it is, with the base as a reader of Pebble has it.
func (l *Log) viewLocked(db pebble.Reader) *view {
	return &view{l: l, db: db, log: l.log, cut: l.cut, begin: l.begin, places: l.places}
}

func (v *view) at(index uint64) place {
	if index == v.cut {
		return v.begin
	}
	return v.places[index-v.cut-1]
}

// Read returns a reader of the entries from lo up to hi, hi not included, which are there. It is before the first one.
func (v *view) Read(lo, hi uint64) *Reader {
	return &Reader{v: v, index: lo - 1, hi: hi}
}

// Reader reads entries in order. It is for one goroutine.
type Reader struct {
	v     *view
	index uint64 // of the entry at hand
	hi    uint64
	it    *pebble.Iterator
	r     *log.Reader
	frame log.Frame
	value []byte // of the entry at hand, once it was read
}

// Next goes to the next entry, and reports whether there is one.
func (r *Reader) Next() (bool, error) {
	if r.index+1 >= r.hi {
		return false, nil
	}
	r.index++
	r.value = nil
	find := r.inLog
	if r.place().at == (log.Position{}) {
		find = r.inBase
	}
	if err := find(); err != nil {
		return false, fmt.Errorf("entry %d: %w", r.index, err)
	}
	return true, nil
}

func (r *Reader) place() place { return r.v.at(r.index) }

// inBase goes to an entry of the base.
func (r *Reader) inBase() (err error) {
	key := r.v.l.entryKey(r.index)
	if r.it == nil {
		if r.it, err = r.v.db.NewIter(&pebble.IterOptions{LowerBound: key, UpperBound: r.v.l.entryKey(r.hi)}); err != nil {
			return err
		}
		r.it.First()
	} else {
		r.it.Next()
	}
	if !r.it.Valid() || !bytes.Equal(r.it.Key(), key) {
		return errors.Join(fmt.Errorf("it is missing: %w", ErrCorrupt), r.it.Error())
	}
	return nil
}

// inLog goes to an entry that has a frame, past those of states, and of entries that were replaced.
func (r *Reader) inLog() (err error) {
	at := r.place().at
	if r.r == nil {
		r.r = r.v.log.NewReader(at)
	}
	for {
		if r.frame, err = r.r.Next(); err == io.EOF {
			return fmt.Errorf("the log ends before %v: %w", at, ErrCorrupt)
		}
		if err != nil || r.frame.Position == at {
			return err
		}
		if at.Before(r.frame.Position) {
			return fmt.Errorf("there is no frame at %v: %w", at, ErrCorrupt)
		}
	}
}

// Index returns which entry is at hand.
func (r *Reader) Index() uint64 { return r.index }

// Size returns the length of the value of the entry at hand.
func (r *Reader) Size() int { return int(r.place().size) }

// Own reports that the value of the entry at hand is not in memory that Next uses again.
func (r *Reader) Own() bool { return r.place().at != log.Position{} && r.frame.Body != nil }

// Value returns the value of the entry at hand, which is that of a chunk. It is valid until Next is called, unless it is its
// own.
func (r *Reader) Value() (value []byte, err error) {
	if r.value != nil {
		return r.value, nil
	}
	if r.place().at == (log.Position{}) {
		value, err = r.it.ValueAndErr()
	} else {
		var index uint64
		if index, err = frameIndex(&r.frame); err == nil && index != r.index {
			err = fmt.Errorf("its frame is of entry %d: %w", index, ErrCorrupt)
		}
		if err == nil {
			value, err = frameValue(&r.frame)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("entry %d: %w", r.index, err)
	}
	r.value = value
	return value, nil
}

// Entry returns the entry at hand.
func (r *Reader) Entry() (Entry, error) {
	value, err := r.Value()
	if err != nil {
		return Entry{}, err
	}
	e, err := decode(r.index, value, r.v.at(r.index-1).last)
	if err == nil && e.Term != r.place().term {
		err = fmt.Errorf("entry %d of term %d is not what was written: %w", r.index, e.Term, ErrCorrupt)
	}
	return e, err
}

// Close ends the reading.
func (r *Reader) Close() (err error) {
	if r.it != nil {
		err = r.it.Close()
	}
	if r.r != nil {
		err = errors.Join(err, r.r.Close())
	}
	return err
}

// Read returns a reader of the entries from lo up to hi, hi not included. They are committed, and not cut off before it is
// closed. It is before the first one. The error is ErrCompacted or ErrUnavailable.
func (l *Log) Read(lo, hi uint64) (*Reader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := errors.Join(l.has(lo, l.cut+1), l.has(hi-1, l.cut+1)); lo < hi && err != nil {
		return nil, err
	}
	return l.viewLocked(l.disk.Reader()).Read(lo, hi), nil
}

// Held is the log up to a committed entry as it was at one moment, beside a snapshot of Pebble. What it has stays, whatever is cut
// off, until Release is called, once.
type Held struct {
	*view
	Release func()
}

// Hold holds the log up to an entry that is applied, at the moment when snap makes a snapshot of Pebble.
func (l *Log) Hold(index uint64, snap func() *pebble.Snapshot) (*Held, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.has(index, l.cut); err != nil {
		return nil, err
	}
	v := l.viewLocked(snap())
	v.places = v.places[: index-l.cut : index-l.cut] // which are never written again
	return &Held{v, l.log.Pin()}, nil
}

// Last returns the term of an entry, and the last record up to it. It may be the last one that was cut off. The error is
// ErrCompacted or ErrUnavailable.
func (h *Held) Last(index uint64) (term, record uint64, err error) {
	switch {
	case index < h.cut:
		return 0, 0, fmt.Errorf("entry %d: %w", index, ErrCompacted)
	case index > h.cut+uint64(len(h.places)):
		return 0, 0, fmt.Errorf("entry %d: %w", index, ErrUnavailable)
	}
	p := h.at(index)
	return p.term, p.last, nil
}
