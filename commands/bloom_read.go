package commands

import (
	"errors"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

func bfExists(c *Ctx) error {
	key, item := c.Args.Key(), c.Args.Bytes()
	if err := c.Args.Done(); err != nil {
		return err
	}
	f, err := anyBloom(c, key)
	if err != nil {
		return err
	}
	c.Reply.Bool(f != nil && f.Exists(item))
	return nil
}

func bfMExists(c *Ctx) error {
	key, items := c.Args.Key(), c.Args.Rest()
	if err := c.Args.Done(); err != nil {
		return err
	}
	f, err := anyBloom(c, key)
	if err != nil {
		return err
	}
	c.Reply.Array(len(items))
	for _, item := range items {
		c.Reply.Bool(f != nil && f.Exists(item))
	}
	return nil
}

// anyBloom finds a filter, nil if there is none: a key that holds something
// else has no items either.
func anyBloom(c *Ctx, key []byte) (*structures.Bloom, error) {
	f, ok, err := viewBloom(c, key)
	if errors.Is(err, structures.ErrWrongType) {
		return nil, nil
	}
	if !ok {
		return nil, err
	}
	return f, nil
}

func bfCard(c *Ctx) error {
	key := c.Args.Key()
	if err := c.Args.Done(); err != nil {
		return err
	}
	f, ok, err := viewBloom(c, key)
	switch {
	case err != nil:
		return err
	case ok:
		c.Reply.Int(int64(f.Card()))
	default:
		c.Reply.Int(0)
	}
	return nil
}

// bloomField is a line of BF.INFO.
type bloomField struct {
	word, name string
	value      func(*structures.BloomInfo) uint64
}

func bloomFields() []bloomField {
	return []bloomField{
		{"CAPACITY", "Capacity", func(i *structures.BloomInfo) uint64 { return i.Capacity }},
		{"SIZE", "Size", func(i *structures.BloomInfo) uint64 { return i.Bytes }},
		{"FILTERS", "Number of filters", func(i *structures.BloomInfo) uint64 { return uint64(i.Layers) }},
		{"ITEMS", "Number of items inserted", func(i *structures.BloomInfo) uint64 { return i.Items }},
		{"EXPANSION", "Expansion rate", func(i *structures.BloomInfo) uint64 { return uint64(i.Expansion) }},
	}
}

func bfInfo(c *Ctx) error {
	key := c.Args.Key()
	if c.Args.Left() > 1 {
		return ErrArity(c.Command)
	}
	word := c.Args.Rest()
	f, err := needBloom(c, key)
	if err != nil {
		return err
	}
	info, fields := f.Info(), bloomFields()
	if len(word) == 0 {
		c.Reply.Map(len(fields))
		for i := range fields {
			c.Reply.Status(fields[i].name)
			replyBloomField(c, &fields[i], &info)
		}
		return nil
	}
	for i := range fields {
		if EqualFold(word[0], fields[i].word) {
			replyOneBloomField(c, &fields[i], &info)
			return nil
		}
	}
	return ErrBloomInfo
}

// replyOneBloomField answers a value alone: its name is beside it only where
// there are maps.
func replyOneBloomField(c *Ctx, f *bloomField, info *structures.BloomInfo) {
	if c.Reply.Proto() == 3 {
		c.Reply.Map(1)
		c.Reply.Status(f.name)
	} else {
		c.Reply.Array(1)
	}
	replyBloomField(c, f, info)
}

func replyBloomField(c *Ctx, f *bloomField, info *structures.BloomInfo) {
	if info.Fixed && f.word == "EXPANSION" {
		c.Reply.Null()
		return
	}
	c.Reply.Int(int64(f.value(info)))
}

func bfScanDump(c *Ctx) error {
	key, arg := c.Args.Key(), c.Args.Bytes()
	if err := c.Args.Done(); err != nil {
		return err
	}
	f, err := needBloom(c, key)
	if err != nil {
		return err
	}
	iter, ok := ParseInt(arg)
	if !ok {
		return ErrBloomScanIterator
	}
	next, data := f.DumpChunk(nil, iter)
	c.Reply.Array(2)
	c.Reply.Int(next)
	c.Reply.Bulk(data)
	return nil
}

func bfLoadChunk(c *Ctx) error {
	key, iter, data := c.Args.Key(), c.Args.IntOr(ErrBloomLoadIterator), c.Args.Bytes()
	if err := c.Args.Done(); err != nil {
		return err
	}
	f, ch, ok, err := persistence.Edit[*structures.Bloom](c.Tx, key, nil)
	switch {
	case err != nil:
		return err
	case ok:
		err = f.LoadChunk(ch, iter, data)
	case iter == 1:
		f = structures.NewBloom()
		if err = f.LoadHeader(nil, data, bloomLimit(c)); err == nil {
			c.NotifyNew(key)
			persistence.Replace(c.Tx, key, f, persistence.NoExpiry)
		}
	default:
		return ErrBloomNotFound
	}
	c.Reply.OK()
	return loadError(err)
}

// loadError words why a piece of a dump cannot be taken.
func loadError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, structures.ErrBloomNoLayer):
		return ErrBloomOffset
	case errors.Is(err, structures.ErrBloomChunkTooBig):
		return ErrBloomChunk
	}
	return ErrBloomBadData
}
