package hashes

import (
	"math"

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

// fieldExpiry is the option of HGETEX and HSETEX that sets the expiry of
// fields.
type fieldExpiry struct {
	set  bool   // to ms
	ms   int64  // unix time
	bare string // PERSIST or KEEPTTL
}

// readFieldExpiry reads the option if the next argument is one; ok reports
// whether it is. bare is the option without a number that the command has.
func readFieldExpiry(c *commands.Ctx, bare string) (e fieldExpiry, ok bool) {
	u, base := commands.Milliseconds, int64(0)
	switch {
	case c.Args.Is(bare):
		return fieldExpiry{bare: bare}, true
	case c.Args.Is("EX"):
		u, base = commands.Seconds, c.Now
	case c.Args.Is("PX"):
		base = c.Now
	case c.Args.Is("EXAT"):
		u = commands.Seconds
	case c.Args.Is("PXAT"):
	default:
		return fieldExpiry{}, false
	}
	if !c.Args.More() {
		c.Args.Fail(errMissingExpiry)
	}
	return fieldExpiry{set: true, ms: c.PartDeadline(u, base)}, true
}

// hgetex looks at the type of the key before it reads its arguments, as Redis
// does.
func hgetex(c *commands.Ctx) error {
	key := c.Args.Key()
	h, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	e, _ := readFieldExpiry(c, "PERSIST")
	fields := readFields(&c.Args, errNumFields)
	if err := c.Args.Done(); err != nil {
		return err
	}
	if err := ready(c, h, 1, fields...); err != nil {
		return err
	}
	x := expirer(c, h, ch, e.ms)
	persisted, names := false, c.PartNames()
	c.Reply.Array(len(fields))
	for _, name := range fields {
		if !replyField(c, h, ok, name) {
			continue
		}
		if e.set {
			x.Expire(name)
		} else if e.bare != "" && h.Persist(ch, name) {
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

// setWhen says which fields must be there for HSETEX to set any.
type setWhen uint8

const (
	setAlways setWhen = iota
	setNew            // FNX: none of them
	setOld            // FXX: all of them
)

// fieldSetting is the arguments of HSETEX after the key.
type fieldSetting struct {
	when   setWhen
	key    setWhen // NX and XX: whether the key must be absent, or there
	expiry fieldExpiry
	pairs  [][]byte
}

func readFieldSetting(c *commands.Ctx) (s fieldSetting) {
	a := &c.Args
	expiring := false
	for a.Err() == nil {
		if e, ok := readFieldExpiry(c, "KEEPTTL"); ok {
			if expiring {
				return s.fail(a, errFieldExpiries)
			}
			s.expiry, expiring = e, true
			continue
		}
		raw := a.Peek()
		if raw == nil {
			return s.fail(a, errFieldsMissing)
		}
		switch a.Word() {
		case "FIELDS":
			s.pairs = readPairs(c)
			return s
		case "FNX":
			s.when.only(a, setNew, errFieldConditions)
		case "FXX":
			s.when.only(a, setOld, errFieldConditions)
		case "NX":
			s.key.only(a, setNew, errKeyConditions)
		case "XX":
			s.key.only(a, setOld, errKeyConditions)
		default:
			return s.fail(a, errUnknownArgument(raw))
		}
	}
	return s
}

// only takes a condition, which bad excludes if there is one already.
func (w *setWhen) only(a *commands.Args, when setWhen, bad error) {
	if *w != setAlways {
		a.Fail(bad)
	}
	*w = when
}

func (s fieldSetting) fail(a *commands.Args, err error) fieldSetting {
	a.Fail(err)
	return s
}

// readPairs reads the number of fields, and the fields and values, which end
// the call.
func readPairs(c *commands.Ctx) [][]byte {
	a := &c.Args
	if a.Left() < 3 {
		a.Fail(commands.ErrArity(c.Command))
	}
	n := a.IntIn(1, math.MaxInt32, errNumFieldsInvalid)
	if a.Err() == nil && 2*n != int64(a.Left()) {
		a.Fail(commands.ErrArity(c.Command))
	}
	return a.Rest()
}

func hsetex(c *commands.Ctx) error {
	key := c.Args.Key()
	s := readFieldSetting(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	if s.when == setOld || s.key != setAlways {
		_, _, ok, err := edit(c, key)
		if err != nil {
			return err
		}
		if !ok && (s.when == setOld || s.key == setOld) || ok && s.key == setNew {
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
	if !s.allowed(c, h) {
		c.Reply.Int(0)
		return nil
	}
	s.apply(c, key, h, ch)
	c.Reply.Int(1)
	return nil
}

func (s *fieldSetting) allowed(c *commands.Ctx, h *hash.Hash) bool {
	if s.when == setAlways {
		return true
	}
	for i := 0; i < len(s.pairs); i += 2 {
		if _, found := h.Get(s.pairs[i], c.Now); found != (s.when == setOld) {
			return false
		}
	}
	return true
}

// apply sets the fields. If the time at which they are to go has come they are
// deleted instead, which leaves the same hash.
func (s *fieldSetting) apply(c *commands.Ctx, key []byte, h *hash.Hash, ch *structures.Change) {
	x := expirer(c, h, ch, s.expiry.ms)
	past := s.expiry.set && s.expiry.ms <= c.Now
	for i := 0; i < len(s.pairs); i += 2 {
		name, value := s.pairs[i], s.pairs[i+1]
		switch {
		case past:
			h.Delete(ch, name)
			x.Deleted++
			x.Parts.Add(name)
		case s.expiry.set:
			h.SetKeepTTL(ch, name, value)
			x.Expire(name)
		case s.expiry.bare != "":
			h.SetKeepTTL(ch, name, value)
		default:
			h.Set(ch, name, value)
		}
	}
	notify(c, "hset", key, 2, s.pairs...)
	notifyExpirer(c, &x, h, key)
}
