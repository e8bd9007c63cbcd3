package keys

import (
	"bytes"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/list"
)

func sortRows() []commands.Command {
	source := commands.Key(1, commands.RO|commands.Access)
	named := commands.KeySpec{Flags: commands.RO | commands.Access, Find: func([][]byte) []int { return nil }}
	stored := commands.KeySpec{Flags: commands.OW | commands.Update, Find: sortDestination}
	const syntax = "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC|DESC] [ALPHA]"
	const cost = "O(n + m log(m)) for n elements, m of them returned, O(n) if they are not sorted"
	return []commands.Command{
		{Name: "SORT", Arity: -2, Flags: commands.Write | commands.DenyOOM | commands.MovableKeys | commands.Dangerous,
			Keys: []commands.KeySpec{source, named, stored}, Patterns: sortsByPattern, Category: "set sortedset list",
			Syntax: syntax + " [STORE destination]", Since: "1.0.0", Cost: cost,
			Summary: "Sorts the elements of a list, a set or a sorted set, and returns or stores them.", Run: sortAndStore},
		{Name: "SORT_RO", Arity: -2, Flags: commands.ReadOnly | commands.MovableKeys | commands.Dangerous,
			Keys: []commands.KeySpec{source, named}, Patterns: sortsByPattern, Category: "set sortedset list",
			Syntax: syntax, Since: "7.0.0", Cost: cost,
			Summary: "Sorts the elements of a list, a set or a sorted set, and returns them.", Run: sortReadOnly},
	}
}

// eachSortArgument visits the arguments of BY, GET and STORE. It must see them where
// readSortOptions does: what is locked depends on it.
func eachSortArgument(argv [][]byte, visit func(option string, i int)) {
	for i := 2; i < len(argv); i++ {
		if commands.EqualFold(argv[i], "LIMIT") {
			i += 2
			continue
		}
		for _, option := range []string{"BY", "GET", "STORE"} {
			if commands.EqualFold(argv[i], option) && i+1 < len(argv) {
				i++
				visit(option, i)
				break
			}
		}
	}
}

// sortDestination finds the argument of STORE, the last if it is given more than once.
func sortDestination(argv [][]byte) (at []int) {
	eachSortArgument(argv, func(option string, i int) {
		if option == "STORE" {
			at = []int{i}
		}
	})
	return at
}

// sortsByPattern reports whether the call reads keys that elements name.
func sortsByPattern(argv [][]byte) (reads bool) {
	eachSortArgument(argv, func(option string, i int) {
		reads = reads || option != "STORE" && bytes.IndexByte(argv[i], '*') >= 0
	})
	return reads
}

// sortOptions are the options of SORT.
type sortOptions struct {
	by          *pattern // nil: elements are compared themselves
	unsorted    bool     // BY was given a constant: elements keep their order
	alpha, desc bool
	limited     bool
	offset      int64
	count       int64 // negative: all
	get         []pattern
	destination []byte // nil: the elements are returned
}

// Access is what the server knows about the user of a call.
type Access interface {
	// ReadsAll reports whether the user may read every key.
	ReadsAll(c *commands.Ctx) bool
}

// readSortOptions reads the options. Keys that elements name are read only for a user
// who may read all.
func readSortOptions(c *commands.Ctx, mayStore bool) (o sortOptions) {
	a := &c.Args
	for a.More() {
		left := a.Left()
		switch {
		case a.Is("ASC"):
			o.desc = false
		case a.Is("DESC"):
			o.desc = true
		case a.Is("ALPHA"):
			o.alpha = true
		case left > 2 && a.Is("LIMIT"):
			o.limited, o.offset, o.count = true, a.Int(), a.Int()
		case mayStore && left > 1 && a.Is("STORE"):
			o.destination = a.Key()
		case left > 1 && a.Is("BY"):
			text := a.Bytes()
			by := newPattern(text)
			o.by, o.unsorted = &by, o.unsorted || !by.named
			if by.named && sortsOtherSlots(c, text) {
				a.Fail(errSortByInCluster)
			}
			if by.named && !c.Host.(Access).ReadsAll(c) {
				a.Fail(errSortBy)
			}
		case left > 1 && a.Is("GET"):
			text := a.Bytes()
			o.get = append(o.get, newPattern(text))
			if sortsOtherSlots(c, text) {
				a.Fail(errSortGetInCluster)
			}
			if !c.Host.(Access).ReadsAll(c) {
				a.Fail(errSortGet)
			}
		default:
			a.Syntax()
		}
	}
	return o
}

