package streams

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/stream"
)

func editRows() []commands.Command {
	return []commands.Command{
		{Name: "XDEL", Arity: -3, Flags: commands.Write | commands.Fast,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Delete)},
			Syntax: "key id [id ...]", Since: "5.0.0", Cost: "O(log n) for each ID",
			Summary: "Deletes entries of a stream.", Run: xdel},
		{Name: "XDELEX", Arity: -5, Flags: commands.Write | commands.Fast,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Delete)},
			Syntax: "key [KEEPREF | DELREF | ACKED] IDS numids id [id ...]", Since: "8.2.0", Cost: "O(log n) for each ID and each group",
			Summary: "Deletes entries of a stream, and says what becomes of those that are pending.", Run: xdelex},
		{Name: "XACKDEL", Arity: -6, Flags: commands.Write | commands.Fast,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Delete)},
			Syntax: "key group [KEEPREF | DELREF | ACKED] IDS numids id [id ...]", Since: "8.2.0", Cost: "O(log n) for each ID and each group",
			Summary: "Acknowledges entries and deletes them from the stream.", Run: xackdel},
		{Name: "XSETID", Arity: -3, Flags: commands.Write | commands.DenyOOM | commands.Fast,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Update)},
			Syntax: "key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]",
			Types:  commands.Types{"entries-added": commands.ArgInteger}, Since: "5.0.0", Cost: "O(1)",
			Summary: "Sets the last ID of a stream, and its counters of earlier entries.", Run: xsetid},
	}
}

func xdel(c *commands.Ctx) error {
	key := c.Args.Key()
	s, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	if !ok {
		c.Reply.Int(0)
		return nil
	}
	var room [fewIDs]stream.ID
	ids := readIDs(&c.Args, room[:0])
	if err := c.Args.Done(); err != nil {
		return err
	}
	n := s.Delete(ch, ids)
	if n > 0 {
		c.Notify(commands.EventStream, "xdel", key)
	}
	c.Reply.Int(int64(n))
	return nil
}

// lastID is the arguments of XSETID.
type lastID struct {
	id, maxDeleted stream.ID
	added          int64 // -1: not given
}

func readLastID(a *commands.Args) lastID {
	l := lastID{id: readID(a), added: -1}
	for a.More() {
		valued := a.Left() >= 2
		switch {
		case valued && a.Is("ENTRIESADDED"):
			if l.added = a.Int(); l.added < 0 {
				a.Fail(errAddedNegative)
			}
		case valued && a.Is("MAXDELETEDID"):
			if l.maxDeleted = readID(a); l.id.Less(l.maxDeleted) {
				a.Fail(errSetIDDeleted)
			}
		default:
			a.Syntax()
		}
	}
	return l
}

func xsetid(c *commands.Ctx) error {
	key := c.Args.Key()
	l := readLastID(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ch, ok, err := edit(c, key)
	switch {
	case err != nil:
		return err
	case !ok:
		return commands.ErrNoKey
	case l.id.Less(s.MaxDeleted()):
		return errSetIDTombstone
	case s.Len() > 0 && l.id.Less(s.Newest()):
		return errSetIDSmall
	case s.Len() > 0 && l.added >= 0 && int64(s.Len()) > l.added:
		return errAddedSmall
	}
	added, deleted := s.Added(), s.MaxDeleted()
	if l.added >= 0 {
		added = uint64(l.added)
	}
	if l.maxDeleted != (stream.ID{}) {
		deleted = l.maxDeleted
	}
	s.SetID(ch, l.id, added, deleted)
	c.Notify(commands.EventStream, "xsetid", key)
	c.Reply.OK()
	return nil
}
