package placement

import (
	"math"
	"math/bits"
	"slices"
)

// share is the SHARE strategy (section 8.4), for unequal units.
//
// Model: unit i of capacity c_i = w_i / sum w has an arc of length s c_i that
// begins at a random g(i) of the ring [0, 1); one longer than the ring counts
// as floor(s c_i) full circles and the rest. s is the stretch. The ends of the
// arcs cut the ring into at most 2(n+s) frames, in each of which the same set
// C of arcs, s of them on average, covers every point. An object goes to the
// frame of its hash and there to one arc of C, each with equal probability.
//
// For the inner choice the notes take their nearest-neighbour strategy; here it
// is the arc with the largest mixed value of object and arc (rendezvous), for
// better balance and 25 times less memory. A point that no arc covers, which
// happens with probability prod max(0, 1 - s c_i) <= e^-s, is hashed again, a
// few times; then the object chooses among all units.
//
// Theorem 8.6: for s = Omega(log N) faithful up to a constant factor with high
// probability, constant expected time, 2-competitive. The default s is
// 3 ln 2^b for the least power of two 2^b >= n, at least 2^3, so that it seldom
// changes with n. A unit's share is not concentrated unless s is large: its
// coefficient of variation at n = 1000 is .16; v arcs a unit (Points) with
// length s c_i / v each lower that, at v-fold memory.
//
// Placement depends on seed, units and capacities alone, not on history.
//
// Cost: O(s) a lookup, 41 ns at n = 1000; about 30 s bytes a unit, as a unit
// makes two frames of s arcs; a new table every change, 2 ms.
type share struct {
	roster
	opts    Options
	arcs    []arc    // ascending by unit, piece and circle
	ends    []uint64 // last hash of each frame
	first   []int32  // members[first[f]:first[f+1]] covers frame f
	members []int32  // numbers of arcs, ascending in a frame
	keys    []uint64 // of members: keys[i] = arcs[members[i]].key
	index   bucketIndex
}

// arc is one candidate: a piece of a unit's arc, or one full circle of it.
type arc struct {
	key          uint64 // of the inner choice
	unit         int32
	piece        int16
	circle       int16
	full         bool
	start, reach uint64 // covers start .. start+reach on the ring
}

const (
	arcBits      = 20          // at most 2^20 arcs: numbers in a frame have so many bits
	shareTries   = 8           // hashes of an object before all units are asked
	maxMembers   = 1 << 23     // of all frames, about; see shareFits
	shareOuter   = pi4         // stream of the outer hashes
	shareInner   = pi7         // stream of the inner choice
	stretchBit   = 136278      // 3 ln 2 in units of 2^-16
	minShareBits = 3           // the default stretch is 3 ln 8 at least
	shareLast    = pi7 ^ phi64 // stream of the choice among all units
	pieceStream  = phi64       // of the pieces of a unit
	circleStream = pi6         // of the circles of a piece
)

func specShare() Spec {
	return Spec{Name: "share", Number: 5, Weighted: true, MaxUnits: MaxUnits,
		Summary: "SHARE: unequal units, no history, shares approximate",
		New: func(o Options) Strategy {
			o.Points = max(o.Points, 1)
			return &share{opts: o}
		}}
}

func (s *share) Locate(hash uint64) int {
	if len(s.units) == 0 {
		return -1
	}
	for try := uint64(0); try < shareTries; try++ {
		x := hash
		if try > 0 {
			x = Mix(hash + try*shareOuter)
		}
		f := s.frame(x)
		from, to := s.first[f], s.first[f+1]
		if from < to {
			best := strongest(Mix(hash+(try+1)*shareInner), s.keys[from:to])
			return int(s.arcs[s.members[int(from)+best]].unit)
		}
	}
	return s.amongAll(hash)
}

// frame returns the frame of a point of the ring.
func (s *share) frame(x uint64) int {
	f := s.index.start(x)
	for s.ends[f] < x {
		f++
	}
	return f
}

// amongAll chooses among all units with equal probability.
func (s *share) amongAll(hash uint64) int {
	hash = Mix(hash + shareLast)
	best, most := 0, uint64(0)
	for i, u := range s.units {
		if v := attraction(hash, s.keyOf(u, 0, 0)); v > most {
			best, most = i, v
		}
	}
	return int(s.units[best])
}

// strongest returns which key attracts the hash most, the last of equals. The
// number of the key takes the lower bits of the value, so that the best is a
// maximum without a branch: one that is taken at random costs more than the
// rest of a round. One product is mixture enough to choose evenly among mixed
// keys: chi2/df is 1.00 over random sets of 21.
func strongest(hash uint64, keys []uint64) int {
	const value = ^uint64(1<<arcBits - 1)
	even, odd := uint64(0), uint64(0) // two chains that do not wait for each other
	i := uint64(0)
	for ; len(keys) >= 2; keys = keys[2:] {
		even = larger(even, (hash^keys[0])*pi6&value|i)
		odd = larger(odd, (hash^keys[1])*pi6&value|(i+1))
		i += 2
	}
	if len(keys) > 0 {
		even = larger(even, (hash^keys[0])*pi6&value|i)
	}
	most := larger(even, odd)
	return int(most & (1<<arcBits - 1))
}

// larger is max without a branch.
func larger(a, b uint64) uint64 {
	_, less := bits.Sub64(a, b, 0)
	return a ^ (a^b)&-less
}

// attraction is a random value of a mixed hash and a mixed key.
func attraction(hash, key uint64) uint64 {
	x := (hash ^ key) * pi6
	return (x ^ x>>32) * pi4
}

// keyOf returns the key of a piece of a unit's arc and its circle.
func (s *share) keyOf(unit int32, piece, circle int) uint64 {
	k := Mix(s.opts.Seed + (uint64(unit)+1)*pi6)
	return Mix(Mix(k+(uint64(piece)+1)*pieceStream) + (uint64(circle)+1)*circleStream)
}

