package persistence

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/chunklog"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/tail"
)

// In format 2 the journal of every store was in Pebble. That of one that is alone moves into a log when the
// store is opened. Until its last step, which is one batch, the store is in format 2: an attempt that is cut
// short, or finds no room on the disk, has changed nothing that matters.

// upgrade makes a store in format 2 one in format 3.
func (s *Store) upgrade() error {
	cfg := s.logConfig()
	cfg.Synced, cfg.Note = nil, nil              // the version before does not know of segments
	if err := storelog.Remove(cfg); err != nil { // of an attempt before
		return err
	}
	l, err := chunklog.Open(cfg)
	if err != nil {
		return err
	}
	last, err := s.moveChunks(l)
	if err = errors.Join(err, l.Close()); err != nil {
		return errors.Join(err, storelog.Remove(cfg))
	}
	meta := s.mapping
	meta.Pebble = false
	b := s.disk.DB.NewBatch()
	s.reached = last.LSN
	err = errors.Join(
		b.Set(format.AppendMetaKey(nil), meta.Append(nil), nil),
		b.DeleteRange(format.AppendGroup(nil, format.PrefixJournal), format.AppendGroupEnd(nil, format.PrefixJournal), nil),
		setNewest(b, last.LSN),
		s.disk.Apply(b, pebble.Sync))
	if err != nil {
		return err
	}
	s.mapping.Pebble = false
	s.opts.Logf(LevelInfo, "the store is in format 3 now, with its journal in %s (changes: %d): versions before refuse it",
		storelog.Dir, last.LSN-s.mapping.Trimmed.LSN)
	return nil
}

// moveChunks copies all chunks into a log, and returns the end of the journal.
func (s *Store) moveChunks(l *chunklog.Log) (last journal.Position, err error) {
	last = s.mapping.Trimmed
	from, err := s.pebbleChunksFrom(last.Index + 1)
	if err != nil {
		return last, err
	}
	more, err := from.Next()
	for more && err == nil {
		if last, err = copyChunk(l, from, last); err == nil {
			more, err = from.Next()
		}
	}
	return last, errors.Join(err, from.Close())
}

// copyChunk copies the chunk at hand, which follows last.
func copyChunk(l *chunklog.Log, from chunkSource, last journal.Position) (journal.Position, error) {
	c, err := from.Chunk()
	if err != nil {
		return last, err
	}
	records, err := c.Open()
	if err == nil {
		err = c.Follows(last)
	}
	if err != nil {
		return last, err
	}
	end, err := format.LastRecord(c.First, records)
	if err != nil {
		return last, err
	}
	flags := byte(0)
	if c.Apart() {
		flags = format.ChunkApart
	}
	ch := journal.Kept(tail.Chunk{Index: c.Index, First: c.First, Flags: flags, Records: records}, end, c.Own)
	if _, err = l.Append(&ch); err == nil {
		err = l.Flush()
	}
	if err == nil && l.Unsynced() > maxUnsynced {
		err = l.Sync()
	}
	return journal.Position{LSN: end, Index: c.Index}, err
}
