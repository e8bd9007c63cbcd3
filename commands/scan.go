package commands

import (
	"strconv"

	"github.com/vigildb/vigil/structures/glob"
)

// ScanOptions are the options that SCAN and its relatives have in common.
type ScanOptions struct {
	Pattern []byte // MATCH; nil: every name matches
	Count   int    // COUNT; 10 unless given
}

// ScanOptions reads the options of a scan up to the end of the call. other
// reads the next argument if it begins an option that only the calling command
// has, and reports whether it does.
func (a *Args) ScanOptions(other func() bool) ScanOptions {
	o := ScanOptions{Count: 10}
	for a.More() {
		valued := a.Left() >= 2
		switch {
		case valued && a.Is("MATCH"):
			o.Pattern = a.Bytes()
		case valued && a.Is("COUNT"):
			n := a.Int()
			if n < 1 {
				a.Syntax()
			}
			o.Count = int(n)
		case other():
		case a.Is("NOVALUES"):
			a.Fail(errNoValues)
		case a.Is("NOSCORES"):
			a.Fail(errNoScores)
		default:
			a.Syntax()
		}
	}
	return o
}

// ScanValue runs HSCAN, SSCAN and ZSCAN. The options are read only if view finds a value,
// as in Redis; other reads those that only the calling command has. walk writes what
// matches from the cursor on, and returns the next cursor and the number of replies.
func ScanValue[T any](c *Ctx, view func(c *Ctx, key []byte) (T, bool, error), other func() bool,
	walk func(v T, cursor uint64, o *ScanOptions) (next uint64, n int)) error {
	key, cursor := c.Args.Key(), c.Args.Cursor()
	if err := c.Args.Err(); err != nil {
		return err
	}
	v, ok, err := view(c, key)
	if err != nil {
		return err
	}
	if !ok {
		c.Reply.Scan(func() (uint64, int) { return 0, 0 })
		return nil
	}
	o := c.Args.ScanOptions(other)
	if err := c.Args.Done(); err != nil {
		return err
	}
	c.Reply.Scan(func() (uint64, int) { return walk(v, cursor, &o) })
	return nil
}

// Matches reports whether a name is to be returned. A single star matches every
// name, the empty one included.
func (o *ScanOptions) Matches(name []byte) bool {
	return o.Pattern == nil || string(o.Pattern) == "*" || glob.Match(o.Pattern, name)
}

// Scan writes the two parts of the reply to a scan: the next cursor, and the n
// elements that walk writes. The cursor and n come first but are known last, so
// they are inserted before what walk has written.
func (r *Reply) Scan(walk func() (next uint64, n int)) {
	r.Array(2)
	start := r.Len()
	next, n := walk()
	var room [64]byte
	head := NewReply(room[:0], r.proto)
	var digits [20]byte
	head.Bulk(strconv.AppendUint(digits[:0], next, 10))
	head.Array(n)
	r.Insert(start, head.buf)
}
