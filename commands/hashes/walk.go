package hashes

import (
	"bytes"
	"math/rand/v2"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/hash"
)

func walkRows() []commands.Command {
	keys := []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	return []commands.Command{
		{Name: "HRANDFIELD", Arity: -2, Tips: "nondeterministic_output", Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key [count [WITHVALUES]]", Since: "6.2.0", Cost: "O(n) for n fields returned",
			Summary: "Returns random fields of a hash: distinct ones, or with repeats if the count is negative.", Run: hrandfield},
		{Name: "HSCAN", Arity: -3, Tips: "nondeterministic_output", Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key cursor [MATCH pattern] [COUNT count] [NOVALUES]", Since: "2.8.0",
			Cost:    "O(1) for each call, O(n) for all fields",
			Summary: "Iterates over the fields of a hash.", Run: hscan},
	}
}

func hrandfield(c *commands.Ctx) error {
	key := c.Args.Key()
	if !c.Args.More() {
		return randomField(c, key)
	}
	n, values := c.Args.DrawCount("WITHVALUES")
	if err := c.Args.Done(); err != nil {
		return err
	}
	h, ok, err := view(c, key)
	if err != nil {
		return err
	}
	return c.Draw(n, ok, func(n int) { drawFields(c, h, n, values) }, func(n int) { sampleFields(c, h, n, values) })
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
func drawFields(c *commands.Ctx, h *hash.Hash, n int, values bool) {
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
func sampleFields(c *commands.Ctx, h *hash.Hash, n int, values bool) {
	beginFields(c, min(n, h.Live(c.Now)), values)
	h.Sample(c.Now, n, c.Host.Random, func(name, value []byte) { replyPair(c, name, value, values) })
}

func hscan(c *commands.Ctx) error {
	values := true
	noValues := func() bool {
		if !c.Args.Is("NOVALUES") {
			return false
		}
		values = false
		return true
	}
	return commands.ScanValue(c, view, noValues, func(h *hash.Hash, cursor uint64, o *commands.ScanOptions) (next uint64, n int) {
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