// stretch returns s in units of 2^-16.
func (s *share) stretch(n int) uint64 {
	if s.opts.Stretch > 0 {
		return max(uint64(s.opts.Stretch*stretchUnit), 1)
	}
	return stretchBit * uint64(max(bits.Len(uint(n-1)), minShareBits))
}

func (s *share) Set(unit int, c Capacity) error { return set(s, unit, c) }

func (s *share) Remove(unit int) error { return remove(s, unit) }

// Apply implements Batcher; ErrLimit for too big a table.
func (s *share) Apply(changes []Change) error {
	next, err := s.apply(changes)
	if err != nil {
		return err
	}
	n := len(next.units)
	if n == 0 {
		*s = share{opts: s.opts, roster: next}
		return nil
	}
	if !shareFits(n, s.opts.Points, s.stretch(n)) {
		return ErrLimit
	}
	s.roster = next
	s.build(s.lay())
	return nil
}

// shareFits says whether n units may have so many pieces each at a stretch in
// units of 2^-16. There are n pieces and the circles of arcs, two frames an arc,
// and stretch members a frame on average. A unit may have 64 arcs and 512
// members, which is 20 pieces at the default stretch of 1,000 units; a map of
// any size 2^16 arcs and 2^18 members, which is below 8 MiB. So an encoded map
// of few bytes cannot ask for a big table.
func shareFits(n, pieces int, stretch uint64) bool {
	circles := int(stretch/stretchUnit) + 1
	arcs := n*pieces + circles
	return arcs <= min(1<<16+n<<6, 1<<arcBits) && 2*arcs*circles <= min(1<<18+n<<9, maxMembers)
}

// lay makes the arcs of all units: exact lengths in units of 2^-64.
func (s *share) lay() []arc {
	stretch, pieces := s.stretch(len(s.units)), uint64(s.opts.Points)
	arcs := make([]arc, 0, len(s.units)*s.opts.Points+int(stretch/stretchUnit))
	for i, u := range s.units {
		hi, lo := bits.Mul64(stretch, uint64(s.caps[i]))
		q, rest := bits.Div64(hi, lo, uint64(s.total)) // q in 2^-16, q <= stretch
		part, _ := bits.Div64(rest, 0, uint64(s.total))
		// The unit's s c_i is q 2^-16 + part 2^-80; a piece has 1/pieces of it.
		q, rest = q/pieces, q%pieces
		part, _ = bits.Div64(rest, part, pieces)
		circles, reach := int(q>>16), q<<48|part>>16
		for p := range s.opts.Points {
			for c := range circles {
				arcs = append(arcs, arc{key: s.keyOf(u, p, c), unit: u, piece: int16(p), circle: int16(c), full: true})
			}
			if reach > 0 {
				key := s.keyOf(u, p, circles)
				arcs = append(arcs, arc{key: key, unit: u, piece: int16(p), circle: int16(circles),
					start: Mix(s.keyOf(u, p, 0) + shareOuter), reach: reach - 1})
			}
		}
	}
	return arcs
}

// build cuts the ring into frames and lists who covers them.
func (s *share) build(arcs []arc) {
	s.arcs = arcs
	type edge struct {
		at  uint64 // the first hash of the new frame
		arc int32
	}
	edges := make([]edge, 0, 2*len(arcs))
	var cover []int32 // of the present frame, ascending
	for i, a := range arcs {
		if a.full || a.start == 0 || a.start+a.reach < a.start {
			cover = append(cover, int32(i))
		}
		if !a.full {
			edges = append(edges, edge{a.start, int32(i)}, edge{a.start + a.reach + 1, int32(i)})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return int(a.arc - b.arc)
	})
	s.reserve(len(edges), len(arcs)*(int(s.stretch(len(s.units))/stretchUnit)+1))
	for i := 0; i < len(edges); {
		at := edges[i].at
		if at > 0 { // who covers 0 is known already
			s.close(at-1, cover)
		}
		for ; i < len(edges) && edges[i].at == at; i++ {
			if at > 0 {
				cover = toggle(cover, edges[i].arc)
			}
		}
	}
	s.close(math.MaxUint64, cover)
	s.index = newBucketIndex(len(s.ends), func(i int) uint64 { return s.ends[i] })
}

// reserve makes room for the frames between edges and for about that many
// half-frames of members, so that growing does not hold twice the table.
func (s *share) reserve(edges, members int) {
	s.ends = make([]uint64, 0, edges+1)
	s.first = append(make([]int32, 0, edges+2), 0)
	s.members = make([]int32, 0, 2*members)
	s.keys = make([]uint64, 0, 2*members)
}

// close ends a frame.
func (s *share) close(end uint64, cover []int32) {
	for _, m := range cover {
		s.members = append(s.members, m)
		s.keys = append(s.keys, s.arcs[m].key)
	}
	s.ends = append(s.ends, end)
	s.first = append(s.first, int32(len(s.members)))
}

// toggle adds an arc to those that cover a frame, or takes it away.
func toggle(cover []int32, a int32) []int32 {
	at, there := slices.BinarySearch(cover, a)
	if there {
		return slices.Delete(cover, at, at+1)
	}
	return slices.Insert(cover, at, a)
}

func (s *share) Clone() Strategy { c := *s; return &c }

func (s *share) Bytes() int {
	return s.bytes() + 40*cap(s.arcs) + 8*cap(s.ends) + 4*cap(s.first) +
		4*cap(s.members) + 8*cap(s.keys) + s.index.bytes()
}

func (s *share) AppendState(dst []byte) []byte { return dst }

func (s *share) DecodeState(state []byte) error { return noState(state) }
