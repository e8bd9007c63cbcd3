package zset

import (
	"slices"

	"github.com/vigildb/vigil/structures/paged"
)

// tree keeps the leaves in order below their branches. It knows nothing of the index of members.
type tree struct {
	leaves
	root *branch // nil if there is one leaf, or none
	only *leaf   // the one leaf if there is no root
	// Of a set that is indexed, see indexed.go:
	branches   paged.Set[*branch] // on the lowest level
	lastBranch uint32             // the largest number of a page that a branch had
}

// firstLeaf returns the first leaf, nil if there is none.
func (t *tree) firstLeaf() *leaf {
	if t.root != nil {
		return t.root.leftmost(0)
	}
	return t.only
}

// lastLeaf returns the last leaf, nil if there is none.
func (t *tree) lastLeaf() *leaf {
	if t.root != nil {
		return t.root.rightmost(t.root.len() - 1)
	}
	return t.only
}

// next returns the leaf behind another, nil behind the last.
func next(l *leaf) *leaf {
	n := l.up
	if n == nil {
		return nil
	}
	i := n.placeOfLeaf(l)
	for i+1 == n.len() {
		if n.up == nil {
			return nil
		}
		i = n.up.placeOf(n)
		n = n.up
	}
	return n.leftmost(i + 1)
}

// previous returns the leaf before another, nil before the first.
func previous(l *leaf) *leaf {
	n := l.up
	if n == nil {
		return nil
	}
	i := n.placeOfLeaf(l)
	for i == 0 {
		if n.up == nil {
			return nil
		}
		i = n.up.placeOf(n)
		n = n.up
	}
	return n.rightmost(i - 1)
}

// seek returns the place of the first entry that a bound is not behind: a leaf and an
// index in it, which may be behind its last entry, and the number of entries before.
// The set must not be empty. The leaf is nil if a page cannot be read.
func (t *tree) seek(b *Bound) (l *leaf, i, rank int) {
	l, rank = t.leafOf(b)
	if l == nil || !t.pin(l) {
		return nil, 0, 0
	}
	i = b.in(l)
	return l, i, rank + i
}

