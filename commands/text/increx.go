package text

import (
	"math"
	"math/big"
	"strconv"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
)

// INCREX counts within limits. What is stored is always the result, so that the journal
// and replicas know nothing of limits.

func increxRows() []commands.Command {
	return []commands.Command{
		{Name: "INCREX", Arity: -2, Flags: commands.Write | commands.DenyOOM | commands.Fast,
			Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Update)},
			Syntax: "key [BYFLOAT increment | BYINT increment] [LBOUND lowerbound] [UBOUND upperbound] [SATURATE] " +
				"[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] [ENX]",
			Types: commands.Types{"increment": commands.ArgDouble, "lowerbound": commands.ArgDouble, "upperbound": commands.ArgDouble},
			Since: "8.8.0", Cost: "O(1)",
			Summary: "Adds to the number at a key within limits, and changes the expiry of the key.", Run: increx},
	}
}

// increxCall is the arguments of INCREX. The numbers are read when all of them are known:
// BYFLOAT may stand behind the limits.
type increxCall struct {
	key              []byte
	by, lower, upper []byte // nil: not given
	float            bool
	saturate         bool
	onlyNew          bool // ENX: an expiry that is there stays
	ttl              expiryOption
	expiry           persistence.Expiry
}

func readIncrex(c *commands.Ctx) (x increxCall, err error) {
	a := &c.Args
	x.key = a.Key()
	var once commands.Once
	for a.More() {
		switch word := once.Word(a); {
		case (word == "BYINT" || word == "BYFLOAT") && x.by == nil:
			x.by, x.float = a.Bytes(), word == "BYFLOAT"
		case word == "LBOUND":
			x.lower = a.Bytes()
		case word == "UBOUND":
			x.upper = a.Bytes()
		case word == "SATURATE":
			x.saturate = true
		case word == "ENX":
			x.onlyNew = true
		case !x.ttl.read(a, word, whenPersist):
			a.Syntax()
		}
	}
	switch {
	case a.Err() != nil:
		return x, a.Err()
	case x.onlyNew && x.ttl.when == whenPersist:
		return x, commands.ErrSyntax
	case x.onlyNew && x.ttl.when == whenUnsaid:
		return x, errENXAlone
	}
	x.expiry, err = x.ttl.expiry(c)
	return x, err
}

func increx(c *commands.Ctx) error {
	x, err := readIncrex(c)
	if err != nil {
		return err
	}
	if x.float {
		return x.addFloat(c)
	}
	return x.addInteger(c)
}

// integers are the numbers of a call that counts in integers.
type integers struct{ by, lower, upper int64 }

func (x *increxCall) integers() (n integers, err error) {
	n = integers{1, math.MinInt64, math.MaxInt64}
	for _, read := range []struct {
		into *int64
		text []byte
		bad  error
	}{{&n.by, x.by, errByInt}, {&n.lower, x.lower, errLowerInt}, {&n.upper, x.upper, errUpperInt}} {
		if read.text == nil {
			continue
		}
		var ok bool
		if *read.into, ok = commands.ParseInt(read.text); !ok {
			return n, read.bad
		}
	}
	if n.lower > n.upper {
		return n, errBounds
	}
	return n, nil
}

func (x *increxCall) addInteger(c *commands.Ctx) error {
	n, err := x.integers()
	if err != nil {
		return err
	}
	b, ok, err := c.Tx.String(x.key)
	if err != nil {
		return err
	}
	var old int64
	if ok {
		if old, ok = commands.ParseInt(b); !ok {
			return commands.ErrNotInteger
		}
	}
	sum, within := n.add(old)
	if !within {
		if !x.saturate {
			replyIntegers(c, old, 0)
			return nil
		}
		if (sum < 0) != (old < 0) && (sum-old < 0) != (sum < 0) { // the difference leaves 64 bits
			return errAppliedOverflow
		}
	}
	var digits [20]byte
	x.store(c, strconv.AppendInt(digits[:0], sum, 10), "incrby")
	replyIntegers(c, sum, sum-old)
	return nil
}

