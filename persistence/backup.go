package persistence

import (
	"encoding/hex"
	"fmt"
	"math"

	"github.com/vigildb/vigil/persistence/check"
	"github.com/vigildb/vigil/persistence/chunklog"
	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/wal"
)

// Backup is the store for those who copy its log elsewhere while it is written.
type Backup struct{ s *Store }

// Backup returns the store as backups see it.
func (s *Store) Backup() Backup { return Backup{s} }

// ID tells the store from others. Stores that were restored from one have its ID.
func (b Backup) ID() string {
	id := format.LogID(b.s.mapping.Secret)
	return hex.EncodeToString(id[:])
}

// Record is the number of the last record.
func (b Backup) Record() uint64 { return b.s.journal.Newest() }

// Log returns the segments of the log, whose Bytes are those that are on the device: they never change. Segments may go
// at any time unless they are held. A member of a group, whose log may be written anew from an entry on, has none.
func (b Backup) Log() (dir string, segments []log.Segment) {
	if b.s.member != nil {
		return "", nil
	}
	synced := b.s.chunks.Synced() // asked for first: it is not behind what the segments have
	segments = b.s.chunks.Segments()
	if n := len(segments); n > 0 {
		last := &segments[n-1]
		if last.Bytes = 0; last.Number == synced.Segment {
			last.Bytes = synced.Offset
		}
	}
	return b.s.opts.FS.PathJoin(b.s.opts.Dir, storelog.Dir), segments
}

// Hold keeps the segments of the log until release is called.
func (b Backup) Hold() (release func()) {
	if b.s.member != nil {
		return func() {}
	}
	return b.s.chunks.Pin()
}

// Complete makes a store of files that were copied into o.Dir one by one: those of a snapshot, and a log that may go on behind it. Of
// that only records up to last stay, or all if last is 0, but none is cut off that values may have a part of, which is an error. The log
// of a member of a group stays as it is. Then everything is read; with ErrDamaged the report says what is wrong.
func Complete(o Options, last uint64, progress func(what string, done, total int64)) (*check.Report, error) {
	o = o.withDefaults()
	if err := completeLog(o, last); err != nil {
		return nil, fmt.Errorf("complete %s: %w", o.Dir, err)
	}
	report, err := check.Run(check.Options{Dir: o.Dir, FS: o.FS, Warn: o.warnf}, progress)
	if err == nil && !report.Sound() {
		err = ErrDamaged
	}
	if err != nil {
		return report, fmt.Errorf("complete %s: %w", o.Dir, err)
	}
	return report, fence.SyncDir(o.FS, o.Dir)
}

func completeLog(o Options, last uint64) error {
	mark, _, err := wal.ReadMark(o.FS, o.Dir)
	if err != nil {
		return err
	}
	s := &Store{opts: o}
	if err := s.peek(s.loadMarks); err != nil {
		return err
	}
	if s.mapping.Grouped || s.mapping.Pebble {
		return nil
	}
	if last == 0 {
		last = math.MaxUint64
	}
	if reached := max(s.reached, s.mapping.Trimmed.LSN, s.mapping.Mapped); last < reached {
		return fmt.Errorf("values hold changes up to record %d, so the log cannot end with record %d", reached, last)
	}
	_, at, err := chunklog.Shorten(storelog.Config{FS: o.FS, Dir: o.Dir, Secret: s.mapping.Secret, From: s.mapping.Segment, Synced: mark.Segments()}, last)
	if err != nil {
		return damaged(err)
	}
	mark.SetSegment(at.Segment, at.Offset)
	return wal.MarkCopy(o.FS, o.Dir, mark)
}
