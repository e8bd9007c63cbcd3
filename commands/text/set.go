package text

import (
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/text"
)

// setAccess is what a SET does to its key. With GET, or with a condition on the value,
// it tells the client something of the old one.
func setAccess(argv [][]byte) commands.KeyFlag {
	for _, a := range argv[min(3, len(argv)):] {
		if commands.EqualFold(a, "GET") || len(a) > 2 && commands.EqualFold(a[:2], "IF") {
			return commands.RW | commands.Access | commands.Update
		}
	}
	return commands.OW | commands.Update
}

func writeRows() []commands.Command {
	return []commands.Command{
		{Name: "SET", Arity: -3, Flags: commands.Write | commands.DenyOOM,
			Keys:   []commands.KeySpec{{Begin: 1, Step: 1, Flags: commands.RW | commands.Access | commands.Update | commands.VariableKeys, Vary: setAccess}},
			Syntax: "key value [NX|XX|IFEQ value|IFNE value|IFDEQ digest|IFDNE digest] [GET] [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT unix-time-milliseconds|KEEPTTL]",
			Since:  "1.0.0", Cost: "O(1)", Summary: "Stores a string under a key, replacing any existing value.", Run: set},
		{Name: "SETNX", Arity: 3, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.OW|commands.Insert)}, Syntax: "key value",
			Since: "1.0.0", Cost: "O(1)", Summary: "Stores a string if the key does not exist.", Run: setnx},
		{Name: "SETEX", Arity: 4, Flags: commands.Write | commands.DenyOOM, Keys: []commands.KeySpec{commands.Key(1, commands.OW|commands.Update)}, Syntax: "key seconds value",
			Since: "2.0.0", Cost: "O(1)", Summary: "Stores a string that expires after a number of seconds.", Run: setex},
		{Name: "PSETEX", Arity: 4, Flags: commands.Write | commands.DenyOOM, Keys: []commands.KeySpec{commands.Key(1, commands.OW|commands.Update)}, Syntax: "key milliseconds value",
			Since: "2.6.0", Cost: "O(1)", Summary: "Stores a string that expires after a number of milliseconds.", Run: psetex},
		{Name: "GETSET", Arity: 3, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Update)}, Syntax: "key value",
			Since: "1.0.0", Cost: "O(1)", Summary: "Stores a string and returns the previous one.", Run: getset},
		{Name: "GETDEL", Arity: 2, Flags: commands.Write | commands.Fast | commands.Frees, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Delete)}, Syntax: "key",
			Since: "6.2.0", Cost: "O(1)", Summary: "Returns the string at a key and deletes the key.", Run: getdel},
		{Name: "GETEX", Arity: -2, Flags: commands.Write | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Update)},
			Syntax: "key [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT unix-time-milliseconds|PERSIST]",
			Since:  "6.2.0", Cost: "O(1)", Summary: "Returns the string at a key and changes its expiry.", Run: getex},
		{Name: "APPEND", Arity: 3, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Insert)}, Syntax: "key value",
			Since: "2.0.0", Cost: "O(n) for n bytes appended", Summary: "Appends to a string, creating it if needed.", Run: appendString},
		{Name: "SETRANGE", Arity: 4, Flags: commands.Write | commands.DenyOOM, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Update)}, Syntax: "key offset value",
			Since: "2.2.0", Cost: "O(n) for n bytes written, and for zeros that fill a gap",
			Summary: "Overwrites a part of a string, lengthening it if needed.", Run: setrange},
	}
}

// when is the option of SET and GETEX that says how long the key lives. They
// exclude each other; one may be given twice, and the last counts.
type when uint8

const (
	whenUnsaid when = iota
	whenEX
	whenPX
	whenEXAT
	whenPXAT
	whenKeep
	whenPersist
)

// expiryOption is such an option and its number, which is read only later:
// errors of syntax come before it, and for GETEX a missing key too.
type expiryOption struct {
	when   when
	number []byte
}

