package placement

import (
	"encoding/binary"
	"math"
	"slices"
)

// copysets places the k copies of an object on one of few sets of k units, so that
// k units that fail at once are rarely a set (Cidon et al. 2013).
//
// Model: with n units there are p ceil(n/k) sets, p = ceil(s/(k-1)), s what Scatter
// asks for: each unit is in p sets or one more, and so shares copies with about s
// others. The units of a set are in different domains. An object is on set
// jumpBack(hash); which unit of that has the first copy, a further draw says.
// When f units fail, some object is lost with probability
// 1 - (1 - S/C(n,k))^C(f,k), S the number of sets (LossProbability). A loss is larger
// then: in the mean as much is lost as with sets by chance.
//
// Guarantee: with equal domains shares are those of sets, p or p+1 of p n/k: the
// smaller p, the coarser. A unit that leaves gives its place in each set to one
// other; one that joins takes places of units that have most. So what moves is
// what the unit has, and when the number of sets changes, what p sets have. With
// domains of different sizes a small one has more copies a unit, as its units are
// needed in more sets.
//
// Cost: 4 bytes a place, three draws a lookup, O(p n) a change. Sets are history.
type copysets struct {
	roster
	seed    uint64
	width   int     // units of a set: k, or fewer while there are fewer domains
	most    int     // k
	tables  int     // p
	sets    []int32 // units, width of them a set
	places  []int32 // by unit: in how many sets it is
	domains []int32 // by unit; nil: each is one by itself
}

func specCopysets() Spec {
	return Spec{Name: "copysets", Number: 13, MaxUnits: MaxUnits,
		Summary: "copysets: equal units, copies on few sets of units, so that failures rarely hit all of one",
		New:     newCopysets}
}

func newCopysets(o Options) Strategy {
	return &copysets{seed: o.Seed, most: o.Copies, tables: (o.Scatter + o.Copies - 2) / (o.Copies - 1)}
}

// turnStream is the random stream that chooses which unit of a set comes first.
const turnStream = 0x8EBC6AF09C88C6E3

// count is the number of sets.
func (c *copysets) count() int { return len(c.sets) / max(c.width, 1) }

// set returns the units of a set.
func (c *copysets) set(i int) []int32 { return c.sets[i*c.width : (i+1)*c.width] }

// place returns the set of an object, and the place of its first copy.
func (c *copysets) place(hash uint64) (set []int32, first int) {
	first = int(scale(Mix(hash+turnStream), uint64(c.width)))
	return c.set(jumpBack(hash, c.count())), first
}

func (c *copysets) Locate(hash uint64) int {
	if len(c.sets) == 0 {
		return -1
	}
	set, first := c.place(hash)
	return int(set[first])
}

// copies appends k units of an object's set, from the first on.
func (c *copysets) copies(hash uint64, k int, dst []int) ([]int, error) {
	if k > c.width {
		return dst, ErrCopies
	}
	set, first := c.place(hash)
	for i := range k {
		dst = append(dst, int(set[(first+i)%c.width]))
	}
	return dst, nil
}

func (c *copysets) Set(unit int, capacity Capacity) error { return set(c, unit, capacity) }

func (c *copysets) Remove(unit int) error { return remove(c, unit) }

// Apply implements Batcher. New units are domains by themselves.
func (c *copysets) Apply(changes []Change) error {
	domains := slices.Clone(c.domains)
	for _, ch := range changes {
		for domains != nil && len(domains) <= ch.Unit {
			domains = append(domains, -1)
		}
	}
	next, err := c.changed(domains, changes)
	if err == nil {
		*c = *next.(*copysets)
	}
	return err
}

// changed returns the strategy after changes of units and of their domains.
func (c *copysets) changed(domains []int32, changes []Change) (Strategy, error) {
	r, err := c.applyEqual(changes)
	if err != nil {
		return c, err
	}
	next := *c
	next.roster, next.domains = r, domains
	next.sets, next.places = slices.Clone(c.sets), make([]int32, 0, len(c.places))
	old := next.width
	next.width = min(next.most, next.domainCount())
	if old != next.width || len(c.sets) == 0 {
		next.build()
		return &next, nil
	}
	next.tally()
	for _, ch := range changes {
		if ch.Capacity == 0 {
			next.leave(int32(ch.Unit))
		}
	}
	next.separate()
	next.settle()
	return &next, nil
}

