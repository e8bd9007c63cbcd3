package placement

import (
	"cmp"
	"math/bits"
	"slices"
)

// Copies of an object go to k units in k different domains, a unit without a
// domain being one by itself.
//
// Model: domain d has capacity C_d, the sum of its units'. It should hold a
// copy of the share pi_d = min(1, k C_d / R) of objects, where capacities above
// 1/k are trimmed: while the largest C_1 has k C_1 >= R, the sum of all, it
// holds a copy of everything, and the rest goes on with k-1 and R-C_1.
//
// The first copy is where Locate says, in domain d with probability C_d/R. The
// others go to the domains that win a race: domain d draws u_d in [0, 1), and
// the smallest u_d/v_d win, the first copy's domain not taking part. Order
// sampling with these ranks is the sequential Poisson sampling of Ohlsson (1998):
// were v = C, pi would nearly be right, and a domain that changes would change
// nothing between others. calibrate sets v such that pi is right, and as v/C
// depends little on the rest of the map, moves stay near the optimum, the sum of
// what the pi_d lose: measured 1.02 at n = 10, 1.01 at n = 20. Drawing until k
// domains differ, with weights of all that depend on all, moved 1.24 and 1.1.
//
// The race looks at all domains, whatever their number: another rule for many
// would move everything when that number is reached. Within a domain units
// share by capacity (rendezvous). With nearest and share the first copies have
// the shares that those approximate, and so far pi is off too.
type sampler struct {
	spare   int           // copies for domains that do not have one of everything
	domains []int32       // by slot; -1 for a free one
	only    []int32       // by domain: the slot of its only unit, -1 if it has several
	inner   []*rendezvous // by domain of several units
	always  []bool        // by domain: it has a copy of everything
	certain []int32       // the domains that are always
	race    race
	nesting *nesting // with Spread; the rest is empty then
}

// Streams of the race between domains and of those within them.
const (
	copiesStream = 0xA24BAED4963EE407
	innerStream  = 0x9FB21C651E98DF25
)

// LocateCopies appends the slots of the k copies of a hash to dst: k different
// units in k different domains, each domain with its share of copies. The first
// is the one that Locate returns. With Spread several copies may be in one domain, see
// nesting. ErrEmpty without units, ErrCopies for k below
// 1, above MaxCopies or above the domains.
//
// The first call after a change makes a table, which takes milliseconds for
// 1,000 units; the others do not allocate if dst has room.
func (m *Map) LocateCopies(hash uint64, k int, dst []int) ([]int, error) {
	switch {
	case len(m.names) == 0:
		return dst, ErrEmpty
	case k < 1 || k > MaxCopies:
		return dst, ErrCopies
	case k == 1:
		return append(dst, m.Locate(hash)), nil
	}
	if c, ok := m.strategy.(*copysets); ok {
		return c.copies(hash, k, dst)
	}
	s := m.samplers[k].Load()
	if s == nil {
		var err error
		if s, err = m.newSampler(k); err != nil {
			return dst, err
		}
	}
	return s.locate(hash, m.Locate(hash), dst), nil
}

// locate appends k slots, the first of them given.
func (s *sampler) locate(hash uint64, first int, dst []int) []int {
	if s.nesting != nil {
		return s.nesting.locate(hash, first, dst)
	}
	dst = append(dst, first)
	from, spare := len(dst), s.spare
	not := s.domains[first]
	if !s.always[not] {
		spare--
	}
	dst = s.race.winners(Mix(hash+copiesStream), not, spare, dst)
	for _, d := range s.certain {
		if d != not {
			dst = append(dst, int(d))
		}
	}
	for i, d := range dst[from:] {
		if u := s.only[d]; u >= 0 {
			dst[from+i] = int(u)
			continue
		}
		dst[from+i] = s.inner[d].Locate(Mix(hash + innerStream))
	}
	return dst
}

// newSampler makes the sampler of k copies and keeps it for the next lookups.
func (m *Map) newSampler(k int) (*sampler, error) {
	m.sampling.Lock()
	defer m.sampling.Unlock()
	if s := m.samplers[k].Load(); s != nil {
		return s, nil
	}
	s, err := m.makeSampler(k)
	if err == nil {
		m.samplers[k].Store(s)
	}
	return s, err
}

func (m *Map) makeSampler(k int) (*sampler, error) {
	if m.opts.Spread > 0 {
		if k > m.room() {
			return nil, ErrCopies
		}
		return &sampler{nesting: m.newNesting(k)}, nil
	}
	domains, totals := numberDomains(m.slots)
	s := &sampler{domains: domains}
	if k > len(totals) {
		return nil, ErrCopies
	}
	if err := m.nest(s, len(totals)); err != nil {
		return nil, err
	}
	var weights []Capacity
	weights, s.always, s.spare = domainWeights(totals, k)
	for d, all := range s.always {
		if all {
			s.certain = append(s.certain, int32(d))
		}
	}
	s.race = m.newRace(s, weights)
	return s, nil
}

