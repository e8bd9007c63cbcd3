package streams

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/stream"
)

func groupRows() []commands.Command {
	keys := func(f commands.KeyFlag) []commands.KeySpec { return []commands.KeySpec{commands.Key(2, commands.RW|f)} }
	return []commands.Command{
		{Name: "XGROUP", Arity: -2, Since: "5.0.0", Cost: "Depends on subcommand.",
			Summary: "Groups the commands about consumer groups."},
		{Name: "XGROUP CREATE", Arity: -5, Flags: commands.Write | commands.DenyOOM, Keys: keys(commands.Insert),
			Syntax: "key group <id | $> [MKSTREAM] [ENTRIESREAD entries-read]", Types: groupTypes, Since: "5.0.0", Cost: "O(1)",
			Summary: "Creates a consumer group, which starts after a given ID.", Run: xgroupCreate},
		{Name: "XGROUP SETID", Arity: -5, Flags: commands.Write, Keys: keys(commands.Update),
			Syntax: "key group <id | $> [ENTRIESREAD entries-read]", Types: groupTypes, Since: "5.0.0", Cost: "O(1)",
			Summary: "Sets the ID after which a group continues.", Run: xgroupSetID},
		{Name: "XGROUP DESTROY", Arity: 4, Flags: commands.Write, Keys: keys(commands.Delete),
			Syntax: "key group", Since: "5.0.0", Cost: "O(n) for n pending entries of the group",
			Summary: "Removes a consumer group.", Run: xgroupDestroy},
		{Name: "XGROUP CREATECONSUMER", Arity: 5, Flags: commands.Write | commands.DenyOOM, Keys: keys(commands.Insert),
			Syntax: "key group consumer", Since: "6.2.0", Cost: "O(1)",
			Summary: "Creates a consumer of a group.", Run: xgroupCreateConsumer},
		{Name: "XGROUP DELCONSUMER", Arity: 5, Flags: commands.Write, Keys: keys(commands.Delete),
			Syntax: "key group consumer", Since: "5.0.0", Cost: "O(n) for n pending entries of the consumer",
			Summary: "Removes a consumer of a group, together with its pending entries.", Run: xgroupDelConsumer},
		commands.Help("XGROUP", "5.0.0", commands.Loading|commands.Stale),
	}
}

var groupTypes = commands.Types{"entries-read": commands.ArgInteger}

// groupOptions are the options of XGROUP CREATE and SETID.
type groupOptions struct {
	mkStream bool
	read     int64
}

func readGroupOptions(c *commands.Ctx, create bool) groupOptions {
	o := groupOptions{read: stream.Unknown}
	for a := &c.Args; a.More(); {
		switch {
		case create && a.Is("MKSTREAM"):
			o.mkStream = true
		case a.Left() >= 2 && a.Is("ENTRIESREAD"):
			if o.read = a.Int(); o.read < stream.Unknown {
				a.Fail(errEntriesRead)
			}
		default:
			a.Fail(commands.ErrSubcommandArity(c))
		}
	}
	return o
}

// startID returns the ID that an argument names; $ is the last one of the stream,
// which may be nil.
func startID(b []byte, s *stream.Stream, strict bool) (stream.ID, error) {
	if len(b) == 1 && b[0] == '$' {
		if s == nil {
			return stream.ID{}, nil
		}
		return s.Last(), nil
	}
	if !strict {
		end := bound{}
		if len(b) > 0 && b[0] == '(' {
			return stream.ID{}, errID
		}
		return end.parse(b)
	}
	id, ok := parseID(b, 0)
	if !ok {
		return id, errID
	}
	return id, nil
}

func xgroupCreate(c *commands.Ctx) error {
	key, name, start := c.Args.Key(), c.Args.Bytes(), c.Args.Bytes()
	o := readGroupOptions(c, true)
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	if !ok && !o.mkStream {
		return errGroupKey
	}
	id, err := startID(start, s, true)
	if err != nil {
		return err
	}
	if !ok {
		if s, ch, err = create(c, key); err != nil {
			return err
		}
	}
	if s.Group(name) != nil {
		return errBusyGroup
	}
	if s.CreateGroup(ch, name, id, o.read) == nil {
		return errManyGroups
	}
	c.Notify(commands.EventStream, "xgroup-create", key)
	c.Reply.OK()
	return nil
}

// editGroup finds a group to change; both it and its key must exist.
func editGroup(c *commands.Ctx, key, name []byte) (*stream.Stream, *stream.Group, *structures.Change, error) {
	s, ch, ok, err := edit(c, key)
	if err == nil && !ok {
		err = errGroupKey
	}
	if err != nil {
		return nil, nil, nil, err
	}
	g := s.Group(name)
	if g == nil {
		return nil, nil, nil, errNoGroupOf(key, name)
	}
	return s, g, ch, nil
}

func xgroupSetID(c *commands.Ctx) error {
	key, name, start := c.Args.Key(), c.Args.Bytes(), c.Args.Bytes()
	o := readGroupOptions(c, false)
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, g, ch, err := editGroup(c, key, name)
	if err != nil {
		return err
	}
	id, err := startID(start, s, false)
	if err != nil {
		return err
	}
	g.SetID(ch, id, o.read)
	c.Notify(commands.EventStream, "xgroup-setid", key)
	c.Reply.OK()
	return nil
}

func xgroupDestroy(c *commands.Ctx) error {
	key, name := c.Args.Key(), c.Args.Bytes()
	s, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	if !ok {
		return errGroupKey
	}
	removed := s.DestroyGroup(ch, name)
	if removed {
		c.Notify(commands.EventStream, "xgroup-destroy", key)
	}
	c.Reply.IntBool(removed)
	return nil
}

func xgroupCreateConsumer(c *commands.Ctx) error {
	key, name, consumer := c.Args.Key(), c.Args.Bytes(), c.Args.Bytes()
	_, g, ch, err := editGroup(c, key, name)
	if err != nil {
		return err
	}
	missing := g.Consumer(consumer) == nil
	if missing {
		createConsumer(c, key, g, ch, consumer)
	}
	c.Reply.IntBool(missing)
	return nil
}

// createConsumer creates a consumer that is missing.
func createConsumer(c *commands.Ctx, key []byte, g *stream.Group, ch *structures.Change, name []byte) *stream.Consumer {
	consumer := g.CreateConsumer(ch, name, c.Now)
	c.Notify(commands.EventStream, "xgroup-createconsumer", key)
	return consumer
}

func xgroupDelConsumer(c *commands.Ctx) error {
	key, name, consumer := c.Args.Key(), c.Args.Bytes(), c.Args.Bytes()
	_, g, ch, err := editGroup(c, key, name)
	if err != nil {
		return err
	}
	forgotten, ok := g.DeleteConsumer(ch, consumer)
	if ok {
		c.Notify(commands.EventStream, "xgroup-delconsumer", key)
	}
	c.Reply.Int(int64(forgotten))
	return nil
}
