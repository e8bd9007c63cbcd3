package check

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/chunklog"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/wal"
	"github.com/vigildb/vigil/structures"
)

// contents checks the keys in the object store against each other.
func (c *checker) contents() error {
	var err error
	if c.meta, err = lsm.ReadMeta(c.db, format.Meta{}); err != nil {
		c.report.found("meta: %v", err)
		return nil
	}
	c.keys, c.phys = format.DeriveKeys(c.meta.Secret), c.meta.Phys
	if c.staged, err = lsm.StagedCount(c.db); err != nil {
		return err
	}
	if !c.meta.Pebble {
		log := c.log
		if c.meta.Grouped {
			log = c.groupLog
		}
		if err := log(); err != nil {
			return err
		}
	}
	for _, step := range []struct {
		what   string
		prefix byte
		check  func(it *pebble.Iterator) error
	}{
		{"journal", format.PrefixJournal, c.journal},
		{"lists of heads that expire", format.PrefixExpiry, c.expiries},
		{"heads", format.PrefixHead, c.heads},
		{"counts", format.PrefixCount, c.counts},
		{"pages", format.PrefixPage, c.pages},
		{"staged pages", format.PrefixStage, c.stagedPages},
		{"marks", format.PrefixMark, c.marks},
		{"libraries", format.PrefixLibrary, c.texts(format.TextKindOf(format.OpLibrary), &c.report.Libraries)},
		{"users", format.PrefixUser, c.texts(format.TextKindOf(format.OpUser), &c.report.Users)},
		{"configuration", format.PrefixConfiguration, c.texts(format.TextKindOf(format.OpConfiguration), &c.report.Directives)},
		{"moves", format.PrefixMove, c.texts(format.TextKindOf(format.OpMove), &c.report.Moves)},
	} {
		it, err := c.db.NewIter(&pebble.IterOptions{
			LowerBound: format.AppendGroup(nil, step.prefix), UpperBound: format.AppendGroupEnd(nil, step.prefix)})
		if err != nil {
			return err
		}
		err = step.check(it)
		if err := errors.Join(err, it.Error()); err != nil {
			c.report.found("%s: %v", step.what, wal.Named(err))
		}
		if err := it.Close(); err != nil && !pebble.IsCorruptionError(err) {
			return err
		}
	}
	return nil
}

// files describes the log.
func (c *checker) files() storelog.Config {
	return storelog.Config{FS: c.FS, Dir: c.Dir, Secret: c.meta.Secret, From: c.meta.Segment, Fresh: c.meta.Unmade, Synced: c.synced}
}

func (c *checker) size(files int, bytes int64) {
	c.report.Logs += int64(files)
	c.report.LogBytes += bytes
}

// groupLog checks the log of a group, also what is not committed.
func (c *checker) groupLog() error {
	l, err := grouplog.View(c.db, format.Group, c.files())
	if err != nil {
		c.logFound(err)
		return nil
	}
	c.size(l.Size())
	last := c.meta.Trimmed
	_, end := l.Bounds()
	r, err := l.Read(last.Index+1, end+1)
	if err != nil {
		c.logFound(err)
		return l.Close()
	}
	more, err := r.Next()
	for more && err == nil {
		chunk := format.Chunk{Index: r.Index()}
		if chunk.Bytes, err = r.Value(); err != nil {
			break
		}
		if last, err = c.chunk(&chunk, last); err != nil {
			break
		}
		more, err = r.Next()
	}
	c.report.Last = last.LSN
	if err != nil {
		c.logFound(err)
	}
	return errors.Join(r.Close(), l.Close())
}

// log checks the journal of a store that is alone.
func (c *checker) log() error {
	l, err := chunklog.View(c.files())
	if err != nil {
		c.logFound(err)
		return nil
	}
	c.size(l.Size())
	r, last := l.Read(c.meta.Trimmed.Index+1), c.meta.Trimmed
	more, err := r.Next()
	for more && err == nil {
		var chunk format.Chunk
		if chunk, err = r.Chunk(); err != nil {
			break
		}
		if last, err = c.chunk(&chunk, last); err != nil {
			break
		}
		more, err = r.Next()
	}
	c.report.Last = last.LSN
	if err != nil {
		c.logFound(err)
	}
	return errors.Join(r.Close(), l.Close())
}

func (c *checker) logFound(err error) {
	if d := log.AsDamage(err); d != nil {
		c.report.found("%s/%v", storelog.Dir, d)
		return
	}
	c.report.found("journal: %v", err)
}

// journal checks the journal of a store in format 2.
func (c *checker) journal(it *pebble.Iterator) error {
	if !c.meta.Pebble {
		if it.First() && !c.meta.Grouped {
			return errors.New("there are chunks, but the journal is in the log")
		}
		return nil
	}
	last := c.meta.Trimmed
	for it.SeekGE(format.AppendJournalKey(nil, last.Index+1)); it.Valid(); it.Next() {
		chunk, ok, err := format.ReadChunk(it)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if last, err = c.chunk(&chunk, last); err != nil {
			return err
		}
	}
	c.report.Last = last.LSN
	return nil
}

