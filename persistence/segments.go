package persistence

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/chunklog"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/wal"
)

// smallSegment is the length of the files of a log that is in memory, or on a disk of which others would
// be more than one part in segmentPart.
const smallSegment, segmentPart = 1 << 20, 256

// logConfig describes the log.
func (s *Store) logConfig() storelog.Config {
	c := storelog.Config{FS: s.opts.FS, Dir: s.opts.Dir, Secret: s.mapping.Secret, From: s.mapping.Segment,
		Synced: s.marked.Mark.State().Segments(), Note: s.marked.Mark.Segment, Recycle: true, Extend: s.opts.FS == vfs.Default}
	if c.SegmentBytes = s.opts.SegmentBytes; c.SegmentBytes > 0 {
		return c
	}
	if _, total := s.Space(); s.opts.InMemory || total > 0 && total/segmentPart < log.DefaultSegmentBytes {
		c.SegmentBytes, c.Recycle = smallSegment, false
	}
	return c
}

// openChunks opens the log of a store that is alone. One in format 2 gets a log now.
func (s *Store) openChunks() error {
	if s.mapping.Pebble {
		if err := s.upgrade(); err != nil {
			return fmt.Errorf("move the journal of format 2 into a log: %w", err)
		}
	}
	err := s.openSound()
	for d := log.AsDamage(err); d != nil && s.opts.Recover == RecoverTruncate; d = log.AsDamage(err) {
		if err := s.cutChunks(d); err != nil {
			return err
		}
		err = s.openSound()
	}
	return damaged(err)
}

// openSound opens the log and finds its end. If the store is being recovered it reads all of the log for that, else a
// replay does.
func (s *Store) openSound() error {
	l, err := chunklog.Open(s.logConfig())
	if err != nil {
		return err
	}
	if s.opts.Recover == RecoverTruncate {
		err = l.Verify()
	}
	s.lastChunk = s.mapping.Trimmed
	if err == nil {
		var end journal.Position
		if end, err = l.Last(); end.Index > s.lastChunk.Index {
			s.lastChunk = end
		}
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	s.chunks = l
	return nil
}

// damaged makes damage of the log that of a file of the store.
func damaged(err error) error {
	d := log.AsDamage(err)
	if d == nil {
		return err
	}
	return &wal.Damage{File: storelog.Dir + "/" + d.File, Offset: d.Offset, Reason: d.Reason, Truncatable: true}
}

// cutChunks ends the log where damage begins. What is cut off stays in a directory of its own. Nothing is cut off that
// the object store may have a part of, as the rest of that would be missing.
func (s *Store) cutChunks(d *log.Damage) error {
	cfg := s.logConfig()
	left, err := chunklog.Remains(cfg, d)
	if err != nil {
		return damaged(err)
	}
	end, err := left.Last()
	if err != nil {
		return damaged(err)
	}
	if err := s.loadMarks(); err != nil {
		return err
	}
	reached := max(s.reached, s.mapping.Trimmed.LSN, s.mapping.Mapped)
	if end.LSN = max(end.LSN, s.mapping.Trimmed.LSN); end.LSN < reached {
		return &wal.Damage{File: storelog.Dir + "/" + d.File, Offset: d.Offset,
			Reason: fmt.Sprintf("%s; it cannot be cut off behind record %d, as values hold changes up to record %d", d.Reason, end.LSN, reached)}
	}
	aside, err := wal.MakeAside(s.opts.FS, s.opts.Dir, s.opts.Now())
	if err == nil {
		err = storelog.PutAside(cfg, d, aside)
	}
	if err != nil {
		return fmt.Errorf("put what is damaged aside: %w", err)
	}
	s.opts.Logf(LevelWarn, "%v; continuing without it, as requested; copies are in %s", damaged(d), aside)
	lost := wal.NewLoss()
	bytes, err := chunklog.Behind(cfg, d, func(c format.Chunk) {
		if records, err := c.Open(); err == nil {
			lost.Records(c.First, records)
		}
	})
	if err != nil {
		s.opts.Logf(LevelWarn, "what is lost cannot be read: %v", err)
	}
	lost.AddBytes(bytes)
	s.lost = lost
	segment, length, err := storelog.Cut(cfg, d)
	if err != nil {
		return err
	}
	s.marked.Mark.Segment(segment, length)
	if files, _ := left.Size(); files > 0 || s.mapping.Segment == 0 {
		return nil
	}
	meta := s.mapping
	meta.Segment = 0 // the log begins anew
	b := s.disk.DB.NewBatch()
	if err := errors.Join(b.Set(format.AppendMetaKey(nil), meta.Append(nil), nil), s.disk.Apply(b, pebble.Sync)); err != nil {
		return err
	}
	s.mapping.Segment, s.segment = 0, 0
	return nil
}

// closeLog ends the log. What it has that the device lacks is known to unwritten, if the disk failed.
func (s *Store) closeLog() (err error) {
	switch {
	case s.chunks != nil:
		err = s.chunks.Close()
	case s.member != nil:
		err = s.member.CloseLog()
	}
	if s.member == nil && s.Unsynced() == 0 || s.diskError() != nil {
		return nil
	}
	return err
}

// writeChunks forces chunks to the device, before anything else is written.
func (s *Store) writeChunks(chunks []journal.Chunk) error {
	for i := range chunks {
		if _, err := s.chunks.Append(&chunks[i]); err != nil {
			return err
		}
	}
	if err := s.chunks.Flush(); err != nil {
		return err
	}
	return s.chunks.Sync()
}
