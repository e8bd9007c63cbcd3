package list

import (
	"bytes"
	"strconv"

	"github.com/vigildb/vigil/structures"
)

// Tell appends commands that do to a list at key, which is as this one was before, what recorded operations have just done to this
// one. It returns false if there are none for that: then c is to be cut, and the whole list told anew.
func (l *List) Tell(c *structures.Commands, key, ops []byte) bool {
	var args structures.Args
	for len(ops) > 0 {
		op, rest, err := args.Next(ops)
		if err != nil || !l.tell(c, key, op, &args, len(rest) == 0) || args.Err() != nil {
			return false
		}
		ops = rest
	}
	return true
}

// pushes are the commands of operations whose arguments are elements, pops those of operations with a number.
var (
	pushes = map[byte]string{opListPushHead: "LPUSH", opListPushTail: "RPUSH"}
	pops   = map[byte]string{opListPopHead: "LPOP", opListPopTail: "RPOP"}
)

// tell tells one operation; last says that the list is as this has left it.
func (l *List) tell(c *structures.Commands, key []byte, op byte, args *structures.Args, last bool) bool {
	switch op {
	case opListPushHead, opListPushTail:
		c.Command(pushes[op], 2+args.Left())
		c.Bytes(key)
		for args.Left() > 0 && args.Err() == nil {
			c.Bytes(args.Bytes())
		}
	case opListPopHead, opListPopTail:
		if args.Left() == 0 {
			c.Of(pops[op], key)
			break
		}
		c.Command(pops[op], 3)
		c.Bytes(key)
		c.Int(int64(args.Uint()))
	case opListSet, opListRemove:
		name := "LSET"
		if op == opListRemove {
			name = "LREM"
		}
		c.Command(name, 4)
		c.Bytes(key)
		c.Int(args.Int())
		c.Bytes(args.Bytes())
	case opListTrim:
		from, n := int64(args.Uint()), int64(args.Uint())
		if n == 0 { // no pair of indexes says that for a list of any length but this
			c.Of("DEL", key)
			break
		}
		c.Command("LTRIM", 4)
		c.Bytes(key)
		c.Int(from)
		c.Int(from + n - 1)
	case opListInsert:
		return last && l.tellInsert(c, key, int(args.Int()), args.Bytes())
	default:
		return false
	}
	return true
}

// tellInsert tells that elem was put at index i. LINSERT finds the first element that is equal to a pivot, so the one that was at i
// is replaced by a pivot that is not before it.
func (l *List) tellInsert(c *structures.Commands, key []byte, i int, elem []byte) bool {
	switch i {
	case 0:
		c.Of("LPUSH", key, elem)
		return true
	case l.len - 1:
		c.Of("RPUSH", key, elem)
		return true
	}
	pivot, ok := l.pivot(i)
	if !ok {
		return false
	}
	moved, ok := l.Index(i + 1)
	if !ok {
		return false
	}
	set := func(at int, b []byte) {
		c.Command("LSET", 4)
		c.Bytes(key)
		c.Int(int64(at))
		c.Bytes(b)
	}
	moved = bytes.Clone(moved)
	set(i, pivot)
	c.Of("LINSERT", key, []byte("BEFORE"), pivot, elem)
	set(i+1, moved)
	return true
}

// pivotName begins the elements that pivot chooses from.
const pivotName = "vigil:"

// pivot returns an element that is not among the first n.
func (l *List) pivot(n int) ([]byte, bool) {
	taken, seen := map[string]bool{}, 0
	l.Range(0, n-1, func(elem []byte) {
		seen++
		if bytes.HasPrefix(elem, []byte(pivotName)) {
			taken[string(elem)] = true
		}
	})
	if seen != n {
		return nil, false // a page cannot be read
	}
	for i := 0; ; i++ {
		if p := pivotName + strconv.Itoa(i); !taken[p] {
			return []byte(p), true
		}
	}
}
