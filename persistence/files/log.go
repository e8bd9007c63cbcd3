package files

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/chunklog"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/wal"
)

// smallSegment is the length of the files of a log in memory, or on a disk where usual ones would
// take more than one part in segmentPart.
const smallSegment, segmentPart = 1 << 20, 256

// LogConfig describes the log.
func (f *Files) LogConfig() storelog.Config {
	c := storelog.Config{FS: f.FS, Dir: f.Dir, Secret: f.Meta.Secret, From: f.Meta.Segment, Fresh: f.Meta.Unmade,
		Synced: f.Marked.Mark.State().Segments(), Note: f.Marked.Mark.Segment, Recycle: true, Extend: f.FS == vfs.Default}
	if c.SegmentBytes = f.SegmentBytes; c.SegmentBytes > 0 {
		return c
	}
	if _, total := f.Reserve.Space(); f.InMemory || total > 0 && total/segmentPart < log.DefaultSegmentBytes {
		c.SegmentBytes, c.Recycle = smallSegment, false
	}
	return c
}

// OpenLog opens the log of a store that is alone. One in format 2 gets a log now.
func (f *Files) OpenLog() error {
	if f.Meta.Pebble {
		if err := f.upgrade(); err != nil {
			return fmt.Errorf("move the journal of format 2 into a log: %w", err)
		}
	}
	err := f.openSound()
	for d := log.AsDamage(err); d != nil && f.Truncate; d = log.AsDamage(err) {
		if err := f.cutChunks(d); err != nil {
			return err
		}
		err = f.openSound()
	}
	return damaged(err)
}

// openSound opens the log and finds its end. If the store is being recovered it reads all of the log for that, else a
// replay does.
func (f *Files) openSound() error {
	l, err := chunklog.Open(f.LogConfig())
	if err != nil {
		return err
	}
	if f.Truncate {
		err = l.Verify()
	}
	f.LastChunk = f.Meta.Trimmed
	if err == nil {
		var end journal.Position
		if end, err = l.Last(); end.Index > f.LastChunk.Index {
			f.LastChunk = end
		}
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	f.Log = l
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
func (f *Files) cutChunks(d *log.Damage) error {
	cfg := f.LogConfig()
	left, err := chunklog.Remains(cfg, d)
	if err != nil {
		return damaged(err)
	}
	end, err := left.Last()
	if err != nil {
		return damaged(err)
	}
	if err := f.LoadMarks(); err != nil {
		return err
	}
	reached := f.newest()
	if end.LSN = max(end.LSN, f.Meta.Trimmed.LSN); end.LSN < reached {
		return &wal.Damage{File: storelog.Dir + "/" + d.File, Offset: d.Offset,
			Reason: fmt.Sprintf("%s; it cannot be cut off behind record %d, as values hold changes up to record %d", d.Reason, end.LSN, reached)}
	}
	aside, err := wal.MakeAside(f.FS, f.Dir, f.Now())
	if err == nil {
		err = storelog.PutAside(cfg, d, aside)
	}
	if err != nil {
		return fmt.Errorf("put what is damaged aside: %w", err)
	}
	f.Operator.Warnf("%v; continuing without it, as requested; copies are in %s", damaged(d), aside)
	lost := wal.NewLoss()
	bytes, err := chunklog.Behind(cfg, d, func(c format.Chunk) {
		if records, err := c.Open(); err == nil {
			lost.Records(c.First, records)
		}
	})
	if err != nil {
		f.Operator.Warnf("what is lost cannot be read: %v", err)
	}
	lost.AddBytes(bytes)
	f.Lost = lost
	segment, length, err := storelog.Cut(cfg, d)
	if err != nil {
		return err
	}
	f.Marked.Mark.Segment(segment, length)
	if files, _ := left.Size(); files > 0 || f.Meta.Segment == 0 {
		return nil
	}
	meta := f.Meta
	meta.Segment, meta.Unmade = 0, false // the log begins anew
	if err := f.WriteMeta(&meta, nil); err != nil {
		return err
	}
	f.Meta.Segment, f.Meta.Unmade, f.segment = 0, false, 0
	return nil
}

// writeChunks forces chunks to the device, before anything else is written.
func (f *Files) writeChunks(chunks []journal.Chunk) error {
	for i := range chunks {
		if _, err := f.Log.Append(&chunks[i]); err != nil {
			return err
		}
	}
	if err := f.Log.Flush(); err != nil {
		return err
	}
	return f.Log.Sync()
}