// domain returns the domain of a unit: a negative one is its own.
func (c *copysets) domain(unit int32) int32 {
	if int(unit) < len(c.domains) && c.domains[unit] >= 0 {
		return c.domains[unit]
	}
	return -1 - unit
}

func (c *copysets) domainCount() int {
	seen := map[int32]bool{}
	for _, u := range c.units {
		seen[c.domain(u)] = true
	}
	return len(seen)
}

// wanted is how many sets there are to be.
func (c *copysets) wanted() int {
	if c.width == 0 {
		return 0
	}
	return c.tables * ((len(c.units) + c.width - 1) / c.width)
}

// tally counts places.
func (c *copysets) tally() {
	n := 0
	if len(c.units) > 0 {
		n = int(c.units[len(c.units)-1]) + 1
	}
	for _, u := range c.sets {
		n = max(n, int(u)+1)
	}
	c.places = make([]int32, n)
	for _, u := range c.sets {
		c.places[u]++
	}
}

// leave gives the places of a unit that has left to others.
func (c *copysets) leave(unit int32) {
	for i := range c.count() {
		set := c.set(i)
		if at := slices.Index(set, unit); at >= 0 {
			c.assign(i, at, c.fewest(i, at))
		}
	}
}

// separate takes units apart that have come to be in one domain.
func (c *copysets) separate() {
	for i := range c.count() {
		set := c.set(i)
		for at := 1; at < len(set); at++ {
			if slices.ContainsFunc(set[:at], func(u int32) bool { return c.domain(u) == c.domain(set[at]) }) {
				c.assign(i, at, c.fewest(i, at))
			}
		}
	}
}

func (c *copysets) assign(set, at int, unit int32) {
	c.places[c.set(set)[at]]--
	c.set(set)[at] = unit
	c.places[unit]++
}

// order draws the order of units that have equally many places.
func (c *copysets) order(set int, unit int32) uint64 {
	return Mix(Mix(c.seed+uint64(set)*phi64) ^ uint64(unit)*pi6)
}

// fits says whether a unit may have a place in a set: its domain is not there.
func (c *copysets) fits(set, at int, unit int32) bool {
	d := c.domain(unit)
	for i, u := range c.set(set) {
		if i != at && u >= 0 && c.domain(u) == d {
			return false
		}
	}
	return true
}

// fewest returns the unit with the fewest places that fits. There is one: a set
// has at most as many places as there are domains.
func (c *copysets) fewest(set, at int) int32 {
	best, least, tie := int32(-1), int32(math.MaxInt32), uint64(0)
	for _, u := range c.units {
		if p := c.places[u]; p <= least {
			if o := c.order(set, u); (p < least || o < tie) && c.fits(set, at, u) {
				best, least, tie = u, p, o
			}
		}
	}
	return best
}

// settle brings the number of sets to what it is to be, and levels places where
// domains allow it.
func (c *copysets) settle() {
	wanted := c.wanted()
	for c.count() > wanted {
		for _, u := range c.set(c.count() - 1) {
			c.places[u]--
		}
		c.sets = c.sets[:len(c.sets)-c.width]
	}
	for c.count() < wanted {
		c.grow()
	}
	for range len(c.units) * c.width {
		if !c.pull() {
			return
		}
	}
}

// grow adds a set.
func (c *copysets) grow() {
	for range c.width {
		c.sets = append(c.sets, -1)
	}
	last := c.count() - 1
	for at := range c.width {
		u := c.fewest(last, at)
		c.set(last)[at] = u
		c.places[u]++
	}
}

// pull gives a place to the unit with the fewest, of one that has at least two
// more; false if there is none to give.
func (c *copysets) pull() bool {
	low, high := c.units[0], c.units[0]
	for _, u := range c.units {
		if c.places[u] < c.places[low] {
			low = u
		}
		if c.places[u] > c.places[high] {
			high = u
		}
	}
	if c.places[high]-c.places[low] < 2 {
		return false
	}
	best, at, most := -1, 0, c.places[low]+1
	from := int(scale(c.order(0, low), uint64(c.count())))
	for k := range c.count() {
		i := (from + k) % c.count()
		for j, u := range c.set(i) {
			if c.places[u] > most && c.fits(i, j, low) {
				best, at, most = i, j, c.places[u]
			}
		}
		if most == c.places[high] && best >= 0 {
			break
		}
	}
	if best < 0 {
		return false
	}
	c.assign(best, at, low)
	return true
}

