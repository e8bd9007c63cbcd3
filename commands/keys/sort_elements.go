package keys

import (
	"bytes"
	"cmp"
	"slices"
	"sync"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/list"
	"github.com/vigildb/vigil/structures/set"
	"github.com/vigildb/vigil/structures/zset"
)

// elements are copies of what is sorted, and of the texts that it is compared by, in
// one buffer. Without pointers they are sorted and collected in little time.
type elements struct {
	buf   []byte
	all   []sortable
	other []sortable  // room for all when it is sorted
	ranks [2][]ranked // likewise
}

// spares are elements of earlier calls: most of what a short sort costs is otherwise
// room for them.
var spares = sync.Pool{New: func() any { return new(elements) }}

// release gives the elements to a later call, but for the room of big ones.
func (e *elements) release() {
	const kept = 4 << 10
	if cap(e.all) > kept || cap(e.buf) > 16*kept {
		return
	}
	e.buf, e.all = e.buf[:0], e.all[:0]
	spares.Put(e)
}

// sortable is an element, and what decides where it belongs.
type sortable struct {
	elem, text span    // text: with ALPHA, nowhere if what BY names is not there
	weight     float64 // without ALPHA
}

// span is a part of the buffer.
type span struct{ from, to int }

var nowhere = span{-1, -1}

func (e *elements) bytes(s span) []byte { return e.buf[s.from:s.to:s.to] }

// keep copies bytes to the buffer.
func (e *elements) keep(b []byte) span {
	from := len(e.buf)
	e.buf = structures.Append(e.buf, b)
	return span{from, len(e.buf)}
}

func (e *elements) add(elem []byte) {
	s := e.keep(elem)
	e.all = append(e.all, sortable{elem: s, text: s})
}

// expect makes room for n elements.
func (e *elements) expect(n int) {
	const usual = 8 // bytes
	e.all, e.buf = slices.Grow(e.all, n), slices.Grow(e.buf, n*usual)
}

// gather copies the elements of a key, in their own order or, if they are not to be
// sorted, in the order asked for; of lists and sorted sets then only those that are
// asked for.
func gather(c *commands.Ctx, key []byte, o *sortOptions) (e *elements, err error) {
	v, err := c.Tx.Value(key)
	c.Looked(key, v != nil, cmp.Or(err, c.Tx.Err()))
	if err != nil {
		return nil, err
	}
	e = spares.Get().(*elements)
	switch v := v.(type) {
	case nil:
	case *list.List:
		e.addList(v, o)
	case *zset.Set:
		e.addSorted(v, o)
	case *set.Set:
		if o.unsorted && (o.destination != nil || c.InScript) {
			// What a set's own order is nobody knows: it does not decide what a key holds.
			o.unsorted, o.alpha, o.by = false, true, nil
		}
		v = v.Live(c.Now)
		e.expect(v.Len())
		v.Each(func(member []byte) bool { e.add(member); return true })
	default:
		e.release()
		return nil, structures.ErrWrongType
	}
	return e, nil
}

func (e *elements) addList(l *list.List, o *sortOptions) {
	n := l.Len()
	from, count := 0, n
	if o.unsorted {
		from, count = o.window(n)
		o.limited = false
	}
	e.expect(count)
	if o.unsorted && o.desc {
		l.Range(n-from-count, n-from-1, e.add)
		slices.Reverse(e.all)
	} else {
		l.Range(from, from+count-1, e.add)
	}
}

func (e *elements) addSorted(s *zset.Set, o *sortOptions) {
	from, count := 0, s.Len()
	if o.unsorted {
		from, count = o.window(s.Len())
		o.limited = false
	}
	e.expect(count)
	add := func(member []byte, _ float64) bool { e.add(member); return true }
	if o.unsorted && o.desc {
		s.Reverse(s.Len()-1-from, count, add)
	} else {
		s.Range(from, count, add)
	}
}

// weigh finds what the elements are compared by.
func (e *elements) weigh(c *commands.Ctx, o *sortOptions) error {
	if o.unsorted || o.alpha && o.by == nil {
		return nil
	}
	for i := range e.all {
		s := &e.all[i]
		value, ok := e.bytes(s.elem), true
		if o.by != nil {
			if value, ok = o.by.value(c, value); !ok {
				s.text = nowhere
				continue
			}
		}
		if o.alpha {
			s.text = e.keep(value)
		} else if s.weight, ok = commands.ParseScore(value); !ok {
			return errNotWeights
		}
	}
	return nil
}

// byWeight orders those of the same weight by their bytes, so that the result depends
// on nothing else.
func (e *elements) byWeight(a, b sortable) int {
	switch {
	case a.weight < b.weight:
		return -1
	case a.weight > b.weight:
		return 1
	}
	return bytes.Compare(e.bytes(a.elem), e.bytes(b.elem))
}

// byText orders those without a text before the others. Those whose texts are equal have
// no order.
func (e *elements) byText(a, b sortable) int {
	switch {
	case a.text == nowhere && b.text == nowhere:
		return 0
	case a.text == nowhere:
		return -1
	case b.text == nowhere:
		return 1
	}
	return bytes.Compare(e.bytes(a.text), e.bytes(b.text))
}

// order sorts the elements, if that is asked for, and drops those beyond the limit.
func (e *elements) order(o *sortOptions) {
	from, count := o.window(len(e.all))
	compare := e.byWeight
	if o.alpha {
		compare = e.byText
	}
	if o.desc {
		ascending := compare
		compare = func(a, b sortable) int { return ascending(b, a) }
	}
	switch {
	case o.unsorted:
	case o.alpha && o.by != nil: // equal texts do not make equal elements, which keep their order
		slices.SortStableFunc(e.all, compare)
	case o.alpha:
		e.all = least(e.all, from+count, compare)
		slices.SortFunc(e.all, compare)
	default:
		e.all = least(e.all, from+count, compare)
		e.sortByWeight()
		if o.desc {
			slices.Reverse(e.all)
		}
	}
	e.all = e.all[from : from+count]
}

// least returns at least the n least elements. If they are few, most of the others are
// compared once.
func least(all []sortable, n int, compare func(a, b sortable) int) []sortable {
	room := 2*n + 64
	if room < len(all) {
		kept, worst := all[:0], -1 // worst is the place of the greatest of the n least so far
		for _, s := range all {
			if worst >= 0 && compare(s, kept[worst]) >= 0 {
				continue
			}
			if kept = append(kept, s); len(kept) == room {
				slices.SortFunc(kept, compare)
				kept, worst = kept[:max(n, 1)], max(n, 1)-1
			}
		}
		all = kept
	}
	return all
}
