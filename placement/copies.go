package placement

import (
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
// Drawing again until k domains differ gives other shares than pi, as large
// domains are hit first: up to 40 % less for the largest of few. So the
// strategy draws with calibrated weights (see calibrate) that give pi: measured
// error below 1 %. Within a domain units share by capacity.
//
// The sampler is a copy of the map's strategy whose weights are changed to the
// calibrated ones. It depends on the map's state alone, and follows its
// changes with few moves. Strategies for equal units cannot be calibrated:
// they serve if all domains have equal capacities; otherwise rendezvous does.
type sampler struct {
	k        int
	strategy Strategy
	race     *rendezvous // the same weights, for what draws do not find
	domains  []int32     // by slot; -1 for a free one
	always   []bool      // by domain: it has a copy of everything
	spare    int         // copies for the other domains
}

// copiesStream is the stream of the second and later draws of an object.
const copiesStream = 0xA24BAED4963EE407

// tries bounds the draws of an object; the race decides what is left.
func (s *sampler) tries() int { return 16 * (s.k + 1) }

// LocateCopies appends the slots of the k copies of a hash to dst: k different
// units in k different domains, each domain with its share of copies. With
// equal capacities the first is the one that Locate answers. ErrEmpty without
// units, ErrCopies for k below 1, above MaxCopies or above the domains.
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
	s := m.samplers[k].Load()
	if s == nil {
		var err error
		if s, err = m.newSampler(k); err != nil {
			return dst, err
		}
	}
	return s.locate(hash, dst), nil
}

// locate appends k slots. A domain that always has a copy is taken when it is
// drawn, or at the end.
func (s *sampler) locate(hash uint64, dst []int) []int {
	start, spare := len(dst), s.spare
	x := hash
	for try := range s.tries() {
		if try > 0 {
			x = Mix(hash + uint64(try)*copiesStream)
		}
		u := s.strategy.Locate(x)
		d := s.domains[u]
		if s.chosen(dst[start:], d) || (!s.always[d] && spare == 0) {
			continue
		}
		if dst = append(dst, u); len(dst)-start == s.k {
			return dst
		}
		if !s.always[d] {
			spare--
		}
	}
	return s.finish(hash, start, spare, dst)
}

// chosen says whether a domain has a copy already.
func (s *sampler) chosen(slots []int, domain int32) bool {
	for _, u := range slots {
		if s.domains[u] == domain {
			return true
		}
	}
	return false
}

// finish appends what the draws did not find, by a race of all units left.
func (s *sampler) finish(hash uint64, start, spare int, dst []int) []int {
	for len(dst)-start < s.k {
		u := s.race.first(hash, func(unit int32) bool {
			d := s.domains[unit]
			return !s.chosen(dst[start:], d) && (s.always[d] || spare > 0)
		})
		if !s.always[s.domains[u]] {
			spare--
		}
		dst = append(dst, u)
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
	s := &sampler{k: k, domains: make([]int32, len(m.slots))}
	totals := m.groupDomains(s.domains)
	if k > len(totals) {
		return nil, ErrCopies
	}
	var weights []Capacity
	weights, s.always, s.spare = domainWeights(totals, k)
	changes := make([]Change, 0, len(m.names))
	for i, u := range m.slots {
		if u.name != "" {
			d := s.domains[i]
			hi, lo := bits.Mul64(uint64(weights[d]), uint64(u.capacity))
			w, _ := bits.Div64(hi, lo, uint64(totals[d]))
			changes = append(changes, Change{i, Capacity(max(w, 1))})
		}
	}
	s.race = &rendezvous{seed: m.opts.Seed}
	if err := s.race.Apply(changes); err != nil {
		return nil, err
	}
	if err := m.sampleBy(s, changes, totals); err != nil {
		return nil, err
	}
	m.samplers[k].Store(s)
	return s, nil
}

// sampleBy chooses the strategy of a sampler.
func (m *Map) sampleBy(s *sampler, changes []Change, totals []Capacity) error {
	if !m.spec.Weighted {
		s.strategy = s.race
		if slices.Min(totals) == slices.Max(totals) {
			s.strategy = m.strategy.Clone()
		}
		return nil
	}
	var steps []Change
	for _, shrink := range []bool{true, false} { // first those that give room
		for _, c := range changes {
			if old := m.slots[c.Unit].capacity; c.Capacity != old && (c.Capacity < old) == shrink {
				steps = append(steps, c)
			}
		}
	}
	var err error
	s.strategy, err = changed(m.strategy.Clone(), steps)
	return err
}

// groupDomains numbers the domains by their first slot, fills in the domain of
// each slot, and answers the capacities of the domains.
func (m *Map) groupDomains(domains []int32) []Capacity {
	var totals []Capacity
	byName := map[string]int32{}
	for i, u := range m.slots {
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
	return totals
}

// Domains answers how many copies of an object there can be.
func (m *Map) Domains() int { return len(m.groupDomains(make([]int32, len(m.slots)))) }

// nearlyAll is the share from which a domain gets a copy of everything: its
// weight would have to be many times that of all others. 2^-10 is far below
// the 1 % that the shares of copies may be off.
const nearlyAll = 1 << 10

// domainWeights answers the weight of each domain in the draws, which of them
// have a copy of everything, and how many copies are left for the others.
func domainWeights(totals []Capacity, k int) (weights []Capacity, always []bool, spare int) {
	weights, always, spare = slices.Clone(totals), make([]bool, len(totals)), k
	order := make([]int, len(totals))
	var rest uint64
	for i, c := range totals {
		order[i] = i
		rest += uint64(c)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case totals[a] > totals[b]:
			return -1
		case totals[a] < totals[b]:
			return 1
		}
		return 0
	})
	for spare > 0 && certain(uint64(totals[order[0]]), rest, spare, len(order)) {
		always[order[0]] = true
		rest -= uint64(totals[order[0]])
		order, spare = order[1:], spare-1
	}
	if spare > 0 {
		most := Capacity(rest / uint64(spare)) // a certain one is not to swallow the draws
		for d := range weights {
			if always[d] {
				weights[d] = min(weights[d], most)
			}
		}
		calibrate(weights, order, rest, spare)
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