// nest fills in who is in each domain.
func (m *Map) nest(s *sampler, domains int) error {
	s.only, s.inner = make([]int32, domains), make([]*rendezvous, domains)
	members := make([][]Change, domains)
	for i, d := range s.domains {
		if d >= 0 {
			members[d] = append(members[d], Change{i, m.slots[i].capacity})
		}
	}
	for d, units := range members {
		if s.only[d] = int32(units[0].Unit); len(units) > 1 {
			s.only[d], s.inner[d] = -1, &rendezvous{seed: m.opts.Seed}
			if err := s.inner[d].Apply(units); err != nil {
				return err
			}
		}
	}
	return nil
}

// newRace enters the domains that take part. A domain without a name is
// entered in its unit's slot.
func (m *Map) newRace(s *sampler, weights []Capacity) race {
	r := race{seed: Mix(m.opts.Seed + copiesStream)}
	least := MaxTotal
	for d, w := range weights {
		if !s.always[d] {
			least = min(least, w)
		}
	}
	for i, d := range s.domains {
		if d < 0 || s.always[d] {
			continue
		}
		name := m.slots[i].domain
		switch {
		case name == "":
			r.enter(i, d, inverse(least, weights[d]))
		case s.only[d] == int32(i) || s.only[d] < 0 && s.inner[d].units[0] == int32(i):
			r.enterNamed(name, d, inverse(least, weights[d]))
		}
	}
	r.close()
	return r
}

// numberDomains numbers the domains by their first slot, and returns the domain of
// each slot, -1 for a free one, and the capacities of the domains.
func numberDomains(slots []slot) (domains []int32, totals []Capacity) {
	domains = make([]int32, len(slots))
	byName := map[string]int32{}
	for i, u := range slots {
		domains[i] = -1
		if u.name == "" {
			continue
		}
		d, known := byName[u.domain]
		if !known || u.domain == "" {
			d = int32(len(totals))
			byName[u.domain] = d
			totals = append(totals, 0)
		}
		domains[i] = d
		totals[d] += u.capacity
	}
	return domains, totals
}

// Domains returns how many copies of an object there can be.
func (m *Map) Domains() int {
	if m.opts.Spread > 0 {
		return m.room()
	}
	_, totals := numberDomains(m.slots)
	if c, ok := m.strategy.(*copysets); ok {
		return min(len(totals), c.width)
	}
	return len(totals)
}

// nearlyAll is the share from which a domain gets a copy of everything: its
// weight would have to be many times that of all others. 2^-10 is far below
// the 1 % that the shares of copies may be off.
const nearlyAll = 1 << 10

// domainWeights returns the weight of each domain in the race, which of them
// have a copy of everything, and how many copies are left for the others.
func domainWeights(totals []Capacity, k int) (weights []Capacity, always []bool, spare int) {
	weights, always, spare = make([]Capacity, len(totals)), make([]bool, len(totals)), k
	order := make([]int, len(totals))
	var all uint64
	for i, c := range totals {
		order[i] = i
		all += uint64(c)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(totals[b], totals[a]) })
	rest := all
	for spare > 0 && certain(uint64(totals[order[0]]), rest, spare, len(order)) {
		always[order[0]] = true
		rest -= uint64(totals[order[0]])
		order, spare = order[1:], spare-1
	}
	if spare > 0 {
		l := lot{first: make([]float64, len(order)), target: make([]float64, len(order)), copies: spare,
			elsewhere: float64(all-rest) / float64(all)}
		for i, d := range order {
			l.first[i] = float64(totals[d]) / float64(all)
			l.target[i] = float64(float64(spare) * (float64(totals[d]) / float64(rest)))
		}
		for i, v := range l.calibrate() {
			weights[order[i]] = v
		}
	}
	return weights, always, spare
}

// certain says whether the largest of some domains has a copy of everything.
func certain(largest, rest uint64, copies, domains int) bool {
	if domains == copies {
		return true
	}
	if copies == 1 {
		return false
	}
	// largest copies/rest >= 1 - 1/nearlyAll
	hi, lo := bits.Mul64(largest, uint64(copies)*nearlyAll)
	rhi, rlo := bits.Mul64(rest, nearlyAll-1)
	return hi > rhi || (hi == rhi && lo >= rlo)
}
