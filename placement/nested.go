package placement

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// Nested domains: with Options.Spread the domain of a unit is a path, such as
// room/rack/host, and a unit is in each of the domains that begin it.
//
// Model: of k copies, a domain of the outermost level with capacity C should hold
// min(most, k C/R): domains are filled up, the largest for its bound first, and
// the others share what is left in proportion to their capacities. most is
// Spread; no unit ever holds two copies. That is e copies, and floor(e) of them are
// certain, and one more is what domains race for as copies without nesting do (see
// sampler), each with the chance e - floor(e). The m copies of a domain are divided
// among the domains in it in the same way, where the most that one of them holds is
// the least that suffices: 1 as long as there are m of them. A domain with one copy
// has it in one of those in it, by capacity: the one with the smallest -ln(1-u)/C, u
// the number that it would draw in a race, so that its place is mostly one of those that
// two copies would have.
//
// The first copy is where Locate says, so a domain that has it has a copy in any
// case: the races of domains with the first copy and of those without it are
// calibrated apart.
type tree struct {
	capacity Capacity
	units    int
	slot     int32   // of a unit
	children []*tree // none: it is a unit
	name     string
	key      uint64 // in the races of its siblings
	splits   map[splitOf]*split
}

// splitOf says what is divided: copies, one of which is the first or not.
type splitOf struct {
	copies int
	hosted bool
}

// split is how the copies of a domain are divided among those in it.
type split struct {
	base    []uint8 // copies that each has for certain
	certain []int32 // those that have any
	spare   int     // copies that they race for
	race    race
}

// maxDepth bounds the levels of domains: what follows in a path is part of the
// name of the innermost one.
const maxDepth = 8

// nesting is the sampler of a map with Spread.
type nesting struct {
	root  *tree
	paths [][]int32 // by slot: which child, from the root on
	all   splitOf
}

// newNesting makes the tables for k copies. There are enough domains.
func (m *Map) newNesting(k int) *nesting {
	n := &nesting{root: &tree{}, paths: make([][]int32, len(m.slots)), all: splitOf{k, true}}
	seed := Mix(m.opts.Seed + copiesStream)
	for i, u := range m.slots {
		if u.name != "" {
			n.paths[i] = n.root.enter(nil, pathOf(u.domain), Change{i, u.capacity}, seed)
		}
	}
	n.root.divide(n.all, m.opts.Spread)
	return n
}

// pathOf returns the domains of a unit, outermost first.
func pathOf(domain string) []string {
	if domain == "" {
		return nil
	}
	return strings.SplitN(domain, "/", maxDepth)
}

// enter puts a unit under the domains of its path, and returns its place.
func (t *tree) enter(place []int32, path []string, u Change, seed uint64) []int32 {
	t.capacity += u.Capacity
	t.units++
	if len(path) == 0 {
		t.children = append(t.children, &tree{capacity: u.Capacity, units: 1, slot: int32(u.Unit), key: Mix(seed + (uint64(u.Unit)+1)*pi6)})
		return append(place, int32(len(t.children)-1))
	}
	child := slices.IndexFunc(t.children, func(c *tree) bool { return len(c.children) > 0 && c.name == path[0] })
	if child < 0 {
		child = len(t.children)
		t.children = append(t.children, &tree{name: path[0], key: Mix(t.key ^ Hash([]byte(path[0]), seed))})
	}
	return t.children[child].enter(append(place, int32(child)), path[1:], u, seed)
}

// divide makes the tables that lookups of so many copies need.
func (t *tree) divide(of splitOf, most int) {
	if t.splits[of] != nil || len(t.children) == 0 || of.copies == 1 {
		return
	}
	s, fractions := t.newSplit(of, most)
	if t.splits == nil {
		t.splits = map[splitOf]*split{}
	}
	t.splits[of] = s
	for i, c := range t.children {
		for _, copies := range []int{int(s.base[i]), int(s.base[i]) + 1} {
			if copies == 0 || copies > int(s.base[i]) && (fractions[i] == 0 || s.spare == 0) {
				continue
			}
			c.divide(splitOf{copies, false}, 0)
			if of.hosted {
				c.divide(splitOf{copies, true}, 0)
			}
		}
	}
}

// least returns the smallest bound with which so many copies find room.
func (t *tree) least(copies int) int {
	for most := 1; ; most++ {
		room := 0
		for _, c := range t.children {
			room += min(most, c.units)
		}
		if room >= copies || most >= t.units {
			return most
		}
	}
}

// newSplit divides copies among the children; most is 0 for the least bound. It
// returns the chance of each child of one copy more than its base, too.
func (t *tree) newSplit(of splitOf, most int) (s *split, fractions []float64) {
	if most == 0 {
		most = t.least(of.copies)
	}
	parts := make([]part, len(t.children))
	for i, c := range t.children {
		parts[i] = part{capacity: uint64(c.capacity), most: min(most, c.units)}
	}
	fill(parts, of.copies)
	s, fractions = &split{base: make([]uint8, len(parts)), spare: of.copies}, make([]float64, len(parts))
	var runners []int32
	for i, p := range parts {
		if p.fraction >= 1-1.0/nearlyAll {
			p.whole, p.fraction = p.whole+1, 0
		}
		s.base[i], fractions[i] = uint8(p.whole), p.fraction
		s.spare -= p.whole
		if p.fraction > 0 {
			runners = append(runners, int32(i))
		}
	}
	if s.spare >= len(runners) { // each of them has one more
		for _, i := range runners {
			s.base[i]++
			fractions[i] = 0
		}
		runners, s.spare = nil, 0
	}
	for i := range s.base {
		if s.base[i] > 0 {
			s.certain = append(s.certain, int32(i))
		}
	}
	if s.spare > 0 {
		t.enterRace(s, of, runners, fractions)
	}
	return s, fractions
}

