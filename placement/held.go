package placement

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// Bounded loads (Mirrokni, Thorup, Zadimoghaddam 2018): with Options.Bound objects
// are assigned and released, and a unit has at most (1+Bound) times its part of
// those that are assigned.
//
// Model: M objects are assigned, the one that comes included. Unit i of capacity
// w_i has room while its load is below ceil((1+Bound) w_i M/W), W the sum of all.
// An object has a sequence of draws, the first of which is where it would be
// without a bound; it goes to the first unit of the sequence that has room. The
// bounds add up to at least (1+Bound) M, so there is always one: after many draws
// the units are tried one after the other.
//
// An object stays where it was assigned. A release makes room for those that come,
// and moves nothing; so a unit may be above its bound when many others have left,
// and gets nothing until it is below. A change of units assigns anew, by hash, what
// Locate says moves, and what is on units above their bounds.
//
// All objects are kept, by their hashes: a client that asks twice gets the same
// answer, loads are exact after any change of units, and a preview counts what
// moves. 16 bytes an object in the mean. Two objects of one hash are one; it takes
// billions of objects, or somebody who knows the seed.
type held struct {
	hashes []uint64 // an open table; its length is a power of two
	slots  []uint32 // slot+1; 0 where the table is free
	count  int
	loads  []int32 // by slot
	total  Capacity
}

const (
	// MaxObjects bounds the objects that may be assigned to the units of a map: a
	// change of units looks at all of them, which takes some tenths of a second.
	MaxObjects = 1 << 20
	// boundUnit is the precision of Bound: 5 % is 5 % exactly.
	boundUnit   = 1_000_000
	boundStream = 0xE7037ED1A0B428DB
	boundDraws  = 64
)

// start is where the search for a hash begins.
func (h *held) start(hash uint64) int { return int(scale(hash*phi64, uint64(len(h.hashes)))) }

// find returns the place of an object in the table, and whether it is there.
func (h *held) find(hash uint64) (int, bool) {
	if len(h.hashes) == 0 {
		return 0, false
	}
	i := h.start(hash)
	for ; h.slots[i] != 0; i = (i + 1) & (len(h.hashes) - 1) {
		if h.hashes[i] == hash {
			return i, true
		}
	}
	return i, false
}

// slot returns where an object was assigned.
func (h *held) slot(hash uint64) (slot int, ok bool) {
	if h == nil || h.count == 0 {
		return 0, false
	}
	i, ok := h.find(hash)
	if !ok {
		return 0, false
	}
	return int(h.slots[i]) - 1, true
}

// put enters an object that is not there.
func (h *held) put(hash uint64, slot int) {
	if 4*(h.count+1) > 3*len(h.hashes) {
		h.resize(max(8, 2*len(h.hashes)))
	}
	i, _ := h.find(hash)
	h.hashes[i], h.slots[i] = hash, uint32(slot)+1
	h.count++
	for len(h.loads) <= slot {
		h.loads = append(h.loads, 0)
	}
	h.loads[slot]++
}

func (h *held) resize(n int) {
	old := *h
	h.hashes, h.slots = make([]uint64, n), make([]uint32, n)
	for i, s := range old.slots {
		if s != 0 {
			at, _ := h.find(old.hashes[i])
			h.hashes[at], h.slots[at] = old.hashes[i], s
		}
	}
}

// take removes an object; false if it is not there. What follows it in the table
// is moved up, so that it is found from where its search begins.
func (h *held) take(hash uint64) bool {
	i, ok := h.find(hash)
	if !ok {
		return false
	}
	h.loads[h.slots[i]-1]--
	h.count--
	mask := len(h.hashes) - 1
	for next := (i + 1) & mask; h.slots[next] != 0; next = (next + 1) & mask {
		if (next-h.start(h.hashes[next]))&mask >= (next-i)&mask {
			h.hashes[i], h.slots[i] = h.hashes[next], h.slots[next]
			i = next
		}
	}
	h.slots[i] = 0
	if n := len(h.hashes); n > 8 && 8*h.count < n {
		h.resize(n / 2)
	}
	return true
}

// load is how many objects a slot has.
func (h *held) load(slot int) int {
	if slot >= len(h.loads) {
		return 0
	}
	return int(h.loads[slot])
}