// sortsOtherSlots reports whether a pattern can make keys of another slot than that of the
// key, if keys have slots.
func sortsOtherSlots(c *commands.Ctx, pattern []byte) bool {
	return c.Host.Limits().Slots && commands.PatternSlot(pattern) != commands.KeySlot(c.Args.All()[1])
}

// window is which of n elements are asked for: count of them from one on.
func (o *sortOptions) window(n int) (from, count int) {
	if !o.limited {
		return 0, n
	}
	from = int(min(max(o.offset, 0), int64(n)))
	count = n - from
	if o.count >= 0 {
		count = int(min(o.count, int64(count)))
	}
	return from, count
}

// reads reports whether other keys are read for what is returned.
func (o *sortOptions) reads() bool {
	for i := range o.get {
		if o.get[i].named {
			return true
		}
	}
	return false
}

func sortAndStore(c *commands.Ctx) error { return sortElements(c, true) }
func sortReadOnly(c *commands.Ctx) error { return sortElements(c, false) }

// quickSort is how many elements are sorted under the lock of their key at most, if
// that is not needed: half a millisecond.
const quickSort = 1 << 12

func sortElements(c *commands.Ctx, mayStore bool) error {
	key := c.Args.Key()
	o := readSortOptions(c, mayStore)
	if err := c.Args.Done(); err != nil {
		return err
	}
	elems, err := gather(c, key, &o)
	if err != nil {
		return err
	}
	if err := elems.weigh(c, &o); err != nil {
		elems.release()
		return err
	}
	reply := func() {
		elems.order(&o)
		replySorted(c, elems, &o)
		elems.release()
	}
	switch {
	case o.destination != nil:
		elems.order(&o)
		err = storeSorted(c, elems, &o)
		elems.release()
	case len(elems.all) <= quickSort || o.reads():
		reply()
	default:
		c.Later(reply)
	}
	return err
}

// output visits what is returned of the elements: ok is false for a key or field that
// GET does not find.
func (o *sortOptions) output(c *commands.Ctx, elems *elements, visit func(value []byte, ok bool)) {
	for _, s := range elems.all {
		elem := elems.bytes(s.elem)
		if len(o.get) == 0 {
			visit(elem, true)
		}
		for j := range o.get {
			visit(o.get[j].value(c, elem))
		}
	}
}

func replySorted(c *commands.Ctx, elems *elements, o *sortOptions) {
	c.Reply.Array(len(elems.all) * max(len(o.get), 1))
	o.output(c, elems, func(value []byte, ok bool) {
		if ok {
			c.Reply.Bulk(value)
		} else {
			c.Reply.Null()
		}
	})
}

// storeSorted makes a list of what would be returned, with empty strings for what is
// not there. An empty result removes the destination.
func storeSorted(c *commands.Ctx, elems *elements, o *sortOptions) error {
	l := list.New()
	o.output(c, elems, func(value []byte, _ bool) { l.Push(nil, list.Tail, value) })
	n := l.Len()
	switch {
	case n > 0:
		if err := commands.Store(c, o.destination, l); err != nil {
			return err
		}
		c.Notify(commands.EventList, "sortstore", o.destination)
	case c.Tx.Delete(o.destination):
		c.Notify(commands.EventGeneric, "del", o.destination)
	}
	c.Reply.Int(int64(n))
	return nil
}
