package zsets

import (
	"bytes"
	"math/rand/v2"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/zset"
)

func walkRows() []commands.Command {
	keys := []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	return []commands.Command{
		{Name: "ZRANDMEMBER", Arity: -2, Tips: "nondeterministic_output", Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key [count [WITHSCORES]]", Since: "6.2.0", Cost: "O(m*log(n)) for n members of the sorted set and m returned",
			Summary: "Returns random members of a sorted set: distinct ones, or with repeats if the count is negative.", Run: zrandmember},
		{Name: "ZSCAN", Arity: -3, Tips: "nondeterministic_output", Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key cursor [MATCH pattern] [COUNT count] [NOSCORES]", Since: "2.8.0",
			Cost:    "O(1) for each call, O(n) for all members",
			Summary: "Iterates over the members of a sorted set and their scores.", Run: zscan},
	}
}

func zrandmember(c *commands.Ctx) error {
	key := c.Args.Key()
	if !c.Args.More() {
		return randomMember(c, key)
	}
	n, scores := c.Args.DrawCount("WITHSCORES")
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ok, err := view(c, key)
	if err != nil {
		return err
	}
	return c.Draw(n, ok, func(n int) { drawMembers(c, s, n, scores) }, func(n int) { sampleMembers(c, s, n, scores) })
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
	s.Range(c.Host.Random(s.Len()), 1, func(member []byte, _ float64) bool {
		c.Reply.Bulk(member)
		return true
	})
	return nil
}

// quickDraws is how many members are drawn under the lock of the key: a millisecond.
const quickDraws = 1 << 11

// drawMembers writes n members, each drawn from all of them. If they are many they are
// drawn from a copy of the set.
func drawMembers(c *commands.Ctx, s *zset.Set, n int, scores bool) {
	if n <= quickDraws || n < s.Len() {
		beginMembers(c, n, scores)
		for range n {
			s.Range(c.Host.Random(s.Len()), 1, func(member []byte, score float64) bool {
				replyMember(c, member, score, scores)
				return true
			})
		}
		return
	}
	all := make([]zset.Entry, 0, s.Len())
	s.Range(0, s.Len(), func(member []byte, score float64) bool {
		all = append(all, zset.Entry{Member: bytes.Clone(member), Score: score})
		return true
	})
	rng := rand.New(rand.NewPCG(c.RandomSeed(), 0))
	c.Later(func() {
		beginMembers(c, n, scores)
		for range n {
			e := &all[rng.IntN(len(all))]
			replyMember(c, e.Member, e.Score, scores)
		}
	})
}

// sampleMembers writes n different members, or all if there are fewer.
func sampleMembers(c *commands.Ctx, s *zset.Set, n int, scores bool) {
	n = min(n, s.Len())
	beginMembers(c, n, scores)
	if n > s.Len()/4 {
		// Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S.
		left := s.Len()
		s.Range(0, left, func(member []byte, score float64) bool {
			if c.Host.Random(left) < n {
				replyMember(c, member, score, scores)
				n--
			}
			left--
			return n > 0
		})
		return
	}
	// Floyd's algorithm: each rank of a sample is equally probable.
	taken := make(map[int]bool, n)
	for top := s.Len() - n; top < s.Len(); top++ {
		rank := c.Host.Random(top + 1)
		if taken[rank] {
			rank = top
		}
		taken[rank] = true
		s.Range(rank, 1, func(member []byte, score float64) bool {
			replyMember(c, member, score, scores)
			return true
		})
	}
}

func zscan(c *commands.Ctx) error {
	scores := true
	noScores := func() bool {
		is := c.Args.Is("NOSCORES")
		scores = scores && !is
		return is
	}
	return commands.ScanValue(c, view, noScores,
		func(s *zset.Set, cursor uint64, o *commands.ScanOptions) (next uint64, n int) {
			var room [40]byte
			next = s.Scan(cursor, o.Count, func(member []byte, score float64) {
				if o.Matches(member) {
					c.Reply.Bulk(member)
					n++
					if scores {
						c.Reply.Bulk(commands.AppendFloat(room[:0], score))
						n++
					}
				}
			})
			return next, n
		})
}
