package chunklog

import (
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/log"
)

const (
	// Dir is the name of the directory in that of the store.
	Dir = "log"
	// chunk is the kind of a frame with a chunk. Others may come.
	chunk = 1
	// referTo is the size of a chunk from which on it is written from where it is: chunks stay there until
	// they are on the device, so a copy saves nothing but a call for a small one.
	referTo = 4 << 10
)

// Config says where a log is, and what the store has recorded of it.
type Config struct {
	FS     vfs.FS // the errors of which are those of the disk
	Dir    string // of the store
	Secret [16]byte
	From   uint64           // number of the segment that the log begins in; 0: the first one that is there
	Synced map[uint64]int64 // how many bytes of segments the device has
	// Note is called, with what Synced says at the next start, after a sync and before the return of the
	// call that it was made for. Nil is nobody.
	Note func(segment uint64, bytes int64)
	// SegmentBytes is the length of files, 0 is that of package log. Recycle is that trimmed ones are used again.
	SegmentBytes int64
	Recycle      bool
	Extend       bool // see [log.Config]
}

func (c *Config) log() log.Config {
	lc := log.Config{FS: c.FS, Dir: c.FS.PathJoin(c.Dir, Dir), Store: format.LogID(c.Secret), From: log.Position{Segment: c.From},
		Synced: c.Synced, SegmentBytes: c.SegmentBytes, Extend: c.Extend, MaxUnsynced: math.MaxInt64 / 2, Reference: referTo}
	if !c.Recycle {
		lc.Spares = -1
	}
	return lc
}

// Log is the chunks of a journal. Append, Flush, Sync and Repair are for one goroutine at a time; the rest may be
// called by any.
type Log struct {
	cfg   Config
	log   *log.Log
	noted log.Position
}

// Open opens the log for writing, and makes one that is not there. What it finds is on the device. The
// error is that of [log.Open].
func Open(cfg Config) (*Log, error) {
	l, err := log.Open(cfg.log())
	if err != nil {
		return nil, err
	}
	c := &Log{cfg: cfg, log: l}
	c.note()
	return c, nil
}

// View opens the log for reading, and changes nothing.
func View(cfg Config) (*Log, error) {
	l, err := log.View(cfg.log())
	if err != nil {
		return nil, err
	}
	return &Log{cfg: cfg, log: l}, nil
}

// Append puts a chunk behind all others, in memory. It must not be changed, nor recycled, until it is on the
// device. It returns the segment where the chunk will be, or an earlier one.
func (l *Log) Append(c *journal.Chunk) (segment uint64, err error) {
	head := c.Head()
	head = head[len(head)-format.EntryHeader:]
	format.PutEntryHeader(head, c.Index, c.First, c.Flags)
	var at log.Position
	if c.Big() {
		at, err = l.log.Append(chunk, append([][]byte{head}, c.Parts()...)...)
	} else {
		at, err = l.log.Append(chunk, c.Bytes()[journal.HeaderBytes-format.EntryHeader:])
	}
	if err != nil {
		return 0, fmt.Errorf("chunk %d: %w", c.Index, err)
	}
	return at.Segment, nil
}

// Flush gives what was appended to the system: it outlives the process.
func (l *Log) Flush() error {
	_, err := l.log.Flush()
	return err
}

// Sync forces what was flushed to the device.
func (l *Log) Sync() error {
	if _, err := l.log.Sync(); err != nil {
		return err
	}
	l.note()
	return nil
}

func (l *Log) note() {
	if end := l.log.Synced(); end != l.noted && l.cfg.Note != nil {
		l.noted = end
		l.cfg.Note(end.Segment, end.Offset)
	}
}

// Unsynced returns how many bytes the device does not have.
func (l *Log) Unsynced() int64 { return l.log.Unsynced() }

// Repair goes on after an error of Flush or Sync, once the disk works again: all that was appended is on the device
// then.
func (l *Log) Repair() error {
	if err := l.log.Repair(nil); err != nil {
		return err
	}
	l.note()
	return nil
}

// Trim drops the segments before one, which the store has recorded as the first.
func (l *Log) Trim(first uint64) error { return l.log.Trim(log.Position{Segment: first}) }

// Pin has Trim wait until release is called, once.
func (l *Log) Pin() (release func()) { return l.log.Pin() }

// Checkpoint copies what the device has, from a segment on, to the directory of another store. It returns
// what there is to be noted of the copy.
func (l *Log) Checkpoint(fsys vfs.FS, dir string, first uint64) (segment uint64, bytes int64, err error) {
	end, err := l.log.Checkpoint(fsys, fsys.PathJoin(dir, Dir), log.Position{Segment: first})
	return end.Segment, end.Offset, err
}

// Size returns how many files the log has, and how long they are as far as they are written.
func (l *Log) Size() (files int, bytes int64) {
	for _, s := range l.log.Segments() {
		files++
		bytes += s.Bytes
	}
	return files, bytes
}

// Close ends the log. The error is why something that was appended is not on the device.
func (l *Log) Close() error {
	if err := l.log.Close(); err != nil {
		return err
	}
	l.note()
	return nil
}
