package storelog

import (
	"math"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/log"
)

const (
	// Dir is the name of the directory in that of the store.
	Dir = "log"
	// referTo is the size of a payload from which on it is written from where it is: payloads stay there until
	// they are on the device, so a copy saves nothing but a call for a small one.
	referTo = 4 << 10
)

// Config says where a log is, and what the store has recorded of it.
type Config struct {
	FS     vfs.FS // its errors are those of the disk
	Dir    string // of the store
	Secret [16]byte
	From   uint64           // number of the segment that the log begins in; 0: the first one that is there
	Fresh  bool             // that segment may not be there yet; see [log.Config]
	Synced map[uint64]int64 // how many bytes of segments the device has
	// Note is called, with what Synced says at the next start, after a sync and before the return of the
	// call that it was made for. Nil is nobody.
	Note func(segment uint64, bytes int64)
	Head func(dst []byte, kind byte, payload [][]byte) []byte // see [log.Config]
	// SegmentBytes is the length of files, 0 is that of package log. Recycle is that trimmed ones are used again.
	SegmentBytes int64
	Recycle      bool
	Extend       bool // see [log.Config]
}

func (c *Config) log() log.Config {
	lc := log.Config{FS: c.FS, Dir: c.FS.PathJoin(c.Dir, Dir), Store: format.LogID(c.Secret), From: log.Position{Segment: c.From}, Fresh: c.Fresh,
		Synced: c.Synced, Head: c.Head, SegmentBytes: c.SegmentBytes, Extend: c.Extend, MaxUnsynced: math.MaxInt64 / 2, Reference: referTo}
	if !c.Recycle {
		lc.Spares = -1
	}
	return lc
}

// Log is an open log. What it does not do itself is done by package log.
type Log struct {
	*log.Log
	note func(segment uint64, bytes int64)

	mu    sync.Mutex   // held while what the device has is noted, so that nothing older follows
	noted log.Position // guarded by mu
}

func newLog(c *Config, l *log.Log, err error) (*Log, error) {
	if err != nil {
		return nil, err
	}
	return &Log{Log: l, note: c.Note}, nil
}

// Open opens a log for writing, and makes one that is not there. What it finds is on the device. The
// error is that of [log.Open].
func Open(cfg Config) (*Log, error) {
	l, err := log.Open(cfg.log())
	s, err := newLog(&cfg, l, err)
	if err == nil {
		s.tell()
	}
	return s, err
}

// View opens a log for reading, and changes nothing.
func View(cfg Config) (*Log, error) {
	l, err := log.View(cfg.log())
	return newLog(&cfg, l, err)
}

// Remains opens for reading what Cut would leave of a damaged log, and changes nothing.
func Remains(cfg Config, d *log.Damage) (*Log, error) {
	l, err := log.Remains(cfg.log(), d)
	return newLog(&cfg, l, err)
}

// tell notes what the device has.
func (l *Log) tell() {
	if l.note == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if end := l.Synced(); end != l.noted && end.Offset > 0 {
		l.noted = end
		l.note(end.Segment, end.Offset)
	}
}

// Flush gives what was appended to the system: it outlives the process.
func (l *Log) Flush() error {
	_, err := l.Log.Flush()
	return err
}

// Sync forces what was flushed to the device.
func (l *Log) Sync() error {
	_, err := l.Log.Sync()
	if err == nil {
		l.tell()
	}
	return err
}

// Repair goes on after an error of Flush or Sync, once the disk works again: all that was appended is on the device
// then.
func (l *Log) Repair() error {
	err := l.Log.Repair(nil)
	if err == nil {
		l.tell()
	}
	return err
}

// Trim drops the segments before one, which the store has recorded as the first.
func (l *Log) Trim(first uint64) error { return l.Log.Trim(log.Position{Segment: first}) }

// Checkpoint copies what the device has, from a segment on, to the directory of another store. It returns
// what there is to be noted of the copy.
func (l *Log) Checkpoint(fsys vfs.FS, dir string, first uint64) (segment uint64, bytes int64, err error) {
	end, err := l.Log.Checkpoint(fsys, fsys.PathJoin(dir, Dir), log.Position{Segment: first})
	if end.Offset == 0 {
		return 0, 0, err
	}
	return end.Segment, end.Offset, err
}

// Size returns how many files the log has, and how many bytes are written to them.
func (l *Log) Size() (files int, bytes int64) {
	for _, s := range l.Segments() {
		files++
		bytes += s.Bytes
	}
	return files, bytes
}

// Close ends the log. The error is why something that was appended is not on the device.
func (l *Log) Close() error {
	err := l.Log.Close()
	if err == nil {
		l.tell()
	}
	return err
}

// Behind calls f with the frames behind a damage that can still be read, and returns how many bytes are there.
func Behind(cfg Config, d *log.Damage, f func(log.Frame)) (bytes int64, err error) {
	return log.Behind(cfg.log(), d, f)
}

// PutAside copies the segments that Cut would change or remove into a directory.
func PutAside(cfg Config, d *log.Damage, dir string) error {
	return log.PutAside(cfg.log(), d, cfg.FS.PathJoin(dir, Dir))
}

// Cut ends a log, which is not open, where damage begins, and returns how much of which segment is on the device
// then.
func Cut(cfg Config, d *log.Damage) (segment uint64, bytes int64, err error) {
	at, err := log.Cut(cfg.log(), d)
	if at.Offset == 0 {
		return 0, 0, err // the segment before is judged by itself
	}
	return at.Segment, at.Offset, err
}

// Remove removes a log that is not open. Other files in its directory stay.
func Remove(cfg Config) error { return log.Remove(cfg.log()) }