// add returns the sum, or the limit that it passes.
func (n *integers) add(old int64) (sum int64, within bool) {
	if n.by > 0 && old > math.MaxInt64-n.by {
		return n.upper, false
	}
	if n.by < 0 && old < math.MinInt64-n.by {
		return n.lower, false
	}
	sum = old + n.by
	switch {
	case sum > n.upper:
		return n.upper, false
	case sum < n.lower:
		return n.lower, false
	}
	return sum, true
}

func replyIntegers(c *commands.Ctx, v, applied int64) {
	c.Reply.Array(2)
	c.Reply.Int(v)
	c.Reply.Int(applied)
}

// floats are the numbers of a call that counts in long doubles; a nil limit is none.
type floats struct{ by, lower, upper *big.Float }

func (x *increxCall) floats() (n floats, err error) {
	for _, read := range []struct {
		into **big.Float
		text []byte
		bad  error
	}{{&n.by, x.by, errByFloat}, {&n.lower, x.lower, errLowerFloat}, {&n.upper, x.upper, errUpperFloat}} {
		if read.text == nil {
			continue
		}
		var ok bool
		if *read.into, ok = commands.ParseLongDouble(read.text); !ok {
			return n, read.bad
		}
	}
	switch {
	case n.by.IsInf():
		return n, errByInfinity
	case n.lower != nil && n.upper != nil && n.lower.Cmp(n.upper) > 0:
		return n, errBounds
	}
	return n, nil
}

func (x *increxCall) addFloat(c *commands.Ctx) error {
	n, err := x.floats()
	if err != nil {
		return err
	}
	b, ok, err := c.Tx.String(x.key)
	if err != nil {
		return err
	}
	if !ok {
		b = []byte{'0'}
	}
	old, ok := commands.ParseLongDouble(b)
	switch {
	case !ok:
		return commands.ErrNotFloat
	case old.IsInf():
		return errStoredInfinity
	}
	sum, within := n.add(old)
	if !within && !x.saturate {
		replyFloats(c, old, new(big.Float))
		return nil
	}
	applied := new(big.Float).Sub(sum, old)
	if !commands.IsLongDouble(applied) {
		return errAppliedOverflow
	}
	x.store(c, commands.AppendLongDouble(nil, sum), "incrbyfloat")
	replyFloats(c, sum, applied)
	return nil
}

// add returns the sum, or the limit that it passes: what a long double holds is one, too.
func (n *floats) add(old *big.Float) (sum *big.Float, within bool) {
	sum = new(big.Float).Add(old, n.by)
	upper, lower := commands.MaxLongDouble(), new(big.Float).Neg(commands.MaxLongDouble())
	if n.upper != nil && n.upper.Cmp(upper) < 0 {
		upper = n.upper
	}
	if n.lower != nil && n.lower.Cmp(lower) > 0 {
		lower = n.lower
	}
	switch {
	case sum.Cmp(upper) > 0:
		return upper, false
	case sum.Cmp(lower) < 0:
		return lower, false
	}
	return sum, true
}

func replyFloats(c *commands.Ctx, v, applied *big.Float) {
	c.Reply.Array(2)
	for _, x := range []*big.Float{v, applied} {
		if c.Reply.Proto() == 3 {
			d, _ := x.Float64()
			c.Reply.Double(d)
			continue
		}
		c.Reply.Bulk(commands.AppendLongDouble(nil, x))
	}
}

// store stores the result and does what the call asks for to the expiry. A time that has
// passed removes the key.
func (x *increxCall) store(c *commands.Ctx, value []byte, event string) {
	old, had := c.Tx.ExpireAt(x.key)
	e := x.expiry
	if x.ttl.when == whenUnsaid || x.onlyNew && had && old != 0 {
		e = persistence.KeepExpiry
	}
	if e > 0 && int64(e) <= c.Now {
		if c.Tx.Delete(x.key) {
			c.Notify(commands.EventGeneric, "del", x.key)
		}
		return
	}
	c.NotifyNew(x.key)
	c.Tx.SetString(x.key, value, e)
	c.Notify(commands.EventString, event, x.key)
	switch {
	case e > 0:
		c.Notify(commands.EventGeneric, "expire", x.key)
	case e == persistence.NoExpiry && old != 0:
		c.Notify(commands.EventGeneric, "persist", x.key)
	}
}
