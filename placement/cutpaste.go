package placement

import (
	"math/bits"
	"slices"
)

// cutpaste is the cut-and-paste strategy (section 8.3), for equal units.
//
// Model: n units with numbers 1 to n; number i holds the heights [0, 1/n). At
// first number 1 holds [0, 1). When number n+1 joins, the heights
// [1/(n+1), 1/n) are cut off every other one, and what was cut is stacked to
// [0, 1/(n+1)) of the new one, that of the highest number at the bottom. To find an object
// with x = h/2^64 only the steps that move it are replayed: d = 1; while
// x >= 1/n: y = ceil(1/x); x -= d/(y(y-1)); d = y. (The notes print
// x - 1/y + (y-1-d)/(y(y-1)), and h - 1/(n+1) + (n-i)/(n(n+1)) for a join:
// their simpler forms, h - i/(n(n+1)) for the latter, are these.)
//
// Here x is in units of 2^-64: a number is reached at thr = ceil(2^64/n), y is
// floor((2^64-1)/x) + 1, and what is taken from x is rounded up, which keeps
// 0 <= x < 1/y. In float64 the printed program returns the unit n+1, which
// does not exist, for x = fl(1/n) at n = 49, 98, 103 and many others.
//
// Theorem 8.4: perfectly faithful, and 2-competitive. A join moves the optimum
// 1/(n+1), all to the new unit. When another than the last number leaves, the
// last takes its number: computed as one net move that is
// (1/n)(2 - 1/(n-1)); in two physical passes, as the notes put it, it would be
// (1/n)(2 + 1/(n-1)), which breaks the theorem.
// Theorem 8.5: O(log n) steps a lookup: the mean is H_n - 1, and the second
// next number is at least 4d-1 (the notes say 2d). 8 bytes of numbering a unit.
//
// Cost: about 22 ns a lookup at n = 1000. Two tables, 16 bytes a number and at
// most 64 KiB, replace one of the two divisions of a step and the first steps
// of most lookups. O(n) a change. State: the numbering.
type cutpaste struct {
	ordering
	top   uint64 // the largest height of a number: ceil(2^64/n) - 1
	cuts  []cut  // by number; cuts[0] and cuts[1] unused
	heads []head // by the upper bits of x
	shift uint   // 64 - log2(len(heads))
}

// cut tells what d takes from x on the way to number y:
// ceil(d 2^64 / (y(y-1))) = d whole + floor(d part / 2^64) + 1.
type cut struct{ whole, part uint64 }

// head is the common beginning of the paths of all x with the same upper bits:
// what is taken from x, and the number reached.
type head struct {
	taken  uint64
	number int64
}

const maxHeads = 1 << 12

func specCutPaste() Spec {
	return Spec{Name: "cutpaste", Number: 4, MaxUnits: MaxUnits,
		Summary: "cut-and-paste: equal units, exact shares, joins move the optimum",
		New:     func(Options) Strategy { return &cutpaste{} }}
}

func (c *cutpaste) Locate(hash uint64) int {
	if len(c.order) == 0 {
		return -1
	}
	h := &c.heads[hash>>c.shift]
	x, d := hash-h.taken, h.number
	for x > c.top {
		y := ^uint64(0)/x + 1
		x -= c.cuts[y].of(uint64(d))
		d = int64(y)
	}
	return int(c.order[d-1])
}

func (q cut) of(d uint64) uint64 {
	hi, _ := bits.Mul64(d, q.part)
	return d*q.whole + hi + 1
}

// newCut returns the cut of a number y >= 2. With Y = y(y-1) and r the rest of
// 2^64 by Y, part is the largest integer below r 2^64 / Y. For d < y <= 2^16
// the error d of d part is below 2^64/Y, the distance of d r/Y to the next
// integer, so that the floor plus one is the ceiling. Y divides 2^64 for y = 2
// alone, where one is borrowed from whole.
func newCut(y uint64) cut {
	q, r := bits.Div64(1, 0, y*(y-1))
	if r == 0 {
		return cut{q - 1, ^uint64(0)}
	}
	p, rest := bits.Div64(r, 0, y*(y-1))
	if rest == 0 {
		p--
	}
	return cut{q, p}
}

