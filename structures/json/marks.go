package json

import "bytes"

// marks are where some members of a container begin, so that members that are looked for one after
// the other, in either direction, are found without passing all before them. A call that changes
// every element of a page would be quadratic in the page otherwise.
type marks struct {
	run *run // in which the container is; nil: in the root
	at  int  // where it begins there; wholeRun: it is the members of the run
	// offsets has, in the run, members 0, markEvery, 2*markEvery... up to where they were looked for.
	offsets []int32
	last    int // member whose name was found last
}

const (
	markEvery = 16
	// fewMembers is up to how many members are passed one by one.
	fewMembers = 3 * markEvery
	// maxMarked is how many containers have marks: the last ones that were used.
	maxMarked = 4
	wholeRun  = -1
)

// marked returns the marks of a container whose members begin at first. They are valid until the
// next call.
func (d *Document) marked(r *run, at, first int) *marks {
	for i := range d.marks {
		if m := &d.marks[i]; m.run == r && m.at == at {
			d.marks[0], d.marks[i] = d.marks[i], d.marks[0]
			return &d.marks[0]
		}
	}
	if len(d.marks) < maxMarked {
		d.marks = append(d.marks, marks{})
	}
	i := len(d.marks) - 1
	d.marks[i], d.marks[0] = d.marks[0], d.marks[i]
	d.marks[0] = marks{run: r, at: at, offsets: append(d.marks[0].offsets[:0], int32(first))}
	return &d.marks[0]
}

// member returns where member i begins of a container of count members, the first of which is at an
// offset of b.
func (d *Document) member(r *run, at int, b []byte, first, count, i int, named bool) int {
	if count < fewMembers {
		return first + skip(b[first:], named, i)
	}
	m := d.marked(r, at, first)
	for len(m.offsets) <= i/markEvery {
		end := int(m.offsets[len(m.offsets)-1])
		m.offsets = append(m.offsets, int32(end+skip(b[end:], named, markEvery)))
	}
	from := int(m.offsets[i/markEvery])
	return from + skip(b[from:], named, i%markEvery)
}

// memberNamed returns where the member of a name begins in an object whose members are b from first
// on, and how many are before it, or -1. It begins a little before the member that was found last.
func (d *Document) memberNamed(r *run, at int, b []byte, first, count int, name []byte) (off, i int) {
	if count < fewMembers {
		if off, i = findName(b[first:], name); off >= 0 {
			off += first
		}
		return off, i
	}
	m := d.marked(r, at, first)
	k := min(max(m.last-1, 0)/markEvery, len(m.offsets)-1)
	start := int(m.offsets[k])
	off, i = start, k*markEvery
	for off < len(b) {
		if i == len(m.offsets)*markEvery {
			m.offsets = append(m.offsets, int32(off))
		}
		other, n := nameOf(b[off:])
		if bytes.Equal(other, name) {
			m.last = i
			return off, i
		}
		off += n
		off += sizeOf(b[off:])
		i++
	}
	if off, i = findName(b[first:start], name); off < 0 {
		return off, i
	}
	m.last = i
	return first + off, i
}

// moved says that bytes of a run from one offset to another became others: as many, or else those
// behind them are elsewhere now.
func (d *Document) moved(r *run, from, to int, asMany bool) {
	for i := 0; i < len(d.marks); i++ {
		m := &d.marks[i]
		if m.run != r || asMany && (m.at < from || m.at >= to) {
			continue
		}
		n := 0
		for ; m.at < from && n < len(m.offsets) && int(m.offsets[n]) <= from; n++ {
		}
		if m.offsets = m.offsets[:n]; n == 0 {
			d.unmark(i)
			i--
		}
	}
}

// unmark forgets the marks of one container. Their memory is kept.
func (d *Document) unmark(i int) {
	last := len(d.marks) - 1
	d.marks[i], d.marks[last] = d.marks[last], d.marks[i]
	d.marks[last].run = nil
	d.marks = d.marks[:last]
}

// unmarkRun forgets all marks within a run.
func (d *Document) unmarkRun(r *run) { d.moved(r, wholeRun, 0, false) }
