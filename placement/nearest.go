package placement

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// nearest places a hash on the unit that has the nearest point on the ring of
// all hashes, in either direction (section 8.3: nearest-neighbour strategy).
//
// Model: unit i has k points g_1(i) .. g_k(i), random and independent, on the
// ring [0, 2^64); an object at h belongs to the point with the smallest
// distance min(|h-g|, 2^64-|h-g|). Of two points at the same distance the one
// met when going down from h wins; of two units with the same point, the lower
// number for hashes up to it, the higher one above.
//
// Theorem 8.3: (1) faithful in expectation over the points; (2) a lookup takes
// expected constant time; (3) k = Theta(log N) points keep every unit within a
// constant factor of its share; (4) moves are at most twice the optimum, and a
// join gives objects to the new unit only. For a given seed shares differ: the
// coefficient of variation is about 1/sqrt(2k), .056 for the default of 160
// points, where the usual ring of successors has 1/sqrt(k).
//
// Unequal units: unit i has round(k w_i / w) points, w the mean capacity of the
// first units since it was empty. That number depends on no other unit, so a change
// of one unit moves objects to or from it alone; the notes warn that shares of
// very small units stay coarse, and a unit has at least one point.
//
// Cost: about 15 ns a lookup at n = 1000, 20 bytes a point, a merge of all points a
// change. State: w.
type nearest struct {
	roster
	points    int
	seed      uint64
	reference Capacity    // of the first unit; 0 before there is one
	ring      []ringPoint // ascending, never changed in place
	index     bucketIndex
}

type ringPoint struct {
	at   uint64
	unit int32
}

const (
	defaultPoints = 160
	maxRing       = 1 << 22 // points of all units
)

func specNearest() Spec {
	return Spec{Name: "nearest", Number: 3, Weighted: true, MaxUnits: MaxUnits,
		Summary: "the nearest of k points a unit on a ring: the classic, shares approximate",
		New: func(o Options) Strategy {
			n := &nearest{points: o.Points, seed: o.Seed}
			if n.points == 0 {
				n.points = defaultPoints
			}
			return n
		}}
}

func (n *nearest) Locate(hash uint64) int {
	ring := n.ring
	if len(ring) == 0 {
		return -1
	}
	i := n.index.start(hash)
	for i < len(ring) && ring[i].at < hash {
		i++
	}
	// The ring closes: before the first point comes the last, and after it.
	above, below := i, i-1
	if above == len(ring) {
		above = 0
	}
	if below < 0 {
		below = len(ring) - 1
	}
	if ring[above].at-hash < hash-ring[below].at {
		return int(ring[above].unit)
	}
	return int(ring[below].unit)
}

func (n *nearest) Set(unit int, c Capacity) error { return set(n, unit, c) }

func (n *nearest) Remove(unit int) error { return remove(n, unit) }

// Apply implements Batcher; ErrLimit for too many points.
func (n *nearest) Apply(changes []Change) error {
	next, err := n.apply(changes)
	if err != nil {
		return err
	}
	ref := n.reference
	switch units := len(next.units); {
	case units == 0:
		ref = 0 // nothing is left that could depend on it
	case ref == 0:
		ref = max(next.total/Capacity(units), 1)
	}
	total, ok := n.count(&next, ref)
	if !ok {
		return ErrLimit
	}
	n.merge(next, ref, total)
	return nil
}

// count returns the points of all units, and whether there may be so many.
// A unit may have 512 on average, three times the default, so that capacities
// may grow; a map of any size 2^17, which is below 4 MiB. So an encoded map of
// few bytes cannot ask for a big table.
func (n *nearest) count(r *roster, ref Capacity) (int, bool) {
	total, limit := 0, min(maxRing, 1<<17+len(r.units)<<9)
	for _, c := range r.caps {
		if total += n.pointsOf(c, ref); total > limit {
			return 0, false
		}
	}
	return total, true
}

// pointsOf returns how many points a capacity gets, at most maxRing+1.
func (n *nearest) pointsOf(c, ref Capacity) int {
	hi, lo := bits.Mul64(uint64(c), uint64(n.points))
	lo, carry := bits.Add64(lo, uint64(ref)/2, 0)
	if hi += carry; hi >= uint64(ref) {
		return maxRing + 1
	}
	p, _ := bits.Div64(hi, lo, uint64(ref))
	return int(min(max(p, 1), maxRing+1))
}

