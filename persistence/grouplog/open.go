package grouplog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/persistence/storelog"
)

// Open reads the log of a group, which is empty if there is none, and goes on writing it. Of the files it has to be
// told all but where they begin. What it finds is on the device. The error is ErrCorrupt, that of [log.Open], or
// the disk's.
func Open(disk Disk, group uint16, files storelog.Config) (*Log, error) {
	return open(disk, group, files, storelog.Open)
}

// View reads the log of a group, and changes nothing: it is for methods that read.
func View(db *pebble.DB, group uint16, files storelog.Config) (*Log, error) {
	return open(viewed{db}, group, files, storelog.View)
}

// viewed is a disk that is not written to.
type viewed struct{ db *pebble.DB }

func (v viewed) Reader() *pebble.DB { return v.db }

func (v viewed) Apply(b *pebble.Batch) error { return errors.Join(log.ErrReadOnly, b.Close()) }

func open(disk Disk, group uint16, files storelog.Config, openFiles func(storelog.Config) (*storelog.Log, error)) (*Log, error) {
	l := &Log{disk: disk, group: group, files: files}
	l.files.Head = l.head
	if err := l.open(openFiles); err != nil {
		return nil, err
	}
	return l, nil
}

// open reads all of the log.
func (l *Log) open(openFiles func(storelog.Config) (*storelog.Log, error)) error {
	l.contents = contents{recent: recent{bound: recentBytes}}
	err := l.loadRecords()
	if err == nil {
		l.files.From, l.files.Fresh = l.first.number, !l.first.made
		if l.log, err = openFiles(l.files); err == nil {
			if err = l.load(); err != nil {
				err = errors.Join(err, l.log.Close())
			}
		}
	}
	if err != nil {
		return fmt.Errorf("open log of group %d: %w", l.group, err)
	}
	return nil
}

// load reads the base and the frames, behind the records.
func (l *Log) load() error {
	err := l.loadBase()
	if err == nil {
		err = l.loadFrames()
	}
	if err != nil {
		return err
	}
	if l.rests > l.end().last {
		return fmt.Errorf("the log ends with record %d, values contain %d: %w", l.end().last, l.rests, ErrCorrupt)
	}
	l.framed = l.state
	l.state.Commit = max(l.state.Commit, l.cut, l.holding(l.rests))
	if l.state.Commit > l.lastLocked() {
		return fmt.Errorf("the log ends with entry %d, but %d is committed: %w", l.lastLocked(), l.state.Commit, ErrCorrupt)
	}
	l.safe = l.state
	return nil
}

// loadBase reads the entries that are in Pebble.
func (l *Log) loadBase() error {
	it, err := l.disk.Reader().NewIter(&pebble.IterOptions{LowerBound: l.entryKey(l.cut + 1), UpperBound: l.entryKey(math.MaxUint64)})
	if err != nil {
		return err
	}
	for more := it.First(); more && err == nil; more = it.Next() {
		l.base = true
		k, index := it.Key(), l.lastLocked()+1
		if !bytes.Equal(k, l.entryKey(index)) {
			err = fmt.Errorf("entry %d is missing, the next has key %x: %w", index, k, ErrCorrupt)
			break
		}
		err = l.take(index, it.Value(), l.end(), log.Position{})
	}
	return errors.Join(err, it.Error(), it.Close())
}

// take takes the next entry, which is at a position of the log, or in the base.
func (l *Log) take(index uint64, value []byte, before place, at log.Position) error {
	p, err := survey(index, value, before.last)
	if err == nil {
		err = ascends(index, before.term, p.term)
	}
	p.at = at
	l.places = append(l.places, p)
	return err
}

// frames is what is known while the segments are read.
type frames struct {
	*Log
	last uint64 // entry with which the log ends; the greatest number as long as that is not known
	// joined is that what is known reaches from the last entry that was cut off to there. Before the first frame it does not if
	// the log was cut within the segments: there may be entries first that were replaced, and follow others which are gone.
	joined bool
	cutoff place // entry that was cut off, as it was when the frames at hand were written
}