// owners implements tabled: the first copy is on each place of each set alike.
func (c *copysets) owners() []uint16 {
	out := make([]uint16, len(c.sets))
	for i, u := range c.sets {
		out[i] = uint16(u)
	}
	return out
}

func (c *copysets) Clone() Strategy {
	n := *c
	n.sets, n.places, n.domains = slices.Clone(c.sets), slices.Clone(c.places), slices.Clone(c.domains)
	return &n
}

func (c *copysets) Bytes() int {
	return c.bytes() + 4*(cap(c.sets)+cap(c.places)+cap(c.domains))
}

// AppendState appends the sets: how many units each has, and the units.
func (c *copysets) AppendState(dst []byte) []byte {
	if len(c.sets) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(c.width))
	for _, u := range c.sets {
		dst = binary.AppendUvarint(dst, uint64(u))
	}
	return dst
}

// DecodeState implements Strategy: sets are as many as there are to be, their units
// are there, and in different domains.
func (c *copysets) DecodeState(state []byte) error {
	if len(c.units) == 0 {
		return noState(state)
	}
	r := reader{rest: state}
	width := int(r.uvarint(uint64(c.most)))
	if r.bad || width != c.width {
		return ErrCorrupt
	}
	for i := range c.sets {
		u := int32(r.uvarint(MaxUnits - 1))
		if _, known := c.roster.find(int(u)); r.bad || !known {
			return ErrCorrupt
		}
		c.sets[i] = u
	}
	if len(r.rest) > 0 {
		return ErrCorrupt
	}
	for i := range c.count() {
		for at, u := range c.set(i) {
			if !c.fits(i, at, u) {
				return ErrCorrupt
			}
		}
	}
	c.tally()
	return nil
}

// Moves: set i of both maps has 1/max of the objects in both, and where one map has
// more sets, each of those has its share of every set of the other. Of an object
// that is at the part x of its set, the first copy is on unit floor(x width).
func (c *copysets) Moves(to Strategy, visit func(from, to int, share Fraction)) {
	t := to.(*copysets)
	s, l := c.count(), t.count()
	if s == 0 || l == 0 {
		return
	}
	small, large := min(s, l), max(s, l)
	both := func(a, b []int32, share float64) {
		for i, from := range a {
			for j, to := range b {
				if p := overlap(i, len(a), j, len(b)); p > 0 && from != to {
					visit(int(from), int(to), Fraction(p*share))
				}
			}
		}
	}
	for i := range small {
		both(c.set(i), t.set(i), 1/float64(large))
	}
	for i := range small {
		for k := small; k < large; k++ {
			a, b := i, k
			if s > l {
				a, b = k, i
			}
			both(c.set(a), t.set(b), 1/float64(small)/float64(large))
		}
	}
}

// overlap returns how much [i/n, (i+1)/n) and [j/m, (j+1)/m) have in common.
func overlap(i, n, j, m int) float64 {
	low, high := max(i*m, j*n), min((i+1)*m, (j+1)*n)
	return float64(max(high-low, 0)) / float64(n*m)
}

// Sets returns the number of sets of units that copies are on, 0 for a strategy
// without sets.
func (m *Map) Sets() int {
	if c, ok := m.strategy.(*copysets); ok {
		return c.count()
	}
	return 0
}

// LossProbability returns how likely some object loses all its copies when failed of
// the units fail at once, where copies are on so many different sets of units:
// 1 - (1 - sets/C(units, copies))^C(failed, copies).
func LossProbability(units, copies int, sets float64, failed int) float64 {
	if failed < copies || copies < 1 || units < copies {
		return 0
	}
	part := sets / binomial(units, copies)
	if part >= 1 {
		return 1
	}
	return -math.Expm1(binomial(failed, copies) * math.Log1p(-part))
}

// RandomSets returns on how many different sets of units the copies of objects are
// in the mean when each object has a set by chance, and their number is that of a
// Poisson law.
func RandomSets(units, copies int, objects float64) float64 {
	all := binomial(units, copies)
	return all * -math.Expm1(-objects/all)
}

func binomial(n, k int) float64 {
	out := 1.0
	for i := range min(k, n-k) {
		out = out * float64(n-i) / float64(i+1)
	}
	return out
}