// merge takes over the new roster: points of units that did not change stay,
// those of the others are made anew.
func (n *nearest) merge(next roster, ref Capacity, total int) {
	fresh := make([]ringPoint, 0, total)
	for i, u := range next.units {
		if n.reference != ref || n.capacity(int(u)) != next.caps[i] {
			base := Mix(n.seed + (uint64(u)+1)*pi6)
			for k := range n.pointsOf(next.caps[i], ref) {
				fresh = append(fresh, ringPoint{Mix(base + (uint64(k)+1)*phi64), u})
			}
		}
	}
	slices.SortFunc(fresh, comparePoints)
	ring := make([]ringPoint, 0, total)
	for _, p := range n.kept(&next, ref) {
		for len(fresh) > 0 && comparePoints(fresh[0], p) < 0 {
			ring, fresh = append(ring, fresh[0]), fresh[1:]
		}
		ring = append(ring, p)
	}
	ring = append(ring, fresh...)
	n.roster, n.reference, n.ring = next, ref, ring
	n.index = newBucketIndex(len(ring), func(i int) uint64 { return ring[i].at })
}

// kept returns the points of units whose capacity is the same as before.
func (n *nearest) kept(next *roster, ref Capacity) []ringPoint {
	if n.reference != ref {
		return nil
	}
	var same [MaxUnits]bool
	for i, u := range n.units {
		same[u] = next.capacity(int(u)) == n.caps[i]
	}
	out := make([]ringPoint, 0, len(n.ring))
	for _, p := range n.ring {
		if same[p.unit] {
			out = append(out, p)
		}
	}
	return out
}

func comparePoints(a, b ringPoint) int {
	if a.at != b.at {
		return cmp.Compare(a.at, b.at)
	}
	return cmp.Compare(a.unit, b.unit)
}

func (n *nearest) Clone() Strategy { c := *n; return &c }

func (n *nearest) Bytes() int { return n.bytes() + 16*cap(n.ring) + n.index.bytes() }

func (n *nearest) AppendState(dst []byte) []byte {
	return binary.AppendUvarint(dst, uint64(n.reference))
}

func (n *nearest) DecodeState(state []byte) error {
	ref, k := binary.Uvarint(state)
	if k != len(state) || ref > uint64(MaxCapacity) || (ref == 0) != (n.reference == 0) {
		return ErrCorrupt
	}
	if Capacity(ref) == n.reference {
		return nil
	}
	total, ok := n.count(&n.roster, Capacity(ref))
	if !ok {
		return ErrCorrupt
	}
	n.merge(n.roster, Capacity(ref), total)
	return nil
}

// arcs returns the ring as a partition of the hashes: the last hash of each
// arc, and its unit. The arc around hash 0 is in two pieces.
func (n *nearest) arcs() (ends []uint64, units []int32) {
	ring, last := n.ring, len(n.ring)-1
	add := func(end uint64, unit int32) {
		ends, units = append(ends, end), append(units, unit)
	}
	wrap := ring[last].at + (ring[0].at-ring[last].at)/2
	wrapped := wrap < ring[last].at
	if wrapped {
		add(wrap, ring[last].unit)
	}
	for i := range last {
		add(ring[i].at+(ring[i+1].at-ring[i].at)/2, ring[i].unit)
	}
	if wrapped {
		add(math.MaxUint64, ring[last].unit)
	} else {
		add(wrap, ring[last].unit)
		add(math.MaxUint64, ring[0].unit)
	}
	return ends, units
}

func (n *nearest) Moves(to Strategy, visit func(from, to int, share Fraction)) {
	t := to.(*nearest)
	if len(n.ring) == 0 || len(t.ring) == 0 {
		return
	}
	ends, units := n.arcs()
	toEnds, toUnits := t.arcs()
	overlay(func(i int) uint64 { return ends[i] }, func(i int) uint64 { return toEnds[i] },
		func(a, b int, share Fraction) {
			if units[a] != toUnits[b] {
				visit(int(units[a]), int(toUnits[b]), share)
			}
		})
}
