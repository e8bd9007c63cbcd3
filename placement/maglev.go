package placement

import "math"

// maglev is the lookup table of Eisenbud et al. (NSDI 2016), weighted, a peer.
//
// Model: M entries, M prime. Unit i likes them in the order
// offset_i + j skip_i mod M. Units take turns, each taking the entry it likes
// most of those left. A unit has as many turns, evenly spread, as its quota of
// entries, by largest remainders (Apportion): shares differ from capacities by
// less than 1/M.
//
// Guarantee: even shares and the fastest lookup; no bound on moves: a change
// moves several times the optimum (6.3 measured with weights 1:100), as every
// entry after a changed one may go to another unit. M >= 100 n, as the authors
// advise: 65,537 entries up to 655 units, ten times more up to 6,553, 2^20
// above; when M changes, nearly all moves.
//
// Placement depends on seed, units and capacities alone, not on history.
// Cost: one multiplication and one load a lookup, 2 M bytes, O(M log M) expected a change.
type maglev struct {
	roster
	opts  Options
	owner []uint16 // never changed in place
}

func specMaglev() Spec {
	return Spec{Name: "maglev", Number: 11, Weighted: true, MaxUnits: MaxUnits,
		Summary: "Maglev's table: fastest lookup, even shares, many moves",
		New:     func(o Options) Strategy { return &maglev{opts: o} }}
}

func (m *maglev) Locate(hash uint64) int {
	if len(m.units) == 0 {
		return -1
	}
	return int(m.owner[scale(hash, uint64(len(m.owner)))])
}

func (m *maglev) Set(unit int, c Capacity) error { return set(m, unit, c) }

func (m *maglev) Remove(unit int) error { return remove(m, unit) }

// Apply implements Batcher.
func (m *maglev) Apply(changes []Change) error {
	next, err := m.apply(changes)
	if err != nil {
		return err
	}
	m.roster = next
	m.owner = nil
	if len(next.units) > 0 {
		m.owner = m.fill()
	}
	return nil
}

// entries returns M for n units.
func (m *maglev) entries(n int) int {
	switch {
	case m.opts.Slots > 0:
		return nextPrime(m.opts.Slots)
	case n <= 655:
		return 65537
	case n <= 6553:
		return 655373
	}
	return 1048583
}

// fill makes the table.
func (m *maglev) fill() []uint16 {
	size := m.entries(len(m.units))
	quotas := Apportion(size, m.caps)
	at, skip := make([]int, len(quotas)), make([]int, len(quotas))
	for i, u := range m.units {
		key := Mix(m.opts.Seed + (uint64(u)+1)*pi6)
		at[i] = int(scale(Mix(key+phi64), uint64(size)))
		skip[i] = 1 + int(scale(Mix(key+pi4), uint64(size-1)))
	}
	owner := make([]uint16, size)
	taken := make([]bool, size)
	for _, i := range turns(size, quotas) {
		p := at[i]
		for taken[p] {
			if p += skip[i]; p >= size {
				p -= size
			}
		}
		taken[p], owner[p], at[i] = true, uint16(m.units[i]), p
	}
	return owner
}

// turns returns who takes an entry when: the k-th turn of a unit with quota q,
// counted from 0, is at time (2k+1)/(2q), cut to a multiple of 1/size; at the
// same time lower units go first. Units of equal quotas take turns evenly.
// Sorted by counting: a credit that grows by the weight would need as many
// rounds as the largest weight has smallest ones.
func turns(size int, quotas []int) []int32 {
	begin := make([]int32, size+1)
	each := func(visit func(i int32, time int)) {
		for i, q := range quotas {
			for k := range q {
				visit(int32(i), int(int64(2*k+1)*int64(size)/int64(2*q)))
			}
		}
	}
	each(func(_ int32, time int) { begin[time+1]++ })
	for t := range size {
		begin[t+1] += begin[t]
	}
	order := make([]int32, size)
	each(func(i int32, time int) {
		order[begin[time]] = i
		begin[time]++
	})
	return order
}

// nextPrime returns the least prime not below n, and 3 at least.
func nextPrime(n int) int {
	for n = max(n, 3) | 1; ; n += 2 {
		prime := true
		for d := 3; d*d <= n && prime; d += 2 {
			prime = n%d != 0
		}
		if prime {
			return n
		}
	}
}

func (m *maglev) owners() []uint16 { return m.owner }

func (m *maglev) Clone() Strategy { c := *m; return &c }

func (m *maglev) Bytes() int { return m.bytes() + 2*cap(m.owner) }

func (m *maglev) AppendState(dst []byte) []byte { return dst }

func (m *maglev) DecodeState(state []byte) error { return noState(state) }

func (m *maglev) Moves(to Strategy, visit func(from, to int, share Fraction)) {
	t := to.(*maglev)
	if len(m.units) == 0 || len(t.units) == 0 {
		return
	}
	end := func(size int) func(int) uint64 {
		return func(i int) uint64 {
			if i >= size {
				return math.MaxUint64
			}
			return equalEnd(i, size)
		}
	}
	overlay(end(len(m.owner)), end(len(t.owner)), func(a, b int, share Fraction) {
		if u, v := m.owner[a], t.owner[b]; u != v {
			visit(int(u), int(v), share)
		}
	})
}