// in returns the index of the first entry of a leaf in memory that the bound is not behind, which may be behind the
// last one.
func (b *Bound) in(l *leaf) int {
	lo, hi := 0, l.len()
	for lo < hi {
		mid := (lo + hi) / 2
		if b.after(l, mid) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// leafOf is seek for the leaf alone, which may be evicted, and the number of entries before it.
func (t *tree) leafOf(b *Bound) (l *leaf, rank int) {
	l = t.only
	for n := t.root; n != nil; {
		// The last child whose first entry is before the bound.
		lo, hi := 0, n.len()-1
		for lo < hi {
			mid := (lo + hi + 1) / 2
			after, ok := b.afterChild(t, n, mid)
			if !ok {
				return nil, 0
			}
			if after {
				lo = mid
			} else {
				hi = mid - 1
			}
		}
		for _, c := range n.counts[:lo] {
			rank += int(c)
		}
		if n.leaves != nil {
			l = n.leaves[lo]
			break
		}
		n = n.below[lo]
	}
	return l, rank
}

// at returns the place of the entry with a rank, which must be there.
func (t *tree) at(rank int) (l *leaf, i int) {
	l = t.only
	for n := t.root; n != nil; {
		i := 0
		for ; rank >= int(n.counts[i]); i++ {
			rank -= int(n.counts[i])
		}
		if n.leaves != nil {
			l = n.leaves[i]
			break
		}
		n = n.below[i]
	}
	return l, rank
}

// rankOf returns the number of entries before entry i of a leaf.
func (t *tree) rankOf(l *leaf, i int) int {
	n := l.up
	if n == nil {
		return i
	}
	place := n.placeOfLeaf(l)
	for {
		for _, c := range n.counts[:place] {
			i += int(c)
		}
		if n.up == nil {
			return i
		}
		place = n.up.placeOf(n)
		n = n.up
	}
}

// settle brings what the branches know of a leaf up to date, after its entries
// have changed. The leaf is not empty.
func (t *tree) settle(l *leaf) {
	n := l.up
	if n == nil {
		return
	}
	i := n.placeOfLeaf(l)
	more := uint32(l.len()) - n.counts[i] // modulo 2^32
	first := l.first()
	t.alterBranch(n)
	for {
		n.counts[i] += more
		n.firsts[i] = first
		if n.up == nil {
			return
		}
		first = n.firsts[0]
		i = n.up.placeOf(n)
		n = n.up
	}
}

// joinLine puts a leaf that is not empty next to another: behind it, or before it.
func (t *tree) joinLine(l, neighbour *leaf, behind bool) {
	n := neighbour.up
	if n == nil {
		n = t.newBranch(true)
		n.insert(0, child{leaf: neighbour})
		t.root, t.only = n, nil
	}
	i := n.placeOfLeaf(neighbour)
	if behind {
		i++
	}
	t.addChild(n, i, child{leaf: l})
}

func (t *tree) newBranch(leaves bool) *branch {
	t.memory += branchSize
	return newBranch(leaves)
}

// dropBranch frees a branch that is out of the tree.
func (t *tree) dropBranch(n *branch) {
	t.memory -= branchSize
	t.branches.Remove(n, n.id())
}

// addChild makes a child the one with index i of a branch, which is split if it is
// full.
func (t *tree) addChild(n *branch, i int, c child) {
	if n.len() == fan {
		right := t.splitBranch(n, i)
		if i > n.len() {
			n, i = right, i-n.len()
		}
	}
	n.insert(i, c)
	t.alterBranch(n)
	n.refresh()
}

// splitBranch moves the last children of a branch to a new one behind it, which it
// returns: half of them, or few if the next child comes at the end, since others
// will follow it there.
func (t *tree) splitBranch(n *branch, next int) *branch {
	from := fan / 2
	if next == fan {
		from = fan - fan/16
	}
	right := t.newBranch(n.leaves != nil)
	right.take(n, from)
	t.alterBranch(n)
	t.alterBranch(right)
	up := n.up
	if up == nil {
		up = t.newBranch(false)
		up.insert(0, child{below: n})
		t.root = up
	}
	n.refresh()
	t.addChild(up, up.placeOf(n)+1, child{below: right})
	return right
}

// leaveLine takes a leaf out of its branch.
func (t *tree) leaveLine(l *leaf) {
	n := l.up
	l.up = nil
	if n == nil {
		t.only = nil
		return
	}
	i := n.placeOfLeaf(l)
	n.cut(i, i+1)
	t.alterBranch(n)
	t.thinBranch(n)
}

// thinBranch joins a branch that has lost a child with a neighbour if both have few,
// and takes it out if it has none.
func (t *tree) thinBranch(n *branch) {
	for ; n.up != nil; n = n.up {
		n.up.tidy(n, t)
	}
	// The root: one child of its own makes the child the root.
	for t.root.len() == 1 && t.root.leaves == nil {
		n := t.root
		t.root = n.below[0]
		t.root.up = nil
		t.dropBranch(n)
	}
	switch {
	case t.root.len() == 0:
		t.dropBranch(t.root)
		t.root = nil
	case t.root.len() == 1:
		t.only = t.root.leaves[0]
		t.dropBranch(t.root)
		t.only.up, t.root = nil, nil
	}
}

// tidy brings what a branch knows of a child up to date, and does without the child
// if its neighbour has room for what it has.
func (n *branch) tidy(c *branch, t *tree) {
	i := n.placeOf(c)
	if c.len() == 0 {
		n.cut(i, i+1)
		t.dropBranch(c)
		return
	}
	n.counts[i], n.firsts[i] = c.total(), c.firsts[0]
	if c.len() >= fan/4 {
		return
	}
	left := max(i-1, 0)
	if left+1 >= n.len() || n.below[left].len()+n.below[left+1].len() > fan*3/4 {
		return
	}
	kept, gone := n.below[left], n.below[left+1]
	kept.take(gone, 0)
	n.counts[left] += n.counts[left+1]
	n.cut(left+1, left+2)
	t.alterBranch(kept)
	t.dropBranch(gone)
}

// line makes the branches over leaves that are in order, none of which is empty.
func (t *tree) line(leaves []*leaf) {
	if len(leaves) == 0 {
		return
	}
	if len(leaves) == 1 {
		t.only = leaves[0]
		return
	}
	level := make([]child, len(leaves))
	for i, l := range leaves {
		level[i] = child{leaf: l}
	}
	t.raise(level)
}

// raise makes the branches over what is to be below them, in order.
func (t *tree) raise(level []child) {
	const filled = fan * 7 / 8
	for len(level) > 1 {
		var up []child
		for part := range slices.Chunk(level, filled) {
			n := t.newBranch(part[0].leaf != nil)
			for i, c := range part {
				n.insert(i, c)
			}
			up = append(up, child{below: n})
		}
		level = up
	}
	t.root = level[0].below
}
