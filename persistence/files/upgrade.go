package files

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
func (f *Files) upgrade() error {
	cfg := f.LogConfig()
	cfg.Synced, cfg.Note = nil, nil              // the version before does not know of segments
	if err := storelog.Remove(cfg); err != nil { // of an attempt before
		return err
	}
	l, err := chunklog.Open(cfg)
	if err != nil {
		return err
	}
	last, err := f.moveChunks(l)
	if err = errors.Join(err, l.Close()); err != nil {
		return errors.Join(err, storelog.Remove(cfg))
	}
	meta := f.Meta
	meta.Pebble = false
	err = f.WriteMeta(&meta, func(b *pebble.Batch) error {
		return errors.Join(
			b.DeleteRange(format.AppendGroup(nil, format.PrefixJournal), format.AppendGroupEnd(nil, format.PrefixJournal), nil),
			f.Seal(b, last.LSN))
	})
	if err != nil {
		return err
	}
	f.Meta.Pebble = false
	f.Operator.Infof("the store is in format 3 now, with its journal in %s (changes: %d): versions before refuse it",
		storelog.Dir, last.LSN-f.Meta.Trimmed.LSN)
	return nil
}

// moveChunks copies all chunks into a log, and returns the end of the journal.
func (f *Files) moveChunks(l *chunklog.Log) (last journal.Position, err error) {
	last = f.Meta.Trimmed
	from, err := f.chunksFrom(last.Index + 1)
	if err != nil {
		return last, err
	}
	more, err := from.next()
	for more && err == nil {
		if last, err = copyChunk(l, from, last); err == nil {
			more, err = from.next()
		}
	}
	return last, errors.Join(err, from.it.Close())
}

// copyChunk copies the chunk at hand, which follows last.
func copyChunk(l *chunklog.Log, from *pebbleChunks, last journal.Position) (journal.Position, error) {
	c, err := from.chunk()
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
	if err == nil && l.Unsynced() > journal.MaxUnsynced {
		err = l.Sync()
	}
	return journal.Position{LSN: end, Index: c.Index}, err
}

// pebbleChunks are chunks under their own keys: those of a store in format 2.
type pebbleChunks struct {
	it    *pebble.Iterator
	moved bool // next was called
}

func (f *Files) chunksFrom(index uint64) (*pebbleChunks, error) {
	it, err := f.Disk.DB.NewIter(&pebble.IterOptions{LowerBound: format.AppendJournalKey(nil, index), UpperBound: format.AppendGroupEnd(nil, format.PrefixJournal)})
	return &pebbleChunks{it: it}, err
}

// next goes to the next chunk, and reports whether there is one.
func (p *pebbleChunks) next() (bool, error) {
	ok := false
	if p.moved {
		ok = p.it.Next()
	} else {
		ok, p.moved = p.it.First(), true
	}
	for ok && format.IsPiece(p.it.Key()) {
		ok = p.it.Next()
	}
	return ok, p.it.Error()
}

// chunk returns the chunk at hand, whose bytes are valid until next is called, unless they are its own.
func (p *pebbleChunks) chunk() (format.Chunk, error) {
	c, ok, err := format.ReadChunk(p.it)
	if err == nil && !ok {
		err = errors.New("a piece of a chunk is no chunk")
	}
	return c, err
}