func (h *held) bytes() int {
	if h == nil {
		return 0
	}
	return 12*cap(h.hashes) + 4*cap(h.loads)
}

func (h *held) clone() *held {
	if h == nil {
		return nil
	}
	c := *h
	c.hashes, c.slots, c.loads = slices.Clone(h.hashes), slices.Clone(h.slots), slices.Clone(h.loads)
	return &c
}

// sorted returns the objects by hash.
func (h *held) sorted() []uint64 {
	out := make([]uint64, 0, h.count)
	for i, s := range h.slots {
		if s != 0 {
			out = append(out, h.hashes[i])
		}
	}
	slices.Sort(out)
	return out
}

// ceiling returns ceil((1 + bound/boundUnit) w m/total), for w up to total.
func ceiling(w, total Capacity, m int, bound uint64) int {
	hi, lo := bits.Mul64(uint64(w), uint64(m))
	q, r := bits.Div64(hi, lo, uint64(total))
	hi, lo = bits.Mul64(boundUnit+bound, r)
	b, rest := bits.Div64(hi, lo, uint64(total))
	sum := (boundUnit+bound)*q + b
	if rest > 0 || sum%boundUnit > 0 {
		return int(sum/boundUnit) + 1
	}
	return int(sum / boundUnit)
}

func (m *Map) boundMillionths() uint64 { return uint64(math.Round(m.opts.Bound * boundUnit)) }

// limit returns how many of count objects a slot may have.
func (m *Map) limit(slot, count int) int {
	if slot >= len(m.slots) || m.slots[slot].name == "" {
		return 0
	}
	return ceiling(m.slots[slot].capacity, m.held.total, count, m.boundMillionths())
}

// Assign returns the slot of an object and counts it there from now on: the first
// of its draws that has room. An object that is assigned already stays where it is.
// ErrBound for a map without Bound, ErrEmpty without units, ErrObjects for too many.
func (m *Map) Assign(hash uint64) (slot int, added bool, err error) {
	if err := m.MayAssign(0); err != nil {
		return -1, false, err
	}
	if slot, ok := m.held.slot(hash); ok {
		return slot, false, nil
	}
	if err := m.MayAssign(1); err != nil {
		return -1, false, err
	}
	count := m.held.count + 1
	slot = m.firstWithRoom(hash, func(slot int) bool { return m.held.load(slot) < m.limit(slot, count) })
	m.held.put(hash, slot)
	return slot, true, nil
}

// MayAssign returns the error of Assign for so many objects that are not assigned.
func (m *Map) MayAssign(n int) error {
	switch {
	case m.held == nil:
		return ErrBound
	case len(m.names) == 0:
		return ErrEmpty
	case m.held.count+n > MaxObjects:
		return ErrObjects
	}
	return nil
}

// IsAssigned says whether an object is assigned.
func (m *Map) IsAssigned(hash uint64) bool {
	_, ok := m.held.slot(hash)
	return ok
}

// Release ends what Assign did; false for an object that is not assigned.
func (m *Map) Release(hash uint64) bool {
	return m.held != nil && m.held.count > 0 && m.held.take(hash)
}

// Assigned returns how many objects are assigned.
func (m *Map) Assigned() int {
	if m.held == nil {
		return 0
	}
	return m.held.count
}

func (m *Map) load(slot int) Load {
	return Load{Objects: m.held.load(slot), Most: m.limit(slot, m.held.count+1)}
}

// Load is what a unit has of the objects that are assigned.
type Load struct {
	Objects int
	Most    int // how many it may have when one more comes
}

// Loads returns the loads of the units in the order of Units; none without Bound.
func (m *Map) Loads() []Load {
	if m.held == nil {
		return nil
	}
	var out []Load
	for i, s := range m.slots {
		if s.name != "" {
			out = append(out, m.load(i))
		}
	}
	return out
}

// firstWithRoom returns the first slot for an object that has room.
func (m *Map) firstWithRoom(hash uint64, room func(slot int) bool) int {
	for i := range uint64(boundDraws) {
		draw := hash
		if i > 0 {
			draw = Mix(hash + i*boundStream)
		}
		if slot := m.strategy.Locate(draw); room(slot) {
			return slot
		}
	}
	from := int(scale(hash, uint64(len(m.slots))))
	for i := range m.slots {
		slot := (from + i) % len(m.slots)
		if m.slots[slot].name != "" && room(slot) {
			return slot
		}
	}
	return from // not reached: the limits add up to more than all objects
}

