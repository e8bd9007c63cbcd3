package cuckoo

import (
	"errors"
	"fmt"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/cuckoo"
)

// viewAny finds a filter, nil if there is none: a key that holds something
// else has no items either.
func viewAny(c *commands.Ctx, key []byte) (*cuckoo.Filter, error) {
	f, ok, err := commands.View[*cuckoo.Filter](c, key)
	if errors.Is(err, structures.ErrWrongType) {
		return nil, nil
	}
	if !ok {
		return nil, err
	}
	return f, nil
}

// viewExisting finds a filter for commands to which a missing key is an error.
func viewExisting(c *commands.Ctx, key []byte) (*cuckoo.Filter, error) {
	return commands.ViewExisting[*cuckoo.Filter](c, key, errNotFound)
}

func exists(c *commands.Ctx) error {
	key, items := c.Args.Key(), c.Args.Rest()
	f, err := viewAny(c, key)
	if err != nil {
		return err
	}
	if c.Command.Arity < 0 {
		c.Reply.Array(len(items))
	}
	for _, item := range items {
		c.Reply.Bool(f != nil && f.Exists(item))
	}
	return nil
}

func count(c *commands.Ctx) error {
	key, item := c.Args.Key(), c.Args.Bytes()
	f, err := viewAny(c, key)
	if err != nil {
		return err
	}
	n := uint64(0)
	if f != nil {
		n = f.Count(item)
	}
	c.Reply.Int(int64(n))
	return nil
}

func info(c *commands.Ctx) error {
	f, err := viewExisting(c, c.Args.Key())
	if err != nil {
		return err
	}
	i := f.Info()
	fields := [...]struct {
		name  string
		value uint64
	}{
		{"Size", i.Bytes}, {"Number of buckets", i.Buckets}, {"Number of filters", uint64(i.Filters)}, {"Number of items inserted", i.Items},
		{"Number of items deleted", i.Deletes}, {"Bucket size", i.BucketSize}, {"Expansion rate", i.Expansion}, {"Max iterations", i.Iterations},
	}
	c.Reply.Map(len(fields))
	for _, field := range fields {
		c.Reply.Status(field.name)
		c.Reply.Int(int64(field.value))
	}
	return nil
}

func debug(c *commands.Ctx) error {
	f, err := viewExisting(c, c.Args.Key())
	if err != nil {
		return err
	}
	i := f.Info()
	c.Reply.BulkString(fmt.Sprintf("bktsize:%d buckets:%d items:%d deletes:%d filters:%d max_iterations:%d expansion:%d",
		i.BucketSize, i.Buckets, i.Items, i.Deletes, i.Filters, i.Iterations, i.Expansion))
	return nil
}

func scanDump(c *commands.Ctx) error {
	key := c.Args.Key()
	iter, ok := commands.ParseInt(c.Args.Bytes())
	if !ok || iter < 0 {
		return errPosition
	}
	f, err := viewExisting(c, key)
	if err != nil {
		return err
	}
	next, data := f.DumpChunk(nil, iter)
	c.Reply.Array(2)
	c.Reply.Int(next)
	if next == 0 {
		c.Reply.Null()
	} else {
		c.Reply.Bulk(data)
	}
	return nil
}

func loadChunk(c *commands.Ctx) error {
	key := c.Args.Key()
	iter, ok := commands.ParseInt(c.Args.Bytes())
	data := c.Args.Bytes()
	if !ok || iter == 0 {
		return errPosition
	}
	f, ch, ok, err := persistence.Edit[*cuckoo.Filter](c.Tx, key, nil)
	switch {
	case err != nil:
		return err
	case iter == 1 && ok:
		return errExists
	case iter == 1:
		return loadHeader(c, key, data)
	case !ok:
		return errNotFound
	}
	if f.LoadChunk(ch, iter, data) != nil {
		if err := c.Tx.Err(); err != nil {
			return err
		}
		return errChunk
	}
	c.Reply.OK()
	return nil
}

// loadHeader makes a filter with the sub-filters of a header.
func loadHeader(c *commands.Ctx, key, header []byte) error {
	if len(header) != cuckoo.HeaderLen {
		return errHeader
	}
	f := cuckoo.New()
	if f.LoadHeader(nil, header, c.Host.Limits().ModuleMemory()) != nil {
		return errHeaderValues
	}
	if err := commands.Store(c, key, f); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}
