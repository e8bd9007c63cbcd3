package persistence

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/structures"
)

// contents checks the keys in the object store against each other.
func (c *checker) contents() error {
	s := c.s
	if err := s.loadMeta(); err != nil {
		c.report.found("meta: %v", err)
		return nil
	}
	var err error
	if c.staged, err = s.stagedCount(); err != nil {
		return err
	}
	for _, step := range []struct {
		what   string
		prefix byte
		check  func(it *pebble.Iterator) error
	}{
		{"journal", prefixJournal, c.journal},
		{"lists of heads that expire", prefixExpiry, c.expiries},
		{"heads", prefixHead, c.heads},
		{"counts", prefixCount, c.counts},
		{"pages", prefixPage, c.pages},
		{"staged pages", prefixStage, c.stagedPages},
		{"marks", prefixMark, c.marks},
		{"libraries", prefixLibrary, c.texts(newTexts(opLibrary), &c.report.Libraries)},
		{"users", prefixUser, c.texts(newTexts(opUser), &c.report.Users)},
		{"configuration", prefixConfiguration, c.texts(newTexts(opConfiguration), &c.report.Directives)},
		{"moves", prefixMove, c.texts(newTexts(opMove), &c.report.Moves)},
	} {
		it, err := s.db.NewIter(&pebble.IterOptions{
			LowerBound: appendGroup(nil, step.prefix), UpperBound: appendGroupEnd(nil, step.prefix)})
		if err != nil {
			return err
		}
		err = step.check(it)
		if err := errors.Join(err, it.Error()); err != nil {
			c.report.found("%s: %v", step.what, named(err))
		}
		if err := it.Close(); err != nil && !pebble.IsCorruptionError(err) {
			return err
		}
	}
	return nil
}

// journal checks that chunks and records are there without gaps and decode. What
// follows a gap cannot be checked.
func (c *checker) journal(it *pebble.Iterator) error {
	last := c.s.mapping.trimmed
	for it.SeekGE(appendJournalKey(nil, last.Index+1)); it.Valid(); it.Next() {
		chunk, ok, err := chunkAt(it)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		records, err := chunk.open()
		if err == nil {
			err = chunk.follows(last)
		}
		if err != nil {
			return err
		}
		n, err := c.records(chunk.first, records)
		if err != nil {
			return fmt.Errorf("chunk %d of the journal: %w", last.Index+1, err)
		}
		last = journal.Position{LSN: last.LSN + n, Index: last.Index + 1}
		c.report.Chunks++
		c.report.Records += n
		c.progress("records", int64(c.report.Records), 0)
	}
	c.report.Last = last.LSN
	return nil
}

// marks checks that the journal has all the records that the marks refer to.
func (c *checker) marks(it *pebble.Iterator) error {
	for it.First(); it.Valid(); it.Next() {
		shard, lsn, err := decodeMark(it.Key(), it.Value())
		switch {
		case err != nil:
			c.report.found("%v", err)
		case lsn > c.report.Last:
			c.report.found("values of shard %d hold record %d, but the journal ends with %d", shard, lsn, c.report.Last)
		}
	}
	return nil
}

