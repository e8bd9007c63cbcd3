package commands

import (
	"math"

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

// Condition reads NX, XX, GT or LT if the next argument is one of them.
func (a *Args) Condition() ExpiryCondition {
	ahead := *a
	f := ParseExpiryCondition(ahead.Word())
	if f != 0 {
		a.Skip(1)
	}
	return f
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
		return PartDeleted
	}
	x.Value.ExpireAt(x.Change, part, x.Millis)
	x.Updated++
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
