package keys

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/set"
	"github.com/vigildb/vigil/structures/zset"
)

// sortable is an element, and what decides where it belongs. Both are copies.
type sortable struct {
	elem   []byte
	text   []byte // with ALPHA, nil if the key that BY names is not there
	weight float64
}

// elements gathers copies of elements in one buffer.
type elements struct {
	buf  []byte
	ends []int
}

func (e *elements) add(elem []byte) {
	e.buf = structures.Append(e.buf, elem)
	e.ends = append(e.ends, len(e.buf))
}

func (e *elements) all() []sortable {
	out, from := make([]sortable, len(e.ends)), 0
	for i, end := range e.ends {
		out[i].elem = e.buf[from:end:end]
		from = end
	}
	return out
}

// gather copies the elements of a key, in their own order or, if they are not to be
// sorted, in the order asked for; of lists and sorted sets then only those that are
// asked for.
func gather(c *commands.Ctx, key []byte, o *sortOptions) ([]sortable, error) {
	v, err := c.Tx.Value(key)
	if err != nil {
		return nil, err
	}
	var e elements
	switch v := v.(type) {
	case nil:
		c.NotifyMissed(key)
	case *structures.List:
		gatherList(&e, v, o)
	case *zset.Set:
		gatherSorted(&e, v, o)
	case *set.Set:
		if o.unsorted && o.destination != nil {
			// What a set's own order is nobody knows: it does not decide what a key holds.
			o.unsorted, o.alpha, o.by = false, true, nil
		}
		v.Each(func(member []byte) bool { e.add(member); return true })
	default:
		return nil, structures.ErrWrongType
	}
	return e.all(), nil
}

func gatherList(e *elements, l *structures.List, o *sortOptions) {
	n := l.Len()
	if !o.unsorted {
		l.Range(0, -1, e.add)
		return
	}
	from, count := o.window(n)
	o.limited = false
	if !o.desc {
		l.Range(from, from+count-1, e.add)
		return
	}
	var backwards [][]byte
	l.Range(n-from-count, n-from-1, func(elem []byte) { backwards = append(backwards, elem) })
	for _, elem := range slices.Backward(backwards) {
		e.add(elem)
	}
}

func gatherSorted(e *elements, s *zset.Set, o *sortOptions) {
	from, count := 0, s.Len()
	if o.unsorted {
		from, count = o.window(s.Len())
		o.limited = false
	}
	add := func(member []byte, _ float64) bool { e.add(member); return true }
	if o.unsorted && o.desc {
		s.Reverse(s.Len()-1-from, count, add)
	} else {
		s.Range(from, count, add)
	}
}

// weigh finds what the elements are compared by.
func weigh(c *commands.Ctx, elems []sortable, o *sortOptions) error {
	if o.unsorted {
		return nil
	}
	for i := range elems {
		e := &elems[i]
		value, ok := e.elem, true
		if o.by != nil {
			if value, ok = o.by.value(c, e.elem); !ok {
				continue
			}
		}
		if o.alpha {
			if e.text = value; o.by != nil {
				e.text = append([]byte{}, value...)
			}
		} else if e.weight, ok = parseWeight(value); !ok {
			return errNotWeights
		}
	}
	return nil
}

// parseWeight reads a number as strtod does: spaces may be in front, and nothing at
// all is zero.
func parseWeight(b []byte) (float64, bool) {
	if len(b) == 0 {
		return 0, true
	}
	return commands.ParseFloat(bytes.TrimLeft(b, " \t\n\v\f\r"))
}

// compare orders two elements. Those of the same weight are in the order of bytes, those
// whose texts are equal have none.
func (o *sortOptions) compare(a, b sortable) int {
	order := 0
	if !o.alpha {
		order = cmp.Or(cmp.Compare(a.weight, b.weight), bytes.Compare(a.elem, b.elem))
	} else if (a.text == nil) != (b.text == nil) {
		order = 1
		if a.text == nil {
			order = -1
		}
	} else {
		order = bytes.Compare(a.text, b.text)
	}
	if o.desc {
		return -order
	}
	return order
}

// ordered sorts the elements, if that is asked for, and returns those within the limit.
func ordered(elems []sortable, o *sortOptions) []sortable {
	switch {
	case o.unsorted:
	case o.alpha && o.by != nil: // equal texts do not make equal elements, which keep their order
		slices.SortStableFunc(elems, o.compare)
	default:
		slices.SortFunc(elems, o.compare)
	}
	from, count := o.window(len(elems))
	return elems[from : from+count]
}