// enterRace calibrates the race of those with a chance of one copy more.
func (t *tree) enterRace(s *split, of splitOf, runners []int32, fractions []float64) {
	sum := 0.0
	for _, i := range runners {
		sum += fractions[i]
	}
	l := lot{first: make([]float64, len(runners)), target: make([]float64, len(runners)), copies: s.spare, elsewhere: 1}
	for at, i := range runners {
		l.target[at] = min(float64(fractions[i]*float64(s.spare))/sum, 1-1.0/nearlyAll)
		if of.hosted && s.base[i] == 0 {
			l.first[at] = float64(t.children[i].capacity) / float64(t.capacity)
			l.elsewhere -= l.first[at]
		}
	}
	l.elsewhere = max(l.elsewhere, 0)
	weights := l.calibrate()
	least := slices.Min(weights)
	for at, i := range runners {
		s.race.named = append(s.race.named, runner{t.children[i].key, inverse(least, weights[at]), i})
	}
}

// part is a child while copies are divided.
type part struct {
	capacity uint64
	most     int
	whole    int     // copies for certain,
	fraction float64 // and the chance of one more
}

// fill gives each part min(most, k C/R) copies of k, where what some cannot take
// goes to the others. Whole copies are counted with integers.
func fill(parts []part, k int) {
	order, rest := make([]int, len(parts)), uint64(0)
	for i, p := range parts {
		order[i] = i
		rest += p.capacity
	}
	product := func(c uint64, n int) [2]uint64 { hi, lo := bits.Mul64(c, uint64(n)); return [2]uint64{hi, lo} }
	compare := func(a, b [2]uint64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }
	slices.SortStableFunc(order, func(a, b int) int { // by capacity over bound
		return compare(product(parts[b].capacity, parts[a].most), product(parts[a].capacity, parts[b].most))
	})
	for at, i := range order {
		p := &parts[i]
		if compare(product(p.capacity, k), product(rest, p.most)) < 0 {
			for _, i := range order[at:] {
				p := &parts[i]
				whole := product(p.capacity, k)
				quotient, remainder := bits.Div64(whole[0], whole[1], rest)
				p.whole, p.fraction = int(quotient), float64(remainder)/float64(rest)
			}
			return
		}
		p.whole, p.fraction = p.most, 0
		k, rest = k-p.most, rest-p.capacity
	}
}

// ExpectedCopies returns how many of k copies each of some domains holds in the
// mean, none more than most: min(most, k C/R), where what one cannot hold goes to
// the others. ErrCopies for k copies that do not fit, ErrCapacity.
func ExpectedCopies(capacities []float64, k, most int) ([]float64, error) {
	if k < 1 || most < 1 || k > MaxCopies || k > most*len(capacities) {
		return nil, ErrCopies
	}
	parts := make([]part, len(capacities))
	units := make([]Unit, len(capacities))
	for i, c := range capacities {
		units[i].Capacity = c
	}
	scale := scaleOf(units)
	for i, c := range capacities {
		q, err := quantise(c, scale)
		if err != nil {
			return nil, err
		}
		parts[i] = part{capacity: uint64(q), most: most}
	}
	fill(parts, k)
	out := make([]float64, len(parts))
	for i, p := range parts {
		out[i] = float64(p.whole) + p.fraction
	}
	return out, nil
}

// locate appends the slots of an object, the first of them given.
func (n *nesting) locate(hash uint64, first int, dst []int) []int {
	dst = append(dst, first)
	return n.root.choose(Mix(hash+copiesStream), n.all, n.paths[first], dst)
}

// choose appends the units of copies in a domain. Of a hosted one, the first copy is
// there already, and path says where.
func (t *tree) choose(x uint64, of splitOf, path []int32, dst []int) []int {
	switch {
	case of == splitOf{1, true}:
		return dst
	case len(t.children) == 0:
		return append(dst, int(t.slot))
	case of.copies == 1:
		return append(dst, t.one(x))
	}
	s, not, spare := t.splits[of], int32(-1), 0
	if spare = s.spare; of.hosted && s.base[path[0]] == 0 {
		not, spare = path[0], spare-1
	}
	var room [MaxCopies]int
	won := s.race.winners(x, not, spare, room[:0])
	for _, c := range s.certain {
		inside := splitOf{int(s.base[c]), of.hosted && path[0] == c}
		if i := slices.Index(won, int(c)); i >= 0 {
			inside.copies++
			won[i] = -1
		}
		var rest []int32
		if inside.hosted {
			rest = path[1:]
		}
		dst = t.children[c].choose(x, inside, rest, dst)
	}
	for _, c := range won {
		if c >= 0 {
			dst = t.children[c].choose(x, splitOf{1, false}, nil, dst)
		}
	}
	return dst
}

// one returns the unit of a single copy.
func (t *tree) one(x uint64) int {
	for len(t.children) > 0 {
		best, least, weight := (*tree)(nil), uint64(0), uint64(0)
		for _, c := range t.children {
			e, w := attraction(x, c.key)|1, uint64(c.capacity)
			if best != nil && !smaller(e>>(64-logBits), w, least, weight) {
				continue // e is a lower bound of its logarithm
			}
			if e = negLog(e); best == nil || smaller(e, w, least, weight) {
				best, least, weight = c, e, w
			}
		}
		t = best
	}
	return int(t.slot)
}

// room returns how many copies the units of a map with Spread can hold.
func (m *Map) room() int {
	units, room := map[string]int{}, 0
	for _, u := range m.slots {
		switch {
		case u.name == "":
		case u.domain == "":
			room++
		default:
			units[pathOf(u.domain)[0]]++
		}
	}
	for _, n := range units {
		room += min(n, m.opts.Spread)
	}
	return room
}
