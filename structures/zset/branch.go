package zset

import (
	"slices"
	"unsafe"

	"github.com/vigildb/vigil/structures/paged"
)

// branch is an inner node. Of each child it knows the score of its first entry and
// the number of its entries, so that going down by score touches only branches, but
// where scores are equal.
type branch struct {
	up          *branch
	paged.State          // of its page, if it is on the lowest level
	num         uint32   // of its page; 0 if it has none
	firsts      []uint64 // order of the first score of each child
	counts      []uint32
	leaves      []*leaf   // the children on the lowest level, else nil
	below       []*branch // the children on the others, else nil
}

const (
	// fan is the number of children of a branch: three levels hold 10^8 members.
	fan = 128
	// branchSize counts the arrays too, which are made as large as they can get.
	branchSize = int(unsafe.Sizeof(branch{})) + fan*(8+4+8)
)

func newBranch(leaves bool) *branch {
	n := &branch{firsts: make([]uint64, 0, fan), counts: make([]uint32, 0, fan)}
	if leaves {
		n.leaves = make([]*leaf, 0, fan)
	} else {
		n.below = make([]*branch, 0, fan)
	}
	return n
}

func (n *branch) len() int { return len(n.firsts) }

// leftmost is the first leaf of child i.
func (n *branch) leftmost(i int) *leaf {
	for ; n.leaves == nil; i = 0 {
		n = n.below[i]
	}
	return n.leaves[i]
}

// rightmost is the last leaf of child i.
func (n *branch) rightmost(i int) *leaf {
	for n.leaves == nil {
		n = n.below[i]
		i = n.len() - 1
	}
	return n.leaves[i]
}

// placeOf is the index of a child that is a branch.
func (n *branch) placeOf(child *branch) int { return slices.Index(n.below, child) }

// placeOfLeaf is the index of a child that is a leaf.
func (n *branch) placeOfLeaf(l *leaf) int { return slices.Index(n.leaves, l) }

// total is the number of entries below.
func (n *branch) total() (sum uint32) {
	for _, c := range n.counts {
		sum += c
	}
	return sum
}

// child is a child that comes into a branch: one of leaf and below is set.
type child struct {
	leaf  *leaf
	below *branch
}

// insert makes a child the one with index i. There must be room.
func (n *branch) insert(i int, c child) {
	if c.leaf != nil {
		n.leaves = slices.Insert(n.leaves, i, c.leaf)
		n.firsts = slices.Insert(n.firsts, i, c.leaf.first())
		n.counts = slices.Insert(n.counts, i, uint32(c.leaf.len()))
		c.leaf.up = n
		return
	}
	n.below = slices.Insert(n.below, i, c.below)
	n.firsts = slices.Insert(n.firsts, i, c.below.firsts[0])
	n.counts = slices.Insert(n.counts, i, c.below.total())
	c.below.up = n
}

// cut removes the children from one index to another.
func (n *branch) cut(from, to int) {
	n.firsts = slices.Delete(n.firsts, from, to)
	n.counts = slices.Delete(n.counts, from, to)
	if n.leaves != nil {
		n.leaves = slices.Delete(n.leaves, from, to)
	} else {
		n.below = slices.Delete(n.below, from, to)
	}
}

// take appends the children of another branch from an index on, and removes them
// there. There must be room.
func (n *branch) take(o *branch, from int) {
	n.firsts = append(n.firsts, o.firsts[from:]...)
	n.counts = append(n.counts, o.counts[from:]...)
	if n.leaves != nil {
		for _, l := range o.leaves[from:] {
			l.up = n
			n.leaves = append(n.leaves, l)
		}
	} else {
		for _, b := range o.below[from:] {
			b.up = n
			n.below = append(n.below, b)
		}
	}
	o.cut(from, o.len())
}

// refresh brings what the branches above know of n up to date.
func (n *branch) refresh() {
	for ; n.up != nil; n = n.up {
		i := n.up.placeOf(n)
		n.up.counts[i], n.up.firsts[i] = n.total(), n.firsts[0]
	}
}
