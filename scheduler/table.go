package scheduler

import (
	"math"
	"math/bits"
)

// PageSize is the number of nodes in one page of a [Table]. It is also the
// number of nodes in a stored page, and so is on disk and never changes.
const PageSize = 64

// Table holds the nodes of one schedule in numbered slots. A node keeps its
// slot while it lives; a new one takes the lowest free slot, so that the
// numbering depends only on the set of slots in use.
//
// Pages of [PageSize] slots are allocated as slots come into use: growing never
// copies the table. How a page stores its nodes is in page.go.
type Table struct {
	pages []*page
	holes []uint64 // bit p%64 of word p/64: page p has a free slot
	slots int      // one more than the highest slot in use
	live  int
	bytes int // of pages
	// probed is the node that Observe works on: one on its stack would escape
	// to the heap through the estimator, which is an interface.
	probed Node
	// Memo belongs to the policy: learnt numbers that are about no one node.
	Memo []float64
	// Crowd is what was learnt of the precision of signals at nodes without a group.
	Crowd Crowd
	// Groups are those of the nodes.
	Groups Groups
	// Price is v of the policy lagrange. Zero: it is learnt.
	Price float64
	rooms Rooms // of the Pick under way
	// Probes is c, the probes a step that the schedule is configured for, for
	// policies that plan ahead. Zero: 1. Who changes it attaches the policy anew.
	Probes int
}

// Len is one more than the highest slot in use.
func (t *Table) Len() int { return t.slots }

// Live is the number of nodes.
func (t *Table) Live() int { return t.live }

// Bytes is the memory held.
func (t *Table) Bytes() int {
	return t.bytes + 8*(cap(t.pages)+cap(t.holes)+cap(t.Memo)) + t.Groups.bytes()
}

// find is the page of a slot in use and its index there; nil if it is free or
// beyond the table.
func (t *Table) find(slot int) (*page, int) {
	if uint(slot) >= uint(t.slots) {
		return nil, 0
	}
	p, i := t.pages[slot/PageSize], slot%PageSize
	if p == nil || p.used>>i&1 == 0 {
		return nil, 0
	}
	return p, i
}

// Has says whether a slot is in use.
func (t *Table) Has(slot int) bool {
	p, _ := t.find(slot)
	return p != nil
}

// Load copies the node in a slot to n and returns true; false, and n as it
// was, if the slot is free.
func (t *Table) Load(slot int, n *Node) bool {
	p, i := t.find(slot)
	if p == nil {
		return false
	}
	p.load(i, n)
	return true
}

// Node is a copy of the node in a slot; the zero Node if the slot is free.
func (t *Table) Node(slot int) (n Node) {
	t.Load(slot, &n)
	return n
}

// Store writes back the node in a slot. Nothing happens if the slot is free.
func (t *Table) Store(slot int, n *Node) {
	if p, i := t.find(slot); p != nil {
		t.count(p.group(i), -1)
		t.bytes += p.store(i, n)
		t.count(n.Group, 1)
	}
}

// count counts a member of a group.
func (t *Table) count(group, by int32) {
	if g := t.Groups.Of(group); g != nil {
		g.Nodes += by
	}
}

// Begin begins to count the nodes of groups that a Pick takes.
func (t *Table) Begin() *Rooms {
	t.rooms.reset(&t.Groups)
	return &t.rooms
}

// CrowdOf is what the nodes of a group learnt together of signals, or those without
// a group.
func (t *Table) CrowdOf(group int32) *Crowd {
	if g := t.Groups.Of(group); g != nil {
		return &g.Crowd
	}
	return &t.Crowd
}

// GroupOf is the number of the group of the node in a slot, 0 if it has none.
func (t *Table) GroupOf(slot int) int32 {
	p, i := t.find(slot)
	if p == nil {
		return 0
	}
	return p.group(i)
}

// Shut says whether the node in a slot may not be picked: it is hidden, or its group
// is closed.
func (t *Table) Shut(slot int) bool {
	p, i := t.find(slot)
	return p == nil || p.hidden>>i&1 != 0 || t.Groups.shut(p.group(i))
}

// worth is Node.Worth of the node in a slot, 0 for a free slot.
func (t *Table) worth(slot int) float64 {
	p, i := t.find(slot)
	if p == nil {
		return 0
	}
	return p.get(i, colWeight) * p.get(i, colEstimate) / p.get(i, colCost)
}

// Hidden says whether the node in a slot is hidden: not to be picked, since
// somebody is probing it now. Free slots are hidden.
func (t *Table) Hidden(slot int) bool {
	p, i := t.find(slot)
	return p == nil || p.hidden>>i&1 != 0
}