// read takes the option that begins with word; false if it is none that allowed
// has, or contradicts an earlier one.
func (o *expiryOption) read(a *commands.Args, word string, keep when) bool {
	var w when
	switch word {
	case "EX":
		w = whenEX
	case "PX":
		w = whenPX
	case "EXAT":
		w = whenEXAT
	case "PXAT":
		w = whenPXAT
	case "KEEPTTL":
		w = whenKeep
	case "PERSIST":
		w = whenPersist
	default:
		return false
	}
	if w >= whenKeep && w != keep || o.when != whenUnsaid && o.when != w {
		return false
	}
	o.when = w
	if w < whenKeep {
		o.number = a.Bytes()
	}
	return true
}

// expiry is what the option asks for.
func (o *expiryOption) expiry(c *commands.Ctx) (persistence.Expiry, error) {
	switch o.when {
	case whenUnsaid, whenPersist:
		return persistence.NoExpiry, nil
	case whenKeep:
		return persistence.KeepExpiry, nil
	}
	v, ok := commands.ParseInt(o.number)
	if !ok {
		return 0, commands.ErrNotInteger
	}
	if v <= 0 {
		return 0, commands.ErrInvalidExpire(c.Command)
	}
	if o.when == whenEX || o.when == whenEXAT {
		if v > math.MaxInt64/1000 {
			return 0, commands.ErrInvalidExpire(c.Command)
		}
		v *= 1000
	}
	if o.when == whenEX || o.when == whenPX {
		if v > math.MaxInt64-c.Now {
			return 0, commands.ErrInvalidExpire(c.Command)
		}
		v += c.Now
	}
	return persistence.Expiry(v), nil
}

// setOptions are the options of SET.
type setOptions struct {
	cond      condition
	compare   comparison
	answerOld bool
	ttl       expiryOption
}

func (o *setOptions) read(a *commands.Args) {
	for a.More() {
		switch word := a.Word(); {
		case word == "NX" && (o.cond == always || o.cond == ifAbsent):
			o.cond = ifAbsent
		case word == "XX" && (o.cond == always || o.cond == ifPresent):
			o.cond = ifPresent
		case o.cond == always && o.compare.read(a, word): // once, unlike the others
			o.cond = ifCompares
		case word == "GET":
			o.answerOld = true
		case !o.ttl.read(a, word, whenKeep):
			a.Syntax()
		}
	}
}

