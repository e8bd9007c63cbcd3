package text

import (
	"bytes"
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/text"
)

// lcsOptions are the options of LCS.
type lcsOptions struct {
	length, index, withLength bool
	minMatch                  int64
}

func lcs(c *commands.Ctx) error {
	key1, key2 := c.Args.Key(), c.Args.Key()
	a, _, errA := c.ViewString(key1)
	b, _, errB := c.ViewString(key2)
	// The type is checked before the options, and has an error text of its own.
	if errors.Is(errA, structures.ErrWrongType) || errors.Is(errB, structures.ErrWrongType) {
		return errLCSType
	}
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	o := readLCSOptions(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	return replyLCS(c, a, b, o)
}

func readLCSOptions(a *commands.Args) (o lcsOptions) {
	for a.More() {
		switch a.Word() {
		case "LEN":
			o.length = true
		case "IDX":
			o.index = true
		case "WITHMATCHLEN":
			o.withLength = true
		case "MINMATCHLEN":
			o.minMatch = max(a.Int(), 0)
		default:
			a.Syntax()
		}
	}
	if o.length && o.index {
		a.Fail(errLCSLenAndIndex)
	}
	return o
}

// quickLCS is how many cells of the table are filled under the locks of the keys: a
// millisecond.
const quickLCS = 1 << 19

// replyLCS compares copies of long strings when the locks are released.
func replyLCS(c *commands.Ctx, a, b []byte, o lcsOptions) error {
	limit := c.Host.Limits().MaxBulk
	if !text.LCSFits(a, b, limit) {
		return errLCSMemory
	}
	if len(a)*len(b) <= quickLCS {
		writeLCS(c, a, b, o)
		return nil
	}
	a, b = bytes.Clone(a), bytes.Clone(b)
	c.Later(func() { writeLCS(c, a, b, o) })
	return nil
}

func writeLCS(c *commands.Ctx, a, b []byte, o lcsOptions) {
	if o.length {
		c.Reply.Int(int64(text.LCSLen(a, b)))
		return
	}
	// A run is never longer than the shorter string.
	minMatch := int(min(o.minMatch, int64(min(len(a), len(b)))+1))
	common, matches := text.LCS(a, b, minMatch)
	if !o.index {
		c.Reply.Bulk(common)
		return
	}
	replyMatches(c, matches, len(common), o)
}

// replyMatches writes where runs lie in both strings.
func replyMatches(c *commands.Ctx, matches []text.LCSMatch, length int, o lcsOptions) {
	c.Reply.Map(2)
	c.Reply.BulkString("matches")
	c.Reply.Array(len(matches))
	parts := 2
	if o.withLength {
		parts = 3
	}
	for _, m := range matches {
		c.Reply.Array(parts)
		c.Reply.Array(2)
		c.Reply.Int(int64(m.AStart))
		c.Reply.Int(int64(m.AEnd))
		c.Reply.Array(2)
		c.Reply.Int(int64(m.BStart))
		c.Reply.Int(int64(m.BEnd))
		if o.withLength {
			c.Reply.Int(int64(m.Len()))
		}
	}
	c.Reply.BulkString("len")
	c.Reply.Int(int64(length))
}
