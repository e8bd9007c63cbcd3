package scheduler

import (
	"math"
	"math/bits"
	"unsafe"
)

// dueTree finds the slot with the least time, the lowest of several.
//
// It is a tree of fan-out 64, four levels for the largest table. A leaf block
// holds the times of 64 slots and which of them take part; a block above holds
// the least time below each of its 64 children. Blocks are allocated where slots
// are in use, and a new level goes on top: growing moves nothing.
//
// Everything is a function of the leaves. Cost: first and set 64 comparisons a
// level. Memory: 9 bytes a slot.
type dueTree struct {
	leaves []*dueLeaf
	above  [][]*dueBlock // levels, the lowest first; the last has one block
	size   int           // bytes of blocks
}

type dueLeaf struct {
	shown uint64
	time  [64]float64
}

// dueBlock holds infinity where nothing takes part.
type dueBlock [64]float64

func (d *dueTree) reset() { *d = dueTree{} }

func (d *dueTree) bytes() int {
	n := d.size + 8*cap(d.leaves)
	for _, level := range d.above {
		n += 8 * cap(level)
	}
	return n
}

// least is the least time that takes part, and where.
func (l *dueLeaf) least() (time float64, at int) {
	time, at = math.Inf(1), -1
	for rest := l.shown; rest != 0; rest &= rest - 1 {
		if i := bits.TrailingZeros64(rest); l.time[i] < time {
			time, at = l.time[i], i
		}
	}
	return time, at
}

func (b *dueBlock) least() (time float64, at int) {
	time, at = math.Inf(1), -1
	for i, t := range b {
		if t < time {
			time, at = t, i
		}
	}
	return time, at
}

// at is the time of a slot, infinity if none was set.
func (d *dueTree) at(slot int) float64 {
	if id := slot / 64; id < len(d.leaves) && d.leaves[id] != nil {
		return d.leaves[id].time[slot%64]
	}
	return math.Inf(1)
}

// first is the slot with the least time, or -1.
func (d *dueTree) first() int {
	id := 0
	for level := len(d.above) - 1; level >= 0; level-- {
		_, at := d.above[level][id].least()
		if at < 0 {
			return -1
		}
		id = id*64 + at
	}
	if id >= len(d.leaves) || d.leaves[id] == nil {
		return -1
	}
	_, at := d.leaves[id].least()
	if at < 0 {
		return -1
	}
	return id*64 + at
}

// between counts the times that take part after low and before high, up to
// limit. It looks into at most effort blocks and stops when that is not enough: a
// block has to be looked into for times up to low or for times between.
func (d *dueTree) between(low, high float64, limit, effort int) int {
	count := 0
	d.look(len(d.above)-1, 0, &interval{low, high, limit, effort}, &count)
	return count
}

type interval struct {
	low, high     float64
	limit, effort int
}

func (d *dueTree) look(level, id int, v *interval, count *int) {
	if v.effort--; v.effort < 0 {
		return
	}
	if level >= 0 {
		for i, t := range d.above[level][id] {
			if *count < v.limit && v.effort >= 0 && t < v.high {
				d.look(level-1, id*64+i, v, count)
			}
		}
		return
	}
	if id >= len(d.leaves) || d.leaves[id] == nil {
		return
	}
	l := d.leaves[id]
	for rest := l.shown; rest != 0 && *count < v.limit; rest &= rest - 1 {
		if t := l.time[bits.TrailingZeros64(rest)]; t > v.low && t < v.high {
			*count++
		}
	}
}

// set gives a slot a time, with which it takes part if it is shown and the time
// is finite.
func (d *dueTree) set(slot int, time float64, shown bool) {
	l := d.fill(slot, time, shown)
	least, _ := l.least()
	id := slot / 64
	for level := range d.above {
		b := d.above[level][id/64]
		if b[id%64] == least {
			return
		}
		b[id%64] = least
		least, _ = b.least()
		id /= 64
	}
}

// fill is set without the blocks above; settle must follow the last one.
func (d *dueTree) fill(slot int, time float64, shown bool) *dueLeaf {
	l := d.leaf(slot / 64)
	l.time[slot%64] = time
	l.shown &^= 1 << (slot % 64)
	if shown {
		l.shown |= 1 << (slot % 64)
	}
	return l
}

// settle computes all blocks above the leaves.
func (d *dueTree) settle() {
	for level := range d.above {
		for id, b := range d.above[level] {
			if b != nil {
				d.compute(b, level, id)
			}
		}
	}
}

// leaf is a leaf block, made with the blocks above it if need be.
func (d *dueTree) leaf(id int) *dueLeaf {
	for len(d.leaves) <= id {
		d.leaves = append(d.leaves, nil)
	}
	if d.leaves[id] == nil {
		l := new(dueLeaf)
		for i := range l.time {
			l.time[i] = math.Inf(1)
		}
		d.leaves[id] = l
		d.size += int(unsafe.Sizeof(*l))
		d.cover(id)
	}
	return d.leaves[id]
}

// cover makes the blocks above a leaf and enough levels.
func (d *dueTree) cover(id int) {
	below := len(d.leaves)
	for level := 0; below > 1; level++ {
		blocks := (below + 63) / 64
		if level == len(d.above) {
			d.above = append(d.above, nil)
		}
		for len(d.above[level]) < blocks {
			d.above[level] = append(d.above[level], nil)
		}
		id /= 64
		d.block(level, id)
		if level == len(d.above)-1 || blocks == 1 {
			d.block(level, 0)
		}
		below = blocks
	}
}

// block makes a block if need be.
func (d *dueTree) block(level, id int) {
	if d.above[level][id] != nil {
		return
	}
	b := new(dueBlock)
	d.compute(b, level, id)
	d.above[level][id] = b
	d.size += int(unsafe.Sizeof(*b))
}

// compute takes a block from what is below.
func (d *dueTree) compute(b *dueBlock, level, id int) {
	for i := range b {
		b[i] = math.Inf(1)
		child := id*64 + i
		if level == 0 && child < len(d.leaves) && d.leaves[child] != nil {
			b[i], _ = d.leaves[child].least()
		} else if level > 0 && child < len(d.above[level-1]) && d.above[level-1][child] != nil {
			b[i], _ = d.above[level-1][child].least()
		}
	}
}