// chunk checks that a chunk and its records follow the last one without a gap, and decode. What
// follows a gap cannot be checked.
func (c *checker) chunk(chunk *format.Chunk, last journal.Position) (journal.Position, error) {
	records, err := chunk.Open()
	if err == nil {
		err = chunk.Follows(last)
	}
	if err != nil {
		return last, err
	}
	n, err := c.records(chunk.First, records)
	if err != nil {
		return last, fmt.Errorf("chunk %d of the journal: %w", last.Index+1, err)
	}
	c.report.Chunks++
	c.report.Records += n
	c.progress("records", int64(c.report.Records), 0)
	return journal.Position{LSN: last.LSN + n, Index: last.Index + 1}, nil
}

// marks checks that the journal has all the records that the marks refer to.
func (c *checker) marks(it *pebble.Iterator) error {
	for it.First(); it.Valid(); it.Next() {
		shard, lsn, err := format.DecodeMark(it.Key(), it.Value())
		switch {
		case err != nil:
			c.report.found("%v", err)
		case shard == format.Everything && lsn > c.report.Last:
			c.report.found("values hold record %d, but the journal ends with %d", lsn, c.report.Last)
		case lsn > c.report.Last:
			c.report.found("values of shard %d hold record %d, but the journal ends with %d", shard, lsn, c.report.Last)
		}
	}
	return nil
}

// texts returns what checks texts and counts them.
func (c *checker) texts(kind format.TextKind, count *int64) func(it *pebble.Iterator) error {
	return func(it *pebble.Iterator) error {
		for it.First(); it.Valid(); it.Next() {
			if _, _, err := kind.Decode(it.Key(), it.Value()); err != nil {
				c.report.found("%v", err)
			}
			*count++
		}
		return nil
	}
}

// records decodes the records of a chunk and the values that they hold.
func (c *checker) records(first uint64, records []byte) (n uint64, err error) {
	for ; len(records) > 0; n++ {
		var rec []byte
		if rec, records, err = format.NextRecord(records); err != nil {
			return n, err
		}
		for len(rec) > 0 {
			var op byte
			var args structures.Args
			if op, args, rec, err = structures.NextOp(rec); err == nil {
				err = c.operation(op, &args)
			}
			if err != nil {
				return n, fmt.Errorf("record %d: %w", first+n, err)
			}
		}
	}
	return n, nil
}

// operation checks an operation and keeps what heads will be asked about it.
func (c *checker) operation(op byte, args *structures.Args) error {
	switch op {
	case format.OpKey:
		_, key := args.Uint(), args.Bytes()
		c.touched[c.keys.Hash.Sum(key)] = struct{}{}
		return args.Done()
	case format.OpMapping:
		c.remapped = true
		_, phys, err := format.DecodeMapping(args)
		if err == nil {
			c.phys = phys
		}
		return err
	case format.OpReplicated:
		_, _, err := format.DecodeReplicated(args)
		return err
	case format.OpLibrary, format.OpUser, format.OpConfiguration, format.OpMove:
		_, err := format.TextKindOf(op).DecodeChange(args)
		return err
	case format.OpRestore:
		return c.restore(args)
	}
	return nil
}

// restore checks a value that a record holds.
func (c *checker) restore(args *structures.Args) error {
	kind, _, head := structures.Kind(args.Uint()), args.Int(), args.Bytes()
	v, err := format.DecodeValue(kind, head, &c.keys.Values)
	if err != nil {
		return err
	}
	for args.Left() >= 2 {
		id, page := args.Uint(), args.Bytes()
		if err := v.SetPage(id, page); err != nil {
			return err
		}
	}
	return errors.Join(args.Done(), format.Complete(v))
}

// heads checks each key: that it lies where its hash says, that the journal knows
// of all it holds, and that its value can be made of its head and its pages.
func (c *checker) heads(it *pebble.Iterator) error {
	r := &c.report
	for it.First(); it.Valid(); it.Next() {
		phys, hash, key, err := format.SplitHeadKey(it.Key())
		if err != nil {
			r.found("%v", err)
			continue
		}
		c.progress("keys", r.Heads(), 0)
		db := slices.Index(c.phys, phys)
		if db < 0 {
			r.Flushed++
			continue
		}
		c.counted(phys, hash)
		h, err := format.DecodeHead(it.Value())
		switch {
		case err != nil:
		case c.keys.Hash.Sum(key) != hash:
			err = errors.New("it is not where its hash says")
		case h.LSN > r.Last:
			err = fmt.Errorf("it holds record %d, but the journal ends with %d", h.LSN, r.Last)
		case !h.Short:
			err = c.value(phys, hash, key, &h)
		}
		if err == nil {
			err = c.listed(phys, hash, &h)
		}
		if err != nil {
			r.found("key %.100q of database %d: %v", key, db, wal.Named(err))
		}
		r.Keys[KeyClass{db, h.Kind}]++
		r.Bytes += int64(len(it.Key()) + len(it.Value()))
	}
	return nil
}