// loadFrames reads the segments.
func (l *Log) loadFrames() error {
	if segments := l.log.Segments(); len(segments) > 0 {
		state, err := decodeState(segments[0].Head)
		if err != nil {
			return fmt.Errorf("head of segment %d: %w", segments[0].Number, err)
		}
		l.state = state
	}
	r := &frames{Log: l, last: l.lastLocked(), joined: true, cutoff: l.begin}
	if l.first.made {
		r.last, r.joined = math.MaxUint64, false
	}
	err := l.log.Read(log.Position{}, func(f log.Frame) (err error) {
		switch f.Kind {
		case kindState:
			err = r.state(f)
		case kindEntry:
			err = r.entry(f)
		default:
			err = fmt.Errorf("frame of kind %d: %w", f.Kind, ErrCorrupt)
		}
		if err != nil {
			return fmt.Errorf("frame at %v: %w", f.Position, err)
		}
		return nil
	})
	if err == nil && (r.last < l.cut || r.last != math.MaxUint64 && !r.joined || r.cutoff.last != l.begin.last || r.cutoff.term != l.begin.term && r.cutoff.term > 0) {
		err = fmt.Errorf("the log ends with entry %d, and does not go on behind entry %d of term %d with record %d: %w", r.last, l.cut, l.begin.term, l.begin.last, ErrCorrupt)
	}
	return err
}

func (r *frames) state(f log.Frame) error {
	state, err := decodeState(f.Payload)
	if err == nil {
		err = r.Log.state.advances(state, math.MaxUint64)
	}
	r.Log.state = state
	return err
}

// entry takes the entry of a frame, in the place of those from its index on.
func (r *frames) entry(f log.Frame) error {
	index, err := frameIndex(&f)
	if err != nil {
		return err
	}
	if r.last != math.MaxUint64 && index > r.last+1 || index <= r.Log.state.Commit {
		return fmt.Errorf("entry %d follows %d, of which %d are committed: %w", index, r.last, r.Log.state.Commit, ErrCorrupt)
	}
	r.last = index
	if index < r.cut || index > r.cut+1 && !r.joined {
		r.places, r.joined = r.places[:0], false
		return nil
	}
	value, err := frameValue(&f)
	if err != nil {
		return err
	}
	if index == r.cut {
		r.places, r.joined = r.places[:0], true
		r.cutoff, err = survey(index, value, recordBefore(value))
		return err
	}
	if !r.joined {
		r.joined, r.cutoff = true, place{last: recordBefore(value)} // of a term that is not known
	}
	r.places = r.places[:index-r.cut-1]
	before := r.cutoff
	if len(r.places) > 0 {
		before = r.end()
	}
	return r.take(index, value, before, f.Position)
}

// frameIndex returns the index of the entry of a frame, which may be long, and is not read for that.
func frameIndex(f *log.Frame) (uint64, error) {
	b := f.Payload
	if f.Body != nil {
		b = make([]byte, indexBytes)
		if _, err := io.ReadFull(f.Body, b); err != nil {
			return 0, err
		}
		f.Body = io.MultiReader(bytes.NewReader(b), f.Body)
	}
	if len(b) < indexBytes {
		return 0, fmt.Errorf("entry of %d bytes: %w", len(b), ErrCorrupt)
	}
	return binary.LittleEndian.Uint64(b), nil
}

// frameValue returns the value of the entry of a frame.
func frameValue(f *log.Frame) ([]byte, error) {
	b, err := f.Bytes()
	if err == nil && len(b) < indexBytes {
		err = fmt.Errorf("entry of %d bytes: %w", len(b), ErrCorrupt)
	}
	if err != nil {
		return nil, err
	}
	return b[indexBytes:], nil
}
