package sets

import (
	"bytes"
	"math"
	"math/rand/v2"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/set"
)

func randomRows() []commands.Command {
	return []commands.Command{
		{Name: "SPOP", Arity: -2, Tips: "nondeterministic_output", Flags: commands.Write | commands.Fast,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Delete)},
			Syntax: "key [count]", Since: "1.0.0", Cost: "O(n) for n members returned",
			Summary: "Removes random members from a set and returns them.", Run: spop},
		{Name: "SRANDMEMBER", Arity: -2, Tips: "nondeterministic_output", Flags: commands.ReadOnly,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)},
			Syntax: "key [count]", Since: "1.0.0", Cost: "O(n) for n members returned",
			Summary: "Returns random members of a set: distinct ones, or with repeats if the count is negative.", Run: srandmember},
	}
}

// spop records the members that were drawn: what is drawn again from the same set
// would be others.
func spop(c *commands.Ctx) error {
	key := c.Args.Key()
	if !c.Args.More() {
		return popOne(c, key)
	}
	n := c.Args.IntIn(0, math.MaxInt, commands.ErrMustBePositive)
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ch, ok, err := edit(c, key)
	switch {
	case err != nil:
		return err
	case !ok || n == 0:
		c.Reply.Set(0)
	case n >= int64(s.Len()):
		c.Looked(key, true, nil) // Redis takes it for a union of one set
		replyMembers(c, s)
		c.Notify(commands.EventSet, "spop", key)
		c.Tx.Delete(key)
		c.Notify(commands.EventGeneric, "del", key)
	default:
		if err := popSome(c, s, ch, int(n)); err != nil {
			return err
		}
		notifyRemoved(c, "spop", s, key)
	}
	return nil
}

func popOne(c *commands.Ctx, key []byte) error {
	s, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	if !ok {
		c.Reply.Null()
		return nil
	}
	member, _ := s.Random(c.Host.Random)
	if err := c.Tx.Err(); err != nil {
		return err
	}
	c.Reply.Bulk(member)
	s.Remove(ch, member)
	notifyRemoved(c, "spop", s, key)
	return nil
}

// popSome removes n members of a set that has more.
func popSome(c *commands.Ctx, s *set.Set, ch *structures.Change, n int) error {
	drawn := make([][]byte, 0, n)
	s.Sample(n, c.Host.Random, func(member []byte) { drawn = append(drawn, bytes.Clone(member)) })
	s.Ready(drawn...)
	if err := c.Tx.Err(); err != nil {
		return err
	}
	c.Reply.Set(len(drawn))
	for _, member := range drawn {
		c.Reply.Bulk(member)
		s.Remove(ch, member)
	}
	return nil
}

// quickDraws is how many members are drawn under the lock of the key: a millisecond.
const quickDraws = 1 << 12

func srandmember(c *commands.Ctx) error {
	key := c.Args.Key()
	if !c.Args.More() {
		return randomMember(c, key)
	}
	n, _ := c.Args.DrawCount("")
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ok, err := view(c, key)
	if err != nil {
		return err
	}
	return c.Draw(n, ok, func(n int) { drawMembers(c, s, n) }, func(n int) {
		c.Reply.Array(min(n, s.Len()))
		s.Sample(n, c.Host.Random, c.Reply.Bulk)
	})
}

func randomMember(c *commands.Ctx, key []byte) error {
	s, ok, err := view(c, key)
	if err != nil {
		return err
	}
	if !ok {
		c.Reply.Null()
		return nil
	}
	member, _ := s.Random(c.Host.Random)
	c.Reply.Bulk(member)
	return nil
}

// drawMembers writes n members, each drawn from all of them. If they are many they are
// drawn from a copy of the set, when the key is not locked any more.
func drawMembers(c *commands.Ctx, s *set.Set, n int) {
	if n <= quickDraws || n < s.Len() {
		c.Reply.Array(n)
		for range n {
			member, _ := s.Random(c.Host.Random)
			c.Reply.Bulk(member)
		}
		return
	}
	members := make([][]byte, 0, s.Len())
	s.Each(func(member []byte) bool {
		members = append(members, bytes.Clone(member))
		return true
	})
	rng := rand.New(rand.NewPCG(c.RandomSeed(), 0))
	c.Later(func() {
		c.Reply.Array(n)
		for range n {
			c.Reply.Bulk(members[rng.IntN(len(members))])
		}
	})
}