// Heads is the number of heads that were counted.
func (r *Report) Heads() (n int64) {
	for _, k := range r.Keys {
		n += k
	}
	return n + r.Flushed
}

func (c *checker) value(phys uint32, hash uint64, key []byte, h *format.Head) error {
	v, err := format.DecodeValue(h.Kind, h.Payload, &c.keys.Values)
	if err != nil {
		return err
	}
	if h.Paged {
		if err := c.readPages(phys, hash, key, v); err != nil {
			return err
		}
	}
	return format.Complete(v)
}

// readPages reads the pages of a value: staged ones that count instead of those that the
// next start replaces by them, and pages with the deltas that it appends.
func (c *checker) readPages(phys uint32, hash uint64, key []byte, v structures.Value) error {
	if !c.staged {
		return lsm.ReadPages(c.db, phys, hash, key, v, 0, nil)
	}
	low, high := format.AppendPageKey(nil, phys, hash, key, 0), append(format.AppendPageKey(nil, phys, hash, key, ^uint64(0)), 0)
	it, err := c.db.NewIter(&pebble.IterOptions{LowerBound: format.Restage(nil, low), UpperBound: format.Restage(nil, high)})
	if err != nil {
		return err
	}
	staged := map[uint64]bool{}
	for it.First(); it.Valid() && err == nil; it.Next() {
		id := format.PageID(it.Key())
		staged[id] = true
		switch b := it.Value(); {
		case !format.IsStaged(b) || b[0] == format.StagedGone: // which stagedPages says
		case b[0] == format.StagedPage:
			err = v.SetPage(id, b[1:])
		default:
			err = c.readDeltas(format.Restage(nil, it.Key()), b, func(page []byte) error { return v.SetPage(id, page) })
		}
	}
	return errors.Join(err, it.Error(), it.Close(), lsm.ReadPages(c.db, phys, hash, key, v, 0, staged))
}

// readDeltas reads a page with staged deltas.
func (c *checker) readDeltas(pageKey, deltas []byte, use func(page []byte) error) error {
	b, closer, err := c.db.Get(pageKey)
	if err != nil {
		return fmt.Errorf("page %x, with staged deltas: %w", format.PageID(pageKey), err)
	}
	return errors.Join(use(slices.Concat(b, deltas)), closer.Close())
}

// stagedPages checks pages that are staged, whether they count or not.
func (c *checker) stagedPages(it *pebble.Iterator) error {
	for it.First(); it.Valid(); it.Next() {
		k, v := it.Key(), it.Value()
		if !format.IsPageKey(k) || !format.IsStaged(v) {
			c.report.found("staged page of %d bytes under a key of %d", len(v), len(k))
		}
	}
	return nil
}

// counted counts a head for comparison with the number that its shard should have.
func (c *checker) counted(phys uint32, hash uint64) {
	counts := &c.shards[format.ShardOf(hash)]
	if *counts == nil {
		*counts = map[uint32]int64{}
	}
	(*counts)[phys]++
}

// counts compares the numbers of keys with the heads that were found.
func (c *checker) counts(it *pebble.Iterator) error {
	for it.First(); it.Valid(); it.Next() {
		phys, shard, n, err := format.DecodeCount(it.Key(), it.Value())
		if err != nil {
			c.report.found("count of %d bytes", len(it.Value()))
			continue
		}
		counts := c.shards[shard]
		if slices.Contains(c.phys, phys) && n != counts[phys] {
			c.report.found("shard %d of physical database %d should have %d keys, but there are %d", shard, phys, n, counts[phys])
		}
		delete(counts, phys)
	}
	for i := range c.shards {
		for phys, n := range c.shards[i] {
			c.report.found("shard %d of physical database %d has %d keys and no count", i, phys, n)
		}
	}
	return nil
}

// pages looks for pages of keys that are not there, or have none.
func (c *checker) pages(it *pebble.Iterator) error {
	var owner []byte // what the keys of the pages of one value begin with
	for it.First(); it.Valid(); it.Next() {
		k := it.Key()
		c.report.Pages++
		c.report.Bytes += int64(len(k) + len(it.Value()))
		c.progress("pages", c.report.Pages, 0)
		if owner != nil && len(k) == len(owner)+8 && bytes.HasPrefix(k, owner) {
			continue
		}
		phys, hash, key, _, ok := format.SplitPageKey(k)
		if !ok {
			c.report.found("page key of %d bytes", len(k))
			continue
		}
		owner = append(owner[:0], k[:len(k)-8]...)
		if !slices.Contains(c.phys, phys) {
			continue
		}
		b, closer, err := c.db.Get(format.AppendHeadKey(nil, phys, hash, key))
		if err != nil {
			c.report.found("pages of key %.100q, which has no head: %v", key, wal.Named(err))
			continue
		}
		h, err := format.DecodeHead(b)
		if err == nil && !h.Paged {
			c.report.found("pages of key %.100q, which should have none", key)
		}
		if err := closer.Close(); err != nil {
			return err
		}
	}
	return nil
}