// Hide hides or shows the node in a slot.
func (t *Table) Hide(slot int, hide bool) {
	p, i := t.find(slot)
	if p == nil {
		return
	}
	p.hidden &^= 1 << i
	if hide {
		p.hidden |= 1 << i
	}
}

// MemoOf is the Memo of the node in a slot, nil if it has none: the table's own
// memory, good until the next Store or SetMemo.
func (t *Table) MemoOf(slot int) []float64 {
	p, i := t.find(slot)
	if p == nil {
		return nil
	}
	return p.memo(i)
}

// SetMemo gives the node in a slot a Memo of n zeros, and returns it as MemoOf
// does.
func (t *Table) SetMemo(slot, n int) []float64 {
	p, i := t.find(slot)
	if p == nil {
		return nil
	}
	t.bytes += p.setMemo(i, n)
	return p.memo(i)
}

// ClearMemos takes the memos of all nodes away.
func (t *Table) ClearMemos() {
	for _, p := range t.pages {
		if p != nil && p.learnt != 0 {
			old := 8 * cap(p.cells)
			mask := p.mask
			p.learnt = 0
			p.reshape(mask, bits.OnesCount32(mask), len(p.cells)/int(p.width))
			t.bytes += 8*cap(p.cells) - old
		}
	}
}

// After is the first slot in use that is at least slot, or -1.
// It costs O(1) for each page passed over.
func (t *Table) After(slot int) int {
	for slot = max(slot, 0); slot < t.slots; slot = (slot/PageSize + 1) * PageSize {
		p := t.pages[slot/PageSize]
		if p == nil {
			continue
		}
		if rest := p.used >> (slot % PageSize); rest != 0 {
			return slot + bits.TrailingZeros64(rest)
		}
	}
	return -1
}

// Free is the lowest free slot. It may be beyond Len. It costs O(n/4096).
func (t *Table) Free() int {
	for w, word := range t.holes {
		if word == 0 {
			continue
		}
		id := w*64 + bits.TrailingZeros64(word)
		if p := t.pages[id]; p != nil {
			return id*PageSize + bits.TrailingZeros64(^p.used)
		}
		return id * PageSize
	}
	return len(t.pages) * PageSize
}

// Put places a node in a slot, over the node that was there if any, and shows
// it. The slot must be below MaxNodes.
func (t *Table) Put(slot int, n Node) {
	id := slot / PageSize
	for len(t.pages) <= id {
		t.pages = append(t.pages, nil)
		if len(t.pages) > 64*len(t.holes) {
			t.holes = append(t.holes, 0)
		}
		t.holes[(len(t.pages)-1)/64] |= 1 << ((len(t.pages) - 1) % 64)
	}
	if t.pages[id] == nil {
		t.pages[id] = new(page)
		t.bytes += pageBytes
	}
	p, bit := t.pages[id], uint64(1)<<(slot%PageSize)
	if p.used&bit == 0 {
		p.used |= bit
		t.live++
	} else {
		t.count(p.group(slot%PageSize), -1)
	}
	p.hidden &^= bit
	if p.used == math.MaxUint64 {
		t.holes[id/64] &^= 1 << (id % 64)
	}
	t.slots = max(t.slots, slot+1)
	t.bytes += p.store(slot%PageSize, &n)
	t.count(n.Group, 1)
}

// Remove frees a slot; nothing happens if it is free. Pages without a node are
// released, and Len falls to the highest slot still in use.
func (t *Table) Remove(slot int) {
	p, i := t.find(slot)
	if p == nil {
		return
	}
	id := slot / PageSize
	t.count(p.group(i), -1)
	p.used &^= 1 << i
	p.hidden &^= 1 << i
	t.holes[id/64] |= 1 << (id % 64)
	t.live--
	if p.used == 0 {
		t.bytes -= pageBytes + 8*cap(p.cells)
		t.pages[id] = nil
	}
	if slot == t.slots-1 {
		t.shrink()
	}
}

// shrink lowers Len to the highest slot in use. Each page passed over was paid
// for by the Put that made it.
func (t *Table) shrink() {
	for id := (t.slots - 1) / PageSize; id >= 0; id-- {
		if p := t.pages[id]; p != nil {
			t.slots = id*PageSize + bits.Len64(p.used)
			break
		}
		t.slots = id * PageSize
		t.holes[id/64] &^= 1 << (id % 64)
		t.pages = t.pages[:id]
	}
	t.holes = t.holes[:(len(t.pages)+63)/64]
}
