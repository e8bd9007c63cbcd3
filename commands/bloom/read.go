package bloom

import (
	"errors"
	"fmt"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/bloom"
)

func exists(c *commands.Ctx) error {
	key, item := c.Args.Key(), c.Args.Bytes()
	if err := c.Args.Done(); err != nil {
		return err
	}
	f, err := viewAny(c, key)
	if err != nil {
		return err
	}
	c.Reply.Bool(f != nil && f.Exists(item))
	return nil
}

func mexists(c *commands.Ctx) error {
	key, items := c.Args.Key(), c.Args.Rest()
	if err := c.Args.Done(); err != nil {
		return err
	}
	f, err := viewAny(c, key)
	if err != nil {
		return err
	}
	c.Reply.Array(len(items))
	for _, item := range items {
		c.Reply.Bool(f != nil && f.Exists(item))
	}
	return nil
}

// viewAny finds a filter, nil if there is none: a key that holds something
// else has no items either.
func viewAny(c *commands.Ctx, key []byte) (*bloom.Filter, error) {
	f, ok, err := view(c, key)
	if errors.Is(err, structures.ErrWrongType) {
		return nil, nil
	}
	if !ok {
		return nil, err
	}
	return f, nil
}

func card(c *commands.Ctx) error {
	key := c.Args.Key()
	if err := c.Args.Done(); err != nil {
		return err
	}
	f, ok, err := view(c, key)
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

// infoField is a line of BF.INFO.
type infoField struct {
	word, name string
	value      func(*bloom.Info) uint64
}

func infoFields() []infoField {
	return []infoField{
		{"CAPACITY", "Capacity", func(i *bloom.Info) uint64 { return i.Capacity }},
		{"SIZE", "Size", func(i *bloom.Info) uint64 { return i.Bytes }},
		{"FILTERS", "Number of filters", func(i *bloom.Info) uint64 { return uint64(i.Layers) }},
		{"ITEMS", "Number of items inserted", func(i *bloom.Info) uint64 { return i.Items }},
		{"EXPANSION", "Expansion rate", func(i *bloom.Info) uint64 { return uint64(i.Expansion) }},
	}
}

func info(c *commands.Ctx) error {
	key := c.Args.Key()
	if c.Args.Left() > 1 {
		return commands.ErrArity(c.Command)
	}
	word := c.Args.Rest()
	f, err := viewExisting(c, key)
	if err != nil {
		return err
	}
	info, fields := f.Info(), infoFields()
	if len(word) == 0 {
		c.Reply.Map(len(fields))
		for i := range fields {
			c.Reply.Status(fields[i].name)
			replyField(c, &fields[i], &info)
		}
		return nil
	}
	for i := range fields {
		if commands.EqualFold(word[0], fields[i].word) {
			replyOneField(c, &fields[i], &info)
			return nil
		}
	}
	return errInfo
}

// replyOneField writes a value alone, or with its name if the protocol has
// maps.
func replyOneField(c *commands.Ctx, f *infoField, info *bloom.Info) {
	if c.Reply.Proto() == 3 {
		c.Reply.Map(1)
		c.Reply.Status(f.name)
	} else {
		c.Reply.Array(1)
	}
	replyField(c, f, info)
}

func replyField(c *commands.Ctx, f *infoField, info *bloom.Info) {
	if info.Fixed && f.word == "EXPANSION" {
		c.Reply.Null()
		return
	}
	c.Reply.Int(int64(f.value(info)))
}

// debug writes a text for the filter and one for each layer.
func debug(c *commands.Ctx) error {
	f, err := viewExisting(c, c.Args.Key())
	if err != nil {
		return err
	}
	layers := f.Layers()
	c.Reply.Array(1 + len(layers))
	c.Reply.BulkString(fmt.Sprintf("size:%d", f.Card()))
	for _, l := range layers {
		c.Reply.BulkString(fmt.Sprintf("bytes:%d bits:%d hashes:%d hashwidth:%d capacity:%d size:%d ratio:%.6g",
			l.Bytes, l.Bits, l.Hashes, l.HashWidth, l.Capacity, l.Items, l.Error))
	}
	return nil
}

func scanDump(c *commands.Ctx) error {
	key, arg := c.Args.Key(), c.Args.Bytes()
	if err := c.Args.Done(); err != nil {
		return err
	}
	f, err := viewExisting(c, key)
	if err != nil {
		return err
	}
	iter, ok := commands.ParseInt(arg)
	if !ok {
		return errScanIterator
	}
	forks, _ := commands.Fork(c, f)
	reply := func() {
		next, data := forks[0].DumpChunk(nil, iter)
		c.Reply.Array(2)
		c.Reply.Int(next)
		c.Reply.Bulk(data)
	}
	if forks[0] == f {
		reply()
	} else {
		c.Later(reply)
	}
	return nil
}

func loadChunk(c *commands.Ctx) error {
	key, iter, data := c.Args.Key(), c.Args.IntOr(errLoadIterator), c.Args.Bytes()
	if err := c.Args.Done(); err != nil {
		return err
	}
	f, ch, ok, err := persistence.Edit[*bloom.Filter](c.Tx, key, nil)
	switch {
	case err != nil:
		return err
	case ok:
		err = f.LoadChunk(ch, iter, data)
	case iter == 1:
		f = bloom.New()
		if err = f.LoadHeader(nil, data, c.Host.Limits().ModuleMemory()); err == nil {
			err = commands.Store(c, key, f)
		}
	default:
		return errNotFound
	}
	c.Reply.OK()
	if errors.Is(err, bloom.ErrUnread) {
		return c.Tx.Err()
	}
	return loadError(err)
}

// loadError is the error text for a part of a dump that cannot be loaded.
func loadError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bloom.ErrNoLayer):
		return errOffset
	case errors.Is(err, bloom.ErrChunkTooBig):
		return errChunk
	}
	return errBadData
}
