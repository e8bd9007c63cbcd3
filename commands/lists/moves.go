package lists

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/list"
)

func movesRows() []commands.Command {
	keys := []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Delete), commands.Key(2, commands.RW|commands.Insert)}
	const how = " [<COUNT count | EXACTLY count> <OBO | BULK>]"
	return []commands.Command{
		{Name: "LMOVEM", Arity: -5, Flags: commands.Write | commands.DenyOOM, Keys: keys,
			Syntax: "source destination <LEFT | RIGHT> <LEFT | RIGHT>" + how, Since: "8.10.0", Cost: "O(n) for n elements moved",
			Summary: "Moves elements from an end of a list to an end of another, one by one or as a block, and returns them.", Run: lmovem},
		{Name: "BLMOVEM", Arity: -6, Flags: commands.Write | commands.DenyOOM | commands.Blocking, Keys: keys,
			Syntax: "source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout" + how, Types: commands.Types{"timeout": commands.ArgDouble},
			Since: "8.10.0", Cost: "O(n) for n elements moved",
			Summary: "Does the same as LMOVEM, waiting for elements if needed.", Run: blmovem},
	}
}

// moving is the arguments of LMOVEM and BLMOVEM.
type moving struct {
	from, to []byte
	out, in  list.End
	count    int
	exactly  bool // move count elements or none
	bulk     bool // they keep their order
	millis   int64
}

func readMoving(a *commands.Args, blocking bool) (m moving) {
	m = moving{from: a.Key(), to: a.Key(), out: readEnd(a), in: readEnd(a), count: 1}
	if blocking {
		m.millis = a.Timeout()
	}
	if !a.More() {
		return m
	}
	switch a.Word() {
	case "COUNT":
	case "EXACTLY":
		m.exactly = true
	default:
		a.Syntax()
	}
	m.count = int(a.IntIn(1, math.MaxInt, errMoveCount))
	switch a.Word() {
	case "OBO":
	case "BULK":
		m.bulk = true
	default:
		a.Syntax()
	}
	return m
}

func lmovem(c *commands.Ctx) error {
	m := readMoving(&c.Args, false)
	if err := c.Args.Done(); err != nil {
		return err
	}
	moved, err := m.run(c)
	if err == nil && !moved {
		c.Reply.NullArray()
	}
	return err
}

func blmovem(c *commands.Ctx) error {
	m := readMoving(&c.Args, true)
	if err := c.Args.Done(); err != nil {
		return err
	}
	if c.Woken == nil || !isNoList(c, m.from) { // else it may become a list again; a destination that is none ends the wait
		if moved, err := m.run(c); moved || err != nil {
			return err
		}
	}
	w := commands.Wait{Keys: [][]byte{m.from}, Millis: m.millis, Expired: (*commands.Reply).NullArray}
	if m.exactly && c.Woken == nil {
		// There may be enough for others.
		w.Rivals = []string{"exactly " + strconv.Itoa(m.count)}
	}
	return c.ParkFor(w)
}

// run moves elements and replies with them, in the order that they have at the destination. moved is
// false if there are none, or not enough.
func (m *moving) run(c *commands.Ctx) (moved bool, err error) {
	src, srcChange, ok, err := edit(c, m.from)
	if err != nil || !ok || m.exactly && src.Len() < m.count {
		return false, err
	}
	dst, dstChange := src, srcChange
	if !bytes.Equal(m.from, m.to) {
		c.NotifyNew(m.to)
		if dst, dstChange, _, err = persistence.Edit(c.Tx, m.to, list.New); err != nil {
			return false, err
		}
	}
	if !dst.Ready(m.in) {
		return false, c.Tx.Err()
	}
	var elems [][]byte // in the order in which they are taken
	src.PopMany(srcChange, m.out, m.count, func(elem []byte) { elems = append(elems, bytes.Clone(elem)) })
	if err := c.Tx.Err(); err != nil {
		return false, err
	}
	if m.bulk && m.out == list.Tail {
		slices.Reverse(elems)
	}
	// What is pushed to the head comes before what was.
	if m.bulk && m.in == list.Head {
		slices.Reverse(elems)
	}
	dst.Push(dstChange, m.in, elems...)
	if m.in == list.Head {
		slices.Reverse(elems)
	}
	c.Reply.Array(len(elems))
	for _, elem := range elems {
		c.Reply.Bulk(elem)
	}
	c.Notify(commands.EventList, pushEvent(m.in), m.to)
	notifyPop(c, src, m.out, m.from)
	return true, nil
}