// naturals returns where objects would be without a bound.
func (m *Map) naturals(hashes []uint64) []int32 {
	out := make([]int32, len(hashes))
	for i, hash := range hashes {
		out[i] = int32(m.strategy.Locate(hash))
	}
	return out
}

// resettle assigns anew, after a change of units, what moved with the change and
// what is too much for a unit. before is where objects were without a bound.
func (m *Map) resettle(hashes []uint64, before []int32) {
	h, was := m.held, *m.held
	*h = held{total: was.total}
	most := make([]int, max(len(m.slots), len(was.loads))) // of each slot: 0 of one without a unit
	for slot := range most {
		most[slot] = m.limit(slot, len(hashes))
	}
	room := func(slot int) bool { return h.load(slot) < most[slot] }
	var anew []uint64
	for i, hash := range hashes {
		if slot, _ := was.slot(hash); room(slot) && m.strategy.Locate(hash) == int(before[i]) {
			h.put(hash, slot)
		} else {
			anew = append(anew, hash)
		}
	}
	for _, hash := range anew {
		h.put(hash, m.firstWithRoom(hash, room))
	}
}

// appendHeld appends the objects: how many, the hashes ascending as differences,
// and those that are not where they would be without a bound, each with how many
// objects are between it and the one before, and its slot.
func (m *Map) appendHeld(dst []byte) []byte {
	hashes := m.held.sorted()
	dst = binary.AppendUvarint(dst, uint64(len(hashes)))
	last := uint64(0)
	for _, hash := range hashes {
		dst = binary.AppendUvarint(dst, hash-last)
		last = hash
	}
	var displaced []byte
	n, since := uint64(0), uint64(0)
	for _, hash := range hashes {
		slot, _ := m.held.slot(hash)
		if slot == m.strategy.Locate(hash) {
			since++
			continue
		}
		displaced = binary.AppendUvarint(binary.AppendUvarint(displaced, since), uint64(slot))
		n, since = n+1, 0
	}
	return append(binary.AppendUvarint(dst, n), displaced...)
}

// restoreHeld reads what appendHeld wrote.
func (m *Map) restoreHeld(r *reader) {
	n := r.uvarint(MaxObjects)
	if r.bad || n > uint64(len(r.rest)) || n > 0 && len(m.names) == 0 {
		r.bad = true
		return
	}
	hashes, at := make([]uint64, 0, n), uint64(0)
	for i := range n {
		d := r.uvarint(math.MaxUint64)
		if at+d < at || i > 0 && d == 0 {
			r.bad = true
		}
		if at += d; r.bad {
			return
		}
		hashes = append(hashes, at)
	}
	slots := m.naturals(hashes)
	next := 0
	for range r.uvarint(n) {
		since, slot := r.uvarint(n), r.uvarint(MaxUnits-1)
		next += int(since)
		if r.bad || next >= len(slots) || int(slot) >= len(m.slots) || m.slots[slot].name == "" {
			r.bad = true
			return
		}
		slots[next] = int32(slot)
		next++
	}
	for i, hash := range hashes {
		m.held.put(hash, int(slots[i]))
	}
}

// DisplacedShare returns which share of objects is not where it would be without a
// bound, to first order: units have mean objects each, their number varies as chance
// has it, and what is above ceil((1+bound) mean) goes elsewhere.
func DisplacedShare(mean, bound float64) float64 {
	most := math.Ceil(math.Round((1+bound)*mean*boundUnit) / boundUnit)
	// E(X - most)+ = mean P(X >= most) - most P(X > most), X Poisson.
	sum := 0.0
	log := func(k float64) float64 { g, _ := math.Lgamma(k + 1); return k*math.Log(mean) - mean - g }
	for k := most + 1; ; k++ {
		term := (k - most) * math.Exp(log(k))
		sum += term
		if term < 1e-18*sum || term == 0 && k > mean {
			return sum / mean
		}
	}
}
