package commands

import (
	"bytes"
	"math"
	"strings"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// Fields of hashes and members of sets are parts of values that can expire. Commands about the expiry
// of parts are the same for both but for their words: HEXPIRE and SEXPIRE, FIELDS and MEMBERS.

// Expiring is a value with such parts.
type Expiring interface {
	ExpiryOf(part []byte) (ms int64, has, found bool)
	ExpireAt(ch *structures.Change, part []byte, ms int64) bool
	Persist(ch *structures.Change, part []byte) bool
}

// PartWords are what commands call the parts of a type.
type PartWords struct {
	Keyword string // before their number
	// Missing is the error of a call without the keyword, and Match that of a number that is not
	// that of the arguments behind it.
	Missing, Match WireError
}

// The replies for one part. These are Redis's numbers.
const (
	PartMissing = -2
	PartStays   = -1 // it has no expiry
	PartRefused = 0  // the condition does not hold
	PartChanged = 1
	PartDeleted = 2 // the time to go had come already
)

// maxPartExpiry is the last time at which Redis lets a part expire: it keeps
// 48 bits, and two of these in reserve.
const maxPartExpiry = 1<<46 - 1

// ErrPartExpiry is the error of a time to go that is negative.
const ErrPartExpiry = WireError("ERR invalid expire time, must be >= 0")

// PartDeadline reads a number of units after base and returns the time in unix
// milliseconds.
func (c *Ctx) PartDeadline(u TimeUnit, base int64) int64 {
	n := c.Args.Int()
	switch {
	case c.Args.Err() != nil:
		return 0
	case n < 0:
		c.Args.Fail(ErrPartExpiry)
	case n > maxPartExpiry/int64(u), n*int64(u) > maxPartExpiry-base:
		c.Args.Fail(ErrInvalidExpire(c.Command))
	}
	return n*int64(u) + base
}

// Parts reads the keyword, the number of parts and the parts, which end the
// call. bad is the error for what is no number of parts.
func (a *Args) Parts(w *PartWords, bad error) [][]byte {
	if a.Err() == nil && !a.Is(w.Keyword) {
		a.Fail(w.Missing)
	}
	n := a.IntIn(1, math.MaxInt64, bad)
	if a.Err() == nil && n != int64(a.Left()) {
		a.Fail(w.Match)
	}
	return a.Rest()
}

// PartExpirer gives parts of one value the same expiry.
type PartExpirer struct {
	Value  Expiring
	Change *structures.Change
	Delete func(part []byte)
	Now    int64
	Millis int64 // when they go, unix time
	When   ExpiryCondition

	Updated, Deleted int // how many parts
	Parts            PartNames
}

// Expire gives a part the expiry, or deletes it if that is past.
func (x *PartExpirer) Expire(part []byte) int64 {
	old, _, found := x.Value.ExpiryOf(part)
	switch {
	case !found:
		return PartMissing
	case !x.When.Allows(old, x.Millis):
		return PartRefused
	case x.Millis <= x.Now:
		x.Delete(part)
		x.Deleted++
		x.Parts.Add(part)
		return PartDeleted
	}
	x.Value.ExpireAt(x.Change, part, x.Millis)
	x.Updated++
	x.Parts.Add(part)
	return PartChanged
}

// PartTTL is the time from base until a part goes. Seconds are rounded up.
func PartTTL(v Expiring, part []byte, u TimeUnit, base int64) int64 {
	ms, has, found := v.ExpiryOf(part)
	switch {
	case !found:
		return PartMissing
	case !has:
		return PartStays
	}
	return (ms - base + int64(u) - 1) / int64(u)
}

// PersistPart takes the expiry of a part away.
func PersistPart(v Expiring, ch *structures.Change, part []byte) int64 {
	if _, _, found := v.ExpiryOf(part); !found {
		return PartMissing
	}
	if !v.Persist(ch, part) {
		return PartStays
	}
	return PartChanged
}

// ReplyParts replies with a number for each part of a value: that of each, or that it is missing if there is no value.
func (c *Ctx) ReplyParts(parts [][]byte, there bool, each func(part []byte) int64) {
	c.Reply.Array(len(parts))
	for _, part := range parts {
		if !there {
			c.Reply.Int(PartMissing)
			continue
		}
		c.Reply.Int(each(part))
	}
}

// Timed is a value whose parts can expire.
type Timed interface {
	structures.Value
	NextExpiry() (ms int64, ok bool)
	ExpireFields(ch *structures.Change, now int64, limit int, visit func(part []byte)) int
}

// PartsDue reports that parts of a value can have expired.
func (c *Ctx) PartsDue(v Timed) bool {
	soon, some := v.NextExpiry()
	return some && soon <= c.Now
}

// EditTimed finds a value to change, without the parts that have expired: expired publishes that they are gone. A value
// that is left empty is removed when its key is looked up next, or at the end of the call. If there is none, create makes one;
// ok is false if create is nil.
func EditTimed[V Timed](c *Ctx, key []byte, create func() V, expired func(c *Ctx, v V, key []byte, parts *PartNames)) (v V, ch *structures.Change, ok bool, err error) {
	if create != nil {
		c.NotifyNew(key)
	}
	v, ch, ok, err = persistence.Edit(c.Tx, key, create)
	if err != nil || !ok && create == nil || !c.PartsDue(v) {
		return v, ch, ok, err
	}
	parts := c.PartNames()
	var visit func(part []byte)
	if parts.wanted {
		visit = func(part []byte) { parts.Add(bytes.Clone(part)) }
	}
	if n := v.ExpireFields(ch, c.Now, math.MaxInt, visit); n > 0 {
		c.Tx.CountExpiredFields(n)
		expired(c, v, key, &parts)
	}
	switch {
	case !v.Empty():
	case create == nil:
		ok = false
	default: // gone with its last part: this is a new value
		c.NotifyNew(key)
		v, ch, ok, err = persistence.Edit(c.Tx, key, create)
	}
	return v, ch, ok, err
}

// PartRows describes the commands about the expiry of parts of a type.
type PartRows struct {
	Letter string // before the names
	Part   string // what the parts are called: "field"
	Of     string // and their type: "hash"
	Since  string

	Expire  func(c *Ctx, u TimeUnit, base int64) error // base is the time from which the command counts
	TTL     func(c *Ctx, u TimeUnit, base int64) error
	Persist func(c *Ctx) error
}

// Commands returns the rows.
func (p *PartRows) Commands() []Command {
	change := []KeySpec{Key(1, RW|Update)}
	ask := []KeySpec{Key(1, RO|Access)}
	parts := p.Part + "s"
	named := strings.ToUpper(parts) + " num" + parts + " " + p.Part + " [" + p.Part + " ...]"
	all, cost := parts+" of a "+p.Of, "O(n) for n "+parts
	baseOf := func(c *Ctx, fromNow bool) int64 {
		if fromNow {
			return c.Now
		}
		return 0
	}
	expire := func(name, time, when string, u TimeUnit, fromNow bool) Command {
		return Command{Name: p.Letter + name, Arity: -6, Flags: Write | Fast, Keys: change, Syntax: "key " + time + " [NX | XX | GT | LT] " + named,
			Since: p.Since, Cost: cost, Summary: "Sets " + all + " to expire " + when + ".",
			Run: func(c *Ctx) error { return p.Expire(c, u, baseOf(c, fromNow)) }}
	}
	ttl := func(name, what string, u TimeUnit, fromNow bool) Command {
		tips := ""
		if fromNow {
			tips = "nondeterministic_output"
		}
		return Command{Name: p.Letter + name, Arity: -5, Tips: tips, Flags: ReadOnly | Fast, Keys: ask, Syntax: "key " + named,
			Since: p.Since, Cost: cost, Summary: "Returns " + what + " " + all + " expire.",
			Run: func(c *Ctx) error { return p.TTL(c, u, baseOf(c, fromNow)) }}
	}
	return []Command{
		expire("EXPIRE", "seconds", "after a number of seconds", Seconds, true),
		expire("PEXPIRE", "milliseconds", "after a number of milliseconds", Milliseconds, true),
		expire("EXPIREAT", "unix-time-seconds", "at a Unix time in seconds", Seconds, false),
		expire("PEXPIREAT", "unix-time-milliseconds", "at a Unix time in milliseconds", Milliseconds, false),
		ttl("TTL", "in how many seconds", Seconds, true),
		ttl("PTTL", "in how many milliseconds", Milliseconds, true),
		ttl("EXPIRETIME", "the Unix time in seconds at which", Seconds, false),
		ttl("PEXPIRETIME", "the Unix time in milliseconds at which", Milliseconds, false),
		{Name: p.Letter + "PERSIST", Arity: -5, Flags: Write | Fast, Keys: change, Syntax: "key " + named,
			Since: p.Since, Cost: cost, Summary: "Removes the expiry of " + all + ".", Run: p.Persist},
	}
}
