package stream

import (
	"strconv"

	"github.com/vigildb/vigil/structures"
)

// mostClaimed is how many entries one command claims at most.
const mostClaimed = 1000

// Tell appends commands that do to a stream at key, which is as this one was before, what recorded operations have just done to
// this one; a stream that is missing is made. It returns false if there are none for that: then c is to be cut, and the whole
// stream told anew.
func (s *Stream) Tell(c *structures.Commands, key, ops []byte) bool {
	t := teller{s: s, c: c, key: key}
	for len(ops) > 0 {
		op, rest, err := t.args.Next(ops)
		if err != nil {
			return false
		}
		t.last = len(rest) == 0
		if !t.entries(op) || t.args.Done() != nil {
			return false
		}
		ops = rest
	}
	return true
}

type teller struct {
	s    *Stream
	c    *structures.Commands
	key  []byte
	args structures.Args
	last bool // the stream is as the operation at hand has left it
}

func (t *teller) add(name string, args ...[]byte) bool {
	t.c.Of(name, t.key, args...)
	return true
}

func word(s string) []byte     { return []byte(s) }
func number(n int64) []byte    { return strconv.AppendInt(nil, n, 10) }
func natural(n uint64) []byte  { return strconv.AppendUint(nil, n, 10) }
func (t *teller) id() []byte   { return word(readID(&t.args).String()) }
func (t *teller) some() []byte { return t.args.Bytes() }

// entries tells an operation on entries.
func (t *teller) entries(op byte) bool {
	a := &t.args
	switch op {
	case opAdd, opAddPage:
		t.c.Command("XADD", 1+a.Left())
		t.c.Bytes(t.key)
		t.c.Bytes(t.id())
		for a.Left() > 0 && a.Err() == nil {
			t.c.Bytes(a.Bytes())
		}
		return true
	case opDelete:
		return t.each("XDEL")
	case opTrim:
		if a.Left() == 0 {
			return t.add("XTRIM", word("MAXLEN"), word("="), word("0"))
		}
		return t.add("XTRIM", word("MINID"), word("="), t.id())
	case opWindow, opName: // a replica is told which entries there are, and needs no names
		for a.Left() > 0 && a.Err() == nil {
			a.Bytes()
		}
		return true
	case opSetID:
		last, added, deleted := t.id(), a.Uint(), t.id()
		return t.add("XSETID", last, word("ENTRIESADDED"), natural(added), word("MAXDELETEDID"), deleted)
	}
	return t.groups(op)
}

// each tells of the IDs that are left.
func (t *teller) each(name string, first ...[]byte) bool {
	ids, err := readIDs(&t.args)
	if err != nil {
		return false
	}
	for _, id := range ids {
		first = append(first, word(id.String()))
	}
	return t.add(name, first...)
}

// groups tells an operation on groups.
func (t *teller) groups(op byte) bool {
	a, name := &t.args, t.some()
	switch op {
	case opGroupCreate:
		last, read := t.id(), a.Int()
		t.c.Command("XGROUP", 8)
		t.c.String("CREATE")
		t.c.Bytes(t.key)
		t.c.Bytes(name)
		t.c.Bytes(last)
		t.c.String("MKSTREAM")
		t.c.String("ENTRIESREAD")
		t.c.Int(read)
		return true
	case opGroupSetID:
		last, read := t.id(), a.Int()
		t.setID(name, last, read)
		return true
	case opGroupDestroy:
		t.group("DESTROY", name)
		return true
	case opAck:
		return t.each("XACK", name)
	case opRelease:
		for a.Left() > 0 && a.Err() == nil {
			id := t.id()
			a.Int()
			t.claim(name, nil, 0, a.Int(), id)
		}
		return true
	}
	return t.consumers(op, name, t.some())
}

// group tells a subcommand of XGROUP.
func (t *teller) group(word string, args ...[]byte) {
	t.c.Command("XGROUP", 3+len(args))
	t.c.String(word)
	t.c.Bytes(t.key)
	for _, b := range args {
		t.c.Bytes(b)
	}
}

func (t *teller) setID(group, last []byte, read int64) {
	t.group("SETID", group, last, word("ENTRIESREAD"), number(read))
}

// consumers tells an operation on a consumer.
func (t *teller) consumers(op byte, group, consumer []byte) bool {
	a := &t.args
	switch op {
	case opConsumerCreate:
		a.Int()
		t.group("CREATECONSUMER", group, consumer)
		return true
	case opConsumerDelete:
		t.group("DELCONSUMER", group, consumer)
		return true
	}
	now := a.Int()
	switch op {
	case opDeliver, opDeliverNoAck:
		return t.last && t.deliver(group, consumer, now, int(a.Uint()), op == opDeliverNoAck)
	case opRedeliver:
		after, last := readID(a), readID(a)
		return t.last && t.redeliver(group, consumer, after, last)
	case opClaim:
		for a.Left() > 0 && a.Err() == nil {
			id, time, deliveries := t.id(), a.Int(), a.Int()
			t.claim(group, consumer, time, deliveries, id)
		}
		return true
	}
	return false
}

// claim tells that entries are pending of a consumer.
func (t *teller) claim(group, consumer []byte, time, deliveries int64, ids ...[]byte) {
	args := append([][]byte{group, consumer, word("0")}, ids...)
	t.add("XCLAIM", append(args, word("TIME"), number(time), word("RETRYCOUNT"), number(deliveries), word("FORCE"), word("JUSTID"))...)
}

// deliver tells that a consumer got the n entries up to the last one of its group.
func (t *teller) deliver(group, consumer []byte, now int64, n int, noAck bool) bool {
	g := t.s.Group(group)
	if g == nil {
		return false
	}
	if !noAck {
		var ids []ID
		t.s.Backward(ID{}, g.Last(), func(e *Entry) bool {
			ids = append(ids, e.ID)
			return len(ids) < n
		})
		if len(ids) != n {
			return false
		}
		var some [][]byte
		for i := n - 1; i >= 0; i-- {
			if some = append(some, word(ids[i].String())); len(some) == mostClaimed || i == 0 {
				t.claim(group, consumer, now, 1, some...)
				some = some[:0]
			}
		}
	}
	t.setID(group, word(g.Last().String()), g.Read())
	return true
}

// redeliver tells that a consumer got its pending entries behind one ID and up to another once more.
func (t *teller) redeliver(group, consumer []byte, after, last ID) bool {
	g := t.s.Group(group)
	if g == nil {
		return false
	}
	c, from := g.Consumer(consumer), after
	if next, ok := after.Next(); ok {
		from = next
	}
	if c == nil {
		return false
	}
	g.EachPendingOf(c, from, last, func(p Pending) bool {
		if t.s.Has(p.ID) { // Redis forgets one that is not there
			t.claim(group, consumer, p.Time, p.Deliveries, word(p.ID.String()))
		}
		return true
	})
	return true
}
