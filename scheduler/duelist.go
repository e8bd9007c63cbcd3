package scheduler

import (
	"math"
	"unsafe"
)

// dueList is the pending nodes by due step, ties by slot: a treap (Aragon and Seidel,
// "Randomized search trees", 1989) whose priorities are hashes of the slots. Each node
// knows for its part of the tree the greatest of rank - s due.
//
// Cost: O(log n) expected, 40 bytes a node.
type dueList struct {
	nodes []dueNode // the first is nobody
	root  int32
	spare int32
	slope float64
}

type dueNode struct {
	due         int64
	most        float64 // greatest rank - slope due in this part, ranks from 1
	slot        int32
	left, right int32
	size        int32
	order       uint32 // of a parent it is no less than that of a child
}

func (l *dueList) bytes() int { return cap(l.nodes) * int(unsafe.Sizeof(dueNode{})) }

// fix computes what a node knows from its children.
func (l *dueList) fix(at int32) {
	n := &l.nodes[at]
	left, right := &l.nodes[n.left], &l.nodes[n.right]
	n.size = left.size + right.size + 1
	rank := float64(left.size + 1)
	n.most = max(left.most, rank-float64(l.slope*float64(n.due)), rank+right.most)
}

// weigh sets the slope. A lower one than in use is taken with a margin, and one that is
// a little higher is left: a slope that is too low makes more nodes urgent, and all
// nodes have to be looked at for another.
func (l *dueList) weigh(slope float64) {
	switch {
	case slope >= l.slope && slope <= l.slope*(1+slopeMargin):
		return
	case slope < l.slope && slope >= l.slope*(1-slopeMargin) && l.slope != 0:
		slope *= 1 - slopeMargin
	}
	l.slope = slope
	l.fixAll(l.root)
}

const slopeMargin = 1. / 64

func (l *dueList) fixAll(at int32) {
	if at != 0 {
		l.fixAll(l.nodes[at].left)
		l.fixAll(l.nodes[at].right)
		l.fix(at)
	}
}

// most is the greatest K(d) - slope (d - step).
func (l *dueList) most(step int64) float64 {
	if l.root == 0 {
		return 0
	}
	return l.nodes[l.root].most + float64(l.slope*float64(step))
}

func (n *dueNode) before(due int64, slot int32) bool {
	return n.due < due || n.due == due && n.slot < slot
}

// split divides a part of the tree into the nodes before a place and the others.
func (l *dueList) split(at int32, due int64, slot int32) (before, after int32) {
	if at == 0 {
		return 0, 0
	}
	if l.nodes[at].before(due, slot) {
		low, high := l.split(l.nodes[at].right, due, slot)
		l.nodes[at].right = low
		l.fix(at)
		return at, high
	}
	low, high := l.split(l.nodes[at].left, due, slot)
	l.nodes[at].left = high
	l.fix(at)
	return low, at
}

// join joins two parts, all of a before all of b.
func (l *dueList) join(a, b int32) int32 {
	switch {
	case a == 0:
		return b
	case b == 0:
		return a
	case l.nodes[a].order >= l.nodes[b].order:
		right := l.join(l.nodes[a].right, b)
		l.nodes[a].right = right
		l.fix(a)
		return a
	}
	left := l.join(a, l.nodes[b].left)
	l.nodes[b].left = left
	l.fix(b)
	return b
}

func (l *dueList) insert(due int64, slot int32) {
	if len(l.nodes) == 0 {
		l.nodes = append(l.nodes, dueNode{most: math.Inf(-1)})
	}
	at := l.spare
	if at != 0 {
		l.spare = l.nodes[at].left
	} else {
		at = int32(len(l.nodes))
		l.nodes = append(l.nodes, dueNode{})
	}
	hash := uint64(slot)*0x9E3779B97F4A7C15 + 1
	hash = (hash ^ hash>>30) * 0xBF58476D1CE4E5B9
	l.nodes[at] = dueNode{due: due, slot: slot, order: uint32(hash >> 32)}
	l.fix(at)
	before, after := l.split(l.root, due, slot)
	l.root = l.join(l.join(before, at), after)
}

// remove takes out a node, which must be there.
func (l *dueList) remove(due int64, slot int32) {
	before, rest := l.split(l.root, due, slot)
	at, after := l.split(rest, due, slot+1)
	l.root = l.join(before, after)
	if at != 0 {
		l.nodes[at].left, l.spare = l.spare, at
	}
}

// before is how many nodes are due before a step.
func (l *dueList) before(step int64) (count int) {
	for at := l.root; at != 0; {
		if n := &l.nodes[at]; n.due < step {
			count += int(l.nodes[n.left].size) + 1
			at = n.right
		} else {
			at = n.left
		}
	}
	return count
}

// each visits the nodes in order until visit returns false.
func (l *dueList) each(visit func(slot int32) bool) { l.walk(l.root, visit) }

func (l *dueList) walk(at int32, visit func(slot int32) bool) bool {
	if at == 0 {
		return true
	}
	n := &l.nodes[at]
	return l.walk(n.left, visit) && visit(n.slot) && l.walk(n.right, visit)
}