// texts returns what checks texts and counts them.
func (c *checker) texts(l texts, count *int64) func(it *pebble.Iterator) error {
	return func(it *pebble.Iterator) error {
		for it.First(); it.Valid(); it.Next() {
			if _, _, err := l.decode(it.Key(), it.Value()); err != nil {
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
		if rec, records, err = nextRecord(records); err != nil {
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
	case opKey:
		_, key := args.Uint(), args.Bytes()
		c.touched[c.s.Hash(key)] = struct{}{}
		return args.Done()
	case opMapping:
		c.remapped = true
		_, _, err := decodeMapping(args)
		return err
	case opLibrary, opUser, opConfiguration, opMove:
		all := newTexts(op)
		_, err := all.operate(args)
		return err
	case opRestore:
		return checkRestore(c.s, args)
	}
	return nil
}

func checkRestore(s *Store, args *structures.Args) error {
	kind, _, head := structures.Kind(args.Uint()), args.Int(), args.Bytes()
	v, err := s.decode(kind, head)
	if err != nil {
		return err
	}
	for args.Left() >= 2 {
		id, page := args.Uint(), args.Bytes()
		if err := v.SetPage(id, page); err != nil {
			return err
		}
	}
	return errors.Join(args.Done(), complete(v))
}

// heads checks each key: that it lies where its hash says, that the journal knows
// of all it holds, and that its value can be made of its head and its pages.
func (c *checker) heads(it *pebble.Iterator) error {
	s, r := c.s, &c.report
	for it.First(); it.Valid(); it.Next() {
		phys, hash, key, err := splitHeadKey(it.Key())
		if err != nil {
			r.found("%v", err)
			continue
		}
		c.progress("keys", r.heads(), 0)
		db := slices.Index(s.mapping.phys, phys)
		if db < 0 {
			r.Flushed++
			continue
		}
		c.counted(phys, hash)
		h, err := decodeHead(it.Value())
		switch {
		case err != nil:
		case s.Hash(key) != hash:
			err = errors.New("it is not where its hash says")
		case h.lsn > r.Last:
			err = fmt.Errorf("it holds record %d, but the journal ends with %d", h.lsn, r.Last)
		case !h.short:
			err = c.value(phys, hash, key, &h)
		}
		if err == nil {
			err = c.listed(phys, hash, &h)
		}
		if err != nil {
			r.found("key %.100q of database %d: %v", key, db, named(err))
		}
		r.Keys[KeyClass{db, h.kind}]++
		r.Bytes += int64(len(it.Key()) + len(it.Value()))
	}
	return nil
}

// heads is the number of heads that were counted.
func (r *Report) heads() (n int64) {
	for _, k := range r.Keys {
		n += k
	}
	return n + r.Flushed
}

func (c *checker) value(phys uint32, hash uint64, key []byte, h *head) error {
	v, err := c.s.decode(h.kind, h.payload)
	if err != nil {
		return err
	}
	if h.paged {
		if err := c.readPages(phys, hash, key, v); err != nil {
			return err
		}
	}
	return complete(v)
}

// readPages reads the pages of a value: staged ones that count instead of those that the
// next start replaces by them, and pages with the tails that it appends.
func (c *checker) readPages(phys uint32, hash uint64, key []byte, v structures.Value) error {
	if !c.staged {
		return c.s.readPages(phys, hash, key, v, 0)
	}
	low, high := appendPageKey(nil, phys, hash, key, 0), append(appendPageKey(nil, phys, hash, key, ^uint64(0)), 0)
	it, err := c.s.db.NewIter(&pebble.IterOptions{LowerBound: restage(nil, low), UpperBound: restage(nil, high)})
	if err != nil {
		return err
	}
	staged := map[uint64]bool{}
	for it.First(); it.Valid() && err == nil; it.Next() {
		id := pageID(it.Key())
		staged[id] = true
		switch b := it.Value(); {
		case !isStaged(b) || b[0] == stagedGone: // which stagedPages says
		case b[0] == stagedPage:
			err = v.SetPage(id, b[1:])
		default:
			err = c.readTailed(restage(nil, it.Key()), b, func(page []byte) error { return v.SetPage(id, page) })
		}
	}
	return errors.Join(err, it.Error(), it.Close(), c.s.readOtherPages(phys, hash, key, v, 0, staged))
}

// readTailed reads a page of which tails are staged.
func (c *checker) readTailed(pageKey, tails []byte, use func(page []byte) error) error {
	b, closer, err := c.s.db.Get(pageKey)
	if err != nil {
		return fmt.Errorf("page %x, of which tails are staged: %w", pageID(pageKey), err)
	}
	return errors.Join(use(slices.Concat(b, tails)), closer.Close())
}

// stagedPages checks pages that are staged, whether they count or not.
func (c *checker) stagedPages(it *pebble.Iterator) error {
	for it.First(); it.Valid(); it.Next() {
		k, v := it.Key(), it.Value()
		if !isPageKey(k) || !isStaged(v) {
			c.report.found("staged page of %d bytes under a key of %d", len(v), len(k))
		}
	}
	return nil
}

// counted counts a head for comparison with the number that its shard should have.
func (c *checker) counted(phys uint32, hash uint64) {
	sh := &c.s.shards[shardOf(hash)]
	if sh.counts == nil {
		sh.counts = map[uint32]int64{}
	}
	sh.counts[phys]++
}

// counts compares the numbers of keys with the heads that were found.
func (c *checker) counts(it *pebble.Iterator) error {
	for it.First(); it.Valid(); it.Next() {
		k, v := it.Key(), it.Value()
		if len(k) != countKeyFixed || len(v) != 8 {
			c.report.found("count of %d bytes", len(v))
			continue
		}
		phys, shard := binary.BigEndian.Uint32(k[groupKeyFixed:]), k[countKeyFixed-1]
		n, counts := int64(binary.LittleEndian.Uint64(v)), c.s.shards[shard].counts
		if slices.Contains(c.s.mapping.phys, phys) && n != counts[phys] {
			c.report.found("shard %d of physical database %d should have %d keys, but there are %d", shard, phys, n, counts[phys])
		}
		delete(counts, phys)
	}
	for i := range c.s.shards {
		for phys, n := range c.s.shards[i].counts {
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
		if !isPageKey(k) {
			c.report.found("page key of %d bytes", len(k))
			continue
		}
		owner = append(owner[:0], k[:len(k)-8]...)
		phys, hash, key := binary.BigEndian.Uint32(k[groupKeyFixed:]), binary.BigEndian.Uint64(k[groupKeyFixed+4:]), k[pageKeyFixed:len(k)-8]
		if !slices.Contains(c.s.mapping.phys, phys) {
			continue
		}
		b, closer, err := c.s.db.Get(appendHeadKey(nil, phys, hash, key))
		if err != nil {
			c.report.found("pages of key %.100q, which has no head: %v", key, named(err))
			continue
		}
		h, err := decodeHead(b)
		if err == nil && !h.paged {
			c.report.found("pages of key %.100q, which should have none", key)
		}
		if err := closer.Close(); err != nil {
			return err
		}
	}
	return nil
}