func set(c *commands.Ctx) error {
	key, value := c.Args.Key(), c.Args.Bytes()
	var o setOptions
	o.read(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	e, err := o.ttl.expiry(c)
	if err != nil {
		return err
	}
	if o.answerOld {
		if err := replyString(c, key); err != nil {
			return err
		}
	}
	done := true
	if o.cond == ifCompares {
		o.cond = always
		if done, err = o.compare.holds(c, key); err != nil {
			return err
		}
	}
	done = done && store(c, key, value, o.cond, e)
	switch {
	case o.answerOld:
	case done:
		c.Reply.OK()
	default:
		c.Reply.Null()
	}
	return nil
}

// longArgument is the length from which on a value is taken over rather than copied.
const longArgument = 64 << 10

// store sets key if the condition holds and reports whether it did.
func store(c *commands.Ctx, key, value []byte, cond condition, e persistence.Expiry) bool {
	if cond != always && (c.Tx.Kind(key) == structures.KindNone) != (cond == ifAbsent) {
		return false
	}
	c.NotifyReplaced(key, structures.KindString)
	if len(value) >= longArgument && c.Take != nil && c.Take(value) {
		c.Tx.GiveString(key, value, e)
	} else {
		c.Tx.SetString(key, value, e)
	}
	c.Notify(commands.EventString, "set", key)
	if e > 0 {
		c.Notify(commands.EventGeneric, "expire", key)
	}
	return true
}

func setnx(c *commands.Ctx) error {
	key, value := c.Args.Key(), c.Args.Bytes()
	if err := c.Args.Done(); err != nil {
		return err
	}
	c.Reply.IntBool(store(c, key, value, ifAbsent, persistence.NoExpiry))
	return nil
}

func setex(c *commands.Ctx) error  { return setFor(c, whenEX) }
func psetex(c *commands.Ctx) error { return setFor(c, whenPX) }

func setFor(c *commands.Ctx, unit when) error {
	key, ttl, value := c.Args.Key(), expiryOption{unit, c.Args.Bytes()}, c.Args.Bytes()
	if err := c.Args.Done(); err != nil {
		return err
	}
	e, err := ttl.expiry(c)
	if err != nil {
		return err
	}
	store(c, key, value, always, e)
	c.Reply.OK()
	return nil
}

func getset(c *commands.Ctx) error {
	key, value := c.Args.Key(), c.Args.Bytes()
	if err := c.Args.Done(); err != nil {
		return err
	}
	if err := replyString(c, key); err != nil {
		return err
	}
	store(c, key, value, always, persistence.NoExpiry)
	return nil
}

func getdel(c *commands.Ctx) error {
	key := c.Args.Key()
	if err := c.Args.Done(); err != nil {
		return err
	}
	if err := replyString(c, key); err != nil {
		return err
	}
	if c.Tx.Delete(key) {
		c.Notify(commands.EventGeneric, "del", key)
	}
	return nil
}

func getex(c *commands.Ctx) error {
	key := c.Args.Key()
	var ttl expiryOption
	for c.Args.More() {
		if !ttl.read(&c.Args, c.Args.Word(), whenPersist) {
			c.Args.Syntax()
		}
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	b, ok, err := c.ViewString(key)
	if err != nil {
		return err
	}
	if !ok {
		c.Reply.Null()
		return nil
	}
	e, err := ttl.expiry(c)
	if err != nil {
		return err
	}
	c.Reply.Bulk(b)
	changeExpiry(c, key, ttl.when, e)
	return nil
}

// changeExpiry does what GETEX asks for to a key that exists.
func changeExpiry(c *commands.Ctx, key []byte, w when, e persistence.Expiry) {
	switch {
	case w == whenPersist:
		if c.Tx.Persist(key) {
			c.Notify(commands.EventGeneric, "persist", key)
		}
	case e > 0 && c.Past(int64(e)): // EXAT and PXAT of a time that has come
		c.Tx.Delete(key)
		c.Notify(commands.EventGeneric, "del", key)
	case e > 0:
		c.Tx.SetExpire(key, int64(e))
		c.Notify(commands.EventGeneric, "expire", key)
	}
}

// fits reports whether n bytes at offset off, neither negative, make a string
// that is not too long.
func fits(c *commands.Ctx, off int64, n int) bool {
	limit := min(c.Host.Limits().MaxBulk, text.MaxStringLen)
	return off <= limit && int64(n) <= limit-off
}

func appendString(c *commands.Ctx) error {
	key, value := c.Args.Key(), c.Args.Bytes()
	if err := c.Args.Done(); err != nil {
		return err
	}
	old, _, err := c.Tx.String(key)
	if err != nil {
		return err
	}
	n := len(old)
	if !fits(c, int64(n), len(value)) {
		return errTooLong
	}
	c.NotifyNew(key)
	if err := c.Tx.PatchString(key, n, value); err != nil {
		return err
	}
	c.Notify(commands.EventString, "append", key)
	c.Reply.Int(int64(n + len(value)))
	return nil
}

func setrange(c *commands.Ctx) error {
	key, off, value := c.Args.Key(), c.Args.Int(), c.Args.Bytes()
	if c.Args.Err() == nil && off < 0 {
		c.Args.Fail(errOffsetRange)
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	old, _, err := c.Tx.String(key)
	if err != nil {
		return err
	}
	n := int64(len(old))
	if len(value) == 0 {
		c.Reply.Int(n) // writing nothing changes nothing, not even the length
		return nil
	}
	if !fits(c, off, len(value)) {
		return errTooLong
	}
	c.NotifyNew(key)
	if err := c.Tx.PatchString(key, int(off), value); err != nil {
		return err
	}
	c.Notify(commands.EventString, "setrange", key)
	c.Reply.Int(max(n, off+int64(len(value))))
	return nil
}
