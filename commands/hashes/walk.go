package hashes

import (
	"bytes"
	"math"
	"math/rand/v2"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
)

func walkRows() []commands.Command {
	keys := []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	return []commands.Command{
		{Name: "HRANDFIELD", Arity: -2, Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key [count [WITHVALUES]]", Since: "6.2.0", Cost: "O(n) for n fields returned",
			Summary: "Returns random fields of a hash: distinct ones, or with repeats if the count is negative.", Run: hrandfield},
		{Name: "HSCAN", Arity: -3, Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key cursor [MATCH pattern] [COUNT count] [NOVALUES]", Since: "2.8.0",
			Cost:    "O(1) for each call, O(n) for all fields",
			Summary: "Iterates over the fields of a hash.", Run: hscan},
	}
}

// maxDraws bounds the fields that a negative count asks for: the reply would
// grow without end, whatever the size of the hash.
const maxDraws = 1 << 24

// readDraw reads the number of fields to draw, and whether their values are
// asked for.
func readDraw(a *commands.Args) (n int64, values bool) {
	n = a.Int()
	if n == math.MinInt64 {
		a.Fail(commands.ErrValueNotSymmetric)
	}
	values = a.Is("WITHVALUES")
	if values && a.Left() == 0 && (n < -math.MaxInt64/2 || n > math.MaxInt64/2) {
		a.Fail(errValueRange)
	}
	return n, values
}

func hrandfield(c *commands.Ctx) error {
	key := c.Args.Key()
	if !c.Args.More() {
		return randomField(c, key)
	}
	n, values := readDraw(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	h, ok, err := view(c, key)
	switch {
	case err != nil:
		return err
	case !ok || n == 0:
		c.Reply.Array(0)
	case n < -maxDraws:
		return errValueRange
	case n < 0:
		drawFields(c, h, int(-n), values)
	default:
		sampleFields(c, h, int(min(n, math.MaxInt32)), values)
	}
	return nil
}

func randomField(c *commands.Ctx, key []byte) error {
	h, ok, err := view(c, key)
	if err != nil {
		return err
	}
	if ok {
		var name []byte
		if name, _, ok = h.Random(c.Now, c.Host.Random); ok {
			c.Reply.Bulk(name)
		}
	}
	if !ok {
		c.Reply.Null()
	}
	return nil
}

// beginFields begins an array of n fields. With values it is flat in RESP2, and
// an array of pairs in RESP3.
func beginFields(c *commands.Ctx, n int, values bool) {
	if values && c.Reply.Proto() != 3 {
		n *= 2
	}
	c.Reply.Array(n)
}

func replyPair(c *commands.Ctx, name, value []byte, values bool) {
	if values && c.Reply.Proto() == 3 {
		c.Reply.Array(2)
	}
	c.Reply.Bulk(name)
	if values {
		c.Reply.Bulk(value)
	}
}

// quickDraws is how many fields are drawn under the lock of the key: a millisecond.
const quickDraws = 1 << 12

// drawFields writes n fields, each drawn from all of them. If they are many they
// are drawn from a copy of the hash.
func drawFields(c *commands.Ctx, h *structures.Hash, n int, values bool) {
	if n <= quickDraws || n < h.Len() {
		beginFields(c, n, values)
		for range n {
			name, value, _ := h.Random(c.Now, c.Host.Random)
			replyPair(c, name, value, values)
		}
		return
	}
	type field struct{ name, value []byte }
	fields := make([]field, 0, h.Len())
	h.Each(c.Now, func(name, value []byte, _ int64) {
		fields = append(fields, field{bytes.Clone(name), bytes.Clone(value)})
	})
	if len(fields) == 0 { // all have expired since
		c.Reply.Array(0)
		return
	}
	rng := rand.New(rand.NewPCG(c.RandomSeed(), 0))
	c.Later(func() {
		beginFields(c, n, values)
		for range n {
			f := &fields[rng.IntN(len(fields))]
			replyPair(c, f.name, f.value, values)
		}
	})
}

// sampleFields writes n different fields, or all if there are fewer.
func sampleFields(c *commands.Ctx, h *structures.Hash, n int, values bool) {
	beginFields(c, min(n, h.Live(c.Now)), values)
	h.Sample(c.Now, n, c.Host.Random, func(name, value []byte) { replyPair(c, name, value, values) })
}

// hscan reads its options only if there is a hash, as Redis does.
func hscan(c *commands.Ctx) error {
	key, cursor := c.Args.Key(), c.Args.Cursor()
	if err := c.Args.Err(); err != nil {
		return err
	}
	h, ok, err := view(c, key)
	if err != nil {
		return err
	}
	if !ok {
		c.Reply.Scan(func() (uint64, int) { return 0, 0 })
		return nil
	}
	values := true
	o := c.Args.ScanOptions(func() bool {
		if !c.Args.Is("NOVALUES") {
			return false
		}
		values = false
		return true
	})
	if err := c.Args.Done(); err != nil {
		return err
	}
	scanFields(c, h, cursor, &o, values)
	return nil
}

// scanFields returns some fields of a hash from the cursor on.
func scanFields(c *commands.Ctx, h *structures.Hash, cursor uint64, o *commands.ScanOptions, values bool) {
	c.Reply.Scan(func() (next uint64, n int) {
		next = h.Scan(cursor, o.Count, c.Now, func(name, value []byte) {
			if !o.Matches(name) {
				return
			}
			c.Reply.Bulk(name)
			n++
			if values {
				c.Reply.Bulk(value)
				n++
			}
		})
		return next, n
	})
}
