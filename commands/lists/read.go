package lists

import (
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/list"
)

func readRows() []commands.Command {
	keys := []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	return []commands.Command{
		{Name: "LLEN", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RO)},
			Syntax: "key", Since: "1.0.0", Cost: "O(1)",
			Summary: "Returns the number of elements of a list.", Run: llen},
		{Name: "LINDEX", Arity: 3, Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key index", Since: "1.0.0", Cost: "O(n) for n nodes between the element and the nearer end",
			Summary: "Returns an element of a list by its index.", Run: lindex},
		{Name: "LRANGE", Arity: 4, Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key start stop", Since: "1.0.0", Cost: "O(s+n) for n elements s nodes from the nearer end",
			Summary: "Returns the elements of a list between two indexes, both included.", Run: lrange},
		{Name: "LPOS", Arity: -3, Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key element [RANK rank] [COUNT num-matches] [MAXLEN len]", Since: "6.0.6",
			Cost:    "O(n) for n elements compared",
			Summary: "Returns the indexes of the elements that equal a given one.", Run: lpos},
	}
}

// view finds a list for a command that reads. A key that is missing is
// published as a miss.
func view(c *commands.Ctx, key []byte) (l *list.List, ok bool, err error) {
	return commands.View[*list.List](c, key)
}

func llen(c *commands.Ctx) error {
	l, ok, err := view(c, c.Args.Key())
	return c.ReplyLen(l, ok, err)
}

// lindex reads the index only if there is a list, as Redis does.
func lindex(c *commands.Ctx) error {
	l, ok, err := view(c, c.Args.Key())
	if err != nil {
		return err
	}
	if !ok {
		c.Reply.Null()
		return nil
	}
	i := c.Args.Int()
	if err := c.Args.Done(); err != nil {
		return err
	}
	elem, ok := l.Index(int(i))
	if !ok {
		c.Reply.Null()
		return nil
	}
	c.Reply.Bulk(elem)
	return nil
}

func lrange(c *commands.Ctx) error {
	key, start, stop := c.Args.Key(), c.Args.Int(), c.Args.Int()
	if err := c.Args.Done(); err != nil {
		return err
	}
	l, ok, err := view(c, key)
	if err != nil {
		return err
	}
	if !ok {
		c.Reply.Array(0)
		return nil
	}
	_, n := l.Span(int(start), int(stop))
	c.Reply.Array(n)
	l.Range(int(start), int(stop), c.Reply.Bulk)
	return nil
}

// search is the options of LPOS.
type search struct {
	rank, count, limit int
	counted            bool // COUNT was given: the reply is an array
}

func readSearch(a *commands.Args) search {
	s := search{rank: 1, count: 1}
	for a.More() {
		valued := a.Left() >= 2
		switch {
		case valued && a.Is("RANK"):
			s.rank = int(a.IntOr(commands.ErrNotInteger))
			if s.rank == 0 {
				a.Fail(errRankZero)
			}
			if s.rank == math.MinInt {
				a.Fail(commands.ErrValueNotSymmetric) // its negative is no rank
			}
		case valued && a.Is("COUNT"):
			s.count, s.counted = int(a.IntIn(0, math.MaxInt, errPosCount)), true
		case valued && a.Is("MAXLEN"):
			s.limit = int(a.IntIn(0, math.MaxInt, errPosMaxLen))
		default:
			a.Syntax()
		}
	}
	return s
}

func lpos(c *commands.Ctx) error {
	key, elem := c.Args.Key(), c.Args.Bytes()
	s := readSearch(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	l, ok, err := view(c, key)
	if err != nil {
		return err
	}
	found := 0
	find := func() int {
		if ok {
			l.Find(elem, s.rank, s.count, s.limit, func(i int) {
				c.Reply.Int(int64(i))
				found++
			})
		}
		return found
	}
	if s.counted {
		c.Reply.ArrayLater(find)
	} else if find() == 0 {
		c.Reply.Null()
	}
	return nil
}
