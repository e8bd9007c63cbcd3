package commands

import (
	"strconv"
	"strings"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/glob"
)

func scanRows() []Command {
	return []Command{
		{Name: "KEYS", Arity: 2, Flags: ReadOnly | Keyspace | Dangerous,
			Syntax: "pattern", Since: "1.0.0", Cost: "O(n) for n keys in the database",
			Summary: "Lists the keys that match a pattern.", Run: keys},
		{Name: "SCAN", Arity: -2, Flags: ReadOnly | Keyspace,
			Syntax: "cursor [MATCH pattern] [COUNT count] [TYPE type]", Since: "2.8.0",
			Cost:    "O(1) for each call, O(n) for all keys",
			Summary: "Goes through the keys of the database, some with each call.", Run: scan},
		{Name: "RANDOMKEY", Arity: 1, Flags: ReadOnly | Keyspace,
			Since: "1.0.0", Cost: "O(1)",
			Summary: "Draws one of the keys of the database.", Run: randomKey},
	}
}

func keys(c *Ctx) error {
	pattern := c.Args.Bytes()
	c.Reply.ArrayLater(func() int {
		n := 0
		if glob.Literal(pattern) {
			// Only one key can match: no need to look at the others.
			if c.Tx.Kind(pattern) != structures.KindNone {
				c.Reply.Bulk(pattern)
				n++
			}
			return n
		}
		c.Tx.Keys(func(key []byte) bool {
			if matches(pattern, key) {
				c.Reply.Bulk(key)
				n++
			}
			return true
		})
		return n
	})
	return nil
}

// matches is glob.Match with the single star that fits everything, also the
// empty key.
func matches(pattern, key []byte) bool {
	return string(pattern) == "*" || glob.Match(pattern, key)
}

// scanOptions are what a client asks of SCAN and HSCAN besides the cursor.
type scanOptions struct {
	pattern  []byte // nil: all
	count    int
	kind     []byte // nil: all; SCAN only
	noValues bool   // HSCAN only
}

// readScanOptions reads what is left of the call. TYPE is an option of SCAN
// alone, NOVALUES of HSCAN alone.
func readScanOptions(c *Ctx, ofHash bool) scanOptions {
	o := scanOptions{count: 10}
	for c.Args.More() {
		valued := c.Args.Left() >= 2
		switch {
		case valued && c.Args.Is("MATCH"):
			o.pattern = c.Args.Bytes()
		case valued && c.Args.Is("COUNT"):
			n := c.Args.Int()
			if n < 1 {
				c.Args.Syntax()
			}
			o.count = int(n)
		case valued && !ofHash && c.Args.Is("TYPE"):
			o.kind = c.Args.Bytes()
		case ofHash && c.Args.Is("NOVALUES"):
			o.noValues = true
		default:
			c.Args.Syntax()
		}
	}
	return o
}

func (o *scanOptions) wants(name []byte) bool {
	return o.pattern == nil || matches(o.pattern, name)
}

func scan(c *Ctx) error {
	cursor := c.Args.Cursor()
	o := readScanOptions(c, false)
	if err := c.Args.Done(); err != nil {
		return err
	}
	scanReply(c, func() (next uint64, n int) {
		next = c.Tx.Scan(cursor, o.count, func(key []byte, kind structures.Kind) {
			if o.kind != nil && !strings.EqualFold(string(o.kind), KindName(kind)) || !o.wants(key) {
				return
			}
			c.Reply.Bulk(key)
			n++
		})
		return next, n
	})
	return nil
}

// scanReply writes the two parts of a scan's answer. The cursor stands first
// but is known last, and so does the number of elements: both are put before
// what walk wrote.
func scanReply(c *Ctx, walk func() (next uint64, n int)) {
	r := &c.Reply
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

func randomKey(c *Ctx) error {
	key, ok := c.Tx.RandomKey(c.Host.Random)
	if !ok {
		c.Reply.Null()
		return nil
	}
	c.Reply.Bulk(key)
	return nil
}
