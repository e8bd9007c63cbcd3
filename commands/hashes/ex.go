package hashes

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
)

func fieldExRows() []commands.Command {
	const (
		expiry = "EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds"
		cost   = "O(n) for n fields"
	)
	return []commands.Command{
		{Name: "HGETDEL", Arity: -5, Flags: commands.Write | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Delete)},
			Syntax: "key FIELDS numfields field [field ...]", Since: "8.0.0", Cost: cost,
			Summary: "Returns the values of fields and removes the fields.", Run: hgetdel},
		{Name: "HGETEX", Arity: -5, Flags: commands.Write | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Update)},
			Syntax: "key [" + expiry + " | PERSIST] FIELDS numfields field [field ...]", Since: "8.0.0", Cost: cost,
			Summary: "Returns the values of fields and changes the expiry of the fields.", Run: hgetex},
		{Name: "HSETEX", Arity: -6, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Update)},
			Syntax: "key [NX | XX] [FNX | FXX] [" + expiry + " | KEEPTTL] FIELDS numfields field value [field value ...]",
			Since:  "8.0.0", Cost: cost,
			Summary: "Sets fields and their expiry, on request only if all of them exist or none does.", Run: hsetex},
	}
}

func hgetdel(c *commands.Ctx) error {
	key := c.Args.Key()
	h, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	fields := readFields(&c.Args, errNumFields)
	if err := c.Args.Done(); err != nil {
		return err
	}
	if err := ready(c, h, 1, fields...); err != nil {
		return err
	}
	deleted, names := false, c.PartNames()
	c.Reply.Array(len(fields))
	for _, name := range fields {
		if replyField(c, h, ok, name) {
			h.Delete(ch, name)
			deleted = true
			names.Add(name)
		}
	}
	if deleted {
		c.NotifyParts(commands.EventHash, "hdel", key, &names)
		notifyEmptied(c, h, key)
	}
	return nil
}

// hgetex looks at the type of the key before it reads its arguments, as Redis
// does.
func hgetex(c *commands.Ctx) error {
	key := c.Args.Key()
	h, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	e := commands.PartExpiry{Bare: "PERSIST"}
	read := placed(1, errNumFields)
	fields := read.Read(&c.Args, func(word string) bool { return e.Option(c, word) })
	if err := c.Args.Done(); err != nil {
		return err
	}
	if err := ready(c, h, 1, fields...); err != nil {
		return err
	}
	x := expirer(c, h, ch, e.Millis)
	persisted, names := false, c.PartNames()
	c.Reply.Array(len(fields))
	for _, name := range fields {
		if !replyField(c, h, ok, name) {
			continue
		}
		if e.Set {
			x.Expire(name)
		} else if e.Plain && h.Persist(ch, name) {
			persisted = true
			names.Add(name)
		}
	}
	if persisted {
		c.NotifyParts(commands.EventHash, "hpersist", key, &names)
	}
	notifyExpirer(c, &x, h, key)
	return nil
}

// fieldSetting is the arguments of HSETEX after the key.
type fieldSetting struct {
	when   commands.PartsWhen // FNX and FXX
	key    commands.PartsWhen // NX and XX: whether the key must be absent, or there
	expiry commands.PartExpiry
	pairs  [][]byte
}

func readFieldSetting(c *commands.Ctx) fieldSetting {
	a := &c.Args
	s := fieldSetting{expiry: commands.PartExpiry{Bare: "KEEPTTL"}}
	read, arity := placed(2, errNumFieldsInvalid), commands.ErrArity(c.Command)
	read.Least, read.None, read.Few = 3, arity, arity
	read.Unknown = func(word []byte, named bool) error {
		if named {
			return arity
		}
		return commands.ErrUnknownArgument(word)
	}
	s.pairs = read.Read(a, func(word string) bool {
		switch word {
		case "FNX":
			s.when.Only(a, commands.PartsNew, errFieldConditions)
		case "FXX":
			s.when.Only(a, commands.PartsOld, errFieldConditions)
		case "NX":
			s.key.Only(a, commands.PartsNew, errKeyConditions)
		case "XX":
			s.key.Only(a, commands.PartsOld, errKeyConditions)
		default:
			return s.expiry.Option(c, word)
		}
		return true
	})
	return s
}

func hsetex(c *commands.Ctx) error {
	key := c.Args.Key()
	s := readFieldSetting(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	if s.when == commands.PartsOld || s.key != commands.PartsAlways {
		_, _, ok, err := edit(c, key)
		if err != nil {
			return err
		}
		if !ok && (s.when == commands.PartsOld || s.key == commands.PartsOld) || ok && s.key == commands.PartsNew {
			c.Reply.Int(0)
			return nil
		}
	}
	h, ch, err := editOrCreate(c, key)
	if err != nil {
		return err
	}
	if err := ready(c, h, 2, s.pairs...); err != nil {
		return err
	}
	there := func(field []byte) bool {
		_, found := h.Get(field, c.Now)
		return found
	}
	if !s.when.Allows(s.pairs, 2, there) {
		c.Reply.Int(0)
		return nil
	}
	s.apply(c, key, h, ch)
	c.Reply.Int(1)
	return nil
}

// apply sets the fields. If the time at which they are to go has come they are
// deleted instead, which leaves the same hash.
func (s *fieldSetting) apply(c *commands.Ctx, key []byte, h *hash.Hash, ch *structures.Change) {
	x := expirer(c, h, ch, s.expiry.Millis)
	past := s.expiry.Set && s.expiry.Millis <= c.Now
	for i := 0; i < len(s.pairs); i += 2 {
		name, value := s.pairs[i], s.pairs[i+1]
		switch {
		case past:
			h.Delete(ch, name)
			x.Deleted++
			x.Parts.Add(name)
		case s.expiry.Set:
			h.SetKeepTTL(ch, name, value)
			x.Expire(name)
		case s.expiry.Plain:
			h.SetKeepTTL(ch, name, value)
		default:
			h.Set(ch, name, value)
		}
	}
	notify(c, "hset", key, 2, s.pairs...)
	notifyExpirer(c, &x, h, key)
}