// build makes the tables for the numbers of c.order, keeping cuts made before.
func (c *cutpaste) build() {
	n := uint64(len(c.order))
	if n == 0 {
		return
	}
	c.top = equalEnd(0, int(n))
	cuts := slices.Clone(c.cuts[:min(len(c.cuts), int(n)+1)])
	for y := uint64(len(cuts)); y <= n; y++ {
		if y < 2 {
			cuts = append(cuts, cut{})
			continue
		}
		cuts = append(cuts, newCut(y))
	}
	c.cuts = cuts
	b := uint(min(bits.Len64(n-1)+4, bits.Len64(maxHeads)-1))
	c.shift = 64 - b
	c.heads = make([]head, 1<<b)
	for i := range c.heads {
		c.heads[i] = c.begin(uint64(i)<<c.shift, uint64(i)<<c.shift|(1<<c.shift-1))
	}
}

// begin follows the paths of first and last as long as they agree. Steps grow
// with 1/x and shift all x alike, so all between them agree too.
func (c *cutpaste) begin(first, last uint64) head {
	h := head{number: 1}
	for first > c.top {
		y := ^uint64(0)/first + 1
		if ^uint64(0)/last+1 != y {
			break
		}
		taken := c.cuts[y].of(uint64(h.number))
		first, last = first-taken, last-taken
		h.taken, h.number = h.taken+taken, int64(y)
	}
	return h
}

func (c *cutpaste) Set(unit int, capacity Capacity) error { return set(c, unit, capacity) }

func (c *cutpaste) Remove(unit int) error { return remove(c, unit) }

// Apply implements Batcher.
func (c *cutpaste) Apply(changes []Change) error {
	next, err := c.apply(changes)
	if err == nil {
		c.ordering = next
		c.build()
	}
	return err
}

func (c *cutpaste) Clone() Strategy { d := *c; return &d }

func (c *cutpaste) Bytes() int { return c.bytes() + 16*cap(c.cuts) + 16*cap(c.heads) }

func (c *cutpaste) DecodeState(state []byte) error {
	order, err := c.decodeOrder(state)
	if err == nil {
		c.order = order
	}
	return err
}

func (c *cutpaste) Moves(to Strategy, visit func(from, to int, share Fraction)) {
	a, b := c.order, to.(*cutpaste).order
	if len(a) == 0 || len(b) == 0 || slices.Equal(a, b) {
		return
	}
	small, large, back := a, b, false
	if len(a) > len(b) {
		small, large, back = b, a, true
	}
	stack(len(small), len(large), func(i, k int, share Fraction) {
		from, to := small[i], large[k]
		if back {
			from, to = to, from
		}
		if from != to {
			visit(int(from), int(to), share)
		}
	})
}

// piece is a part of a number's heights that came from one number of the
// smaller system.
type piece struct {
	origin int
	height float64
}

// stack visits the share of objects that are at i of s units and at k of l >= s
// units, counted from 0: it cuts and pastes pieces of heights, O(l (l-s)).
func stack(s, l int, visit func(i, k int, share Fraction)) {
	heights := make([][]piece, l) // of a number: from the bottom up
	for i := range s {
		heights[i] = []piece{{i, 1 / float64(s)}}
	}
	for n := s; n < l; n++ {
		cutting := 1 / float64(n) / float64(n+1)
		for i := n - 1; i >= 0; i-- {
			heights[i], heights[n] = cutTop(heights[i], heights[n], cutting)
		}
	}
	for k, pieces := range heights {
		for _, p := range pieces {
			visit(p.origin, k, Fraction(p.height))
		}
	}
}

// cutTop moves the uppermost `height` of the pieces from to the end of to, in
// their order.
func cutTop(from, to []piece, height float64) (rest, grown []piece) {
	at := len(from)
	for at > 0 && from[at-1].height <= height {
		at--
		height -= from[at].height
	}
	if at > 0 && height > 0 {
		from[at-1].height -= height
		to = append(to, piece{from[at-1].origin, height})
	}
	return from[:at], append(to, from[at:]...)
}
