package placement

import (
	"cmp"
	"slices"
)

// span is an interval [lo, hi) of the points that a table draws from, and the
// unit that owns it.
type span struct {
	lo, hi uint64
	unit   int32
}

// side is one of two tables that are compared.
type side struct {
	spans    []span    // ascending and disjoint
	shares   []float64 // by unit: what a draw hits, given that it hits
	miss     float64   // probability that a draw hits nothing
	rounds   int       // draws before the fall-back unit; 0: endless
	fallback int       // the unit that has what no draw hits
}

// cell is the probability that a draw lies in from here and in to there, two
// different units.
type cell struct {
	from, to int32
	measure  uint64
	p        float64
}

// joint is how two tables that see the same draws place one object. With
// P(a,b) the probability that a draw lies in a here and in b there, and f that
// it is free in both, the share that moves from a to b is
//
//	sum over i of f^(i-1) [P(a,b) + P(a,free) B_(L-i)(b) + P(free,b) A_(L-i)(a)]
//
// where B_k(b) is the probability that k draws and then the fall-back place an
// object on b there, A_k likewise here. Objects that no draw places on either
// side move between the fall-back units; if one side has more rounds, its
// further draws decide.
//
// B_k(b) = B(b) (1-m^k) + m^k [b is the fall-back unit], where B(b) is b's share
// of the hits and m the probability of a miss. So the sums are geometric and
// are taken once: the formula becomes
//
//	S P(a,b) + P(a,free) toB(b) + P(free,b) toA(a) + fA(a) fB(b).
type joint struct {
	from, to side
	cells    []cell    // each pair once, ascending
	gone     []float64 // by unit of from: P(a,free)
	come     []float64 // by unit of to: P(free,b)
	all      float64   // S

	toA, toB []float64
	fA, fB   []float64
}

// join compares two tables that draw from points 0 .. points-1. Cost O(spans)
// and O(m log m) for m spans that change owners.
func join(from, to side, points float64) *joint {
	j := &joint{from: from, to: to}
	gone := make([]uint64, len(from.shares))
	come := make([]uint64, len(to.shares))
	a, b := from.spans, to.spans
	at, used := uint64(0), uint64(0)
	for len(a) > 0 || len(b) > 0 {
		ua, endA := ownerAt(a, at)
		ub, endB := ownerAt(b, at)
		end := min(endA, endB)
		m := end - at
		if ua >= 0 || ub >= 0 {
			used += m
		}
		switch {
		case ua >= 0 && ub < 0:
			gone[ua] += m
		case ua < 0 && ub >= 0:
			come[ub] += m
		case ua != ub:
			j.cells = append(j.cells, cell{from: ua, to: ub, measure: m})
		}
		at = end
		a, b = passed(a, at), passed(b, at)
	}
	j.sumCells(points)
	j.gone, j.come = probabilities(gone, points), probabilities(come, points)
	j.sumRounds((points-float64(used))/points, float64(used)/points)
	return j
}

// ownerAt returns the owner of a point, -1 for a free one, and where that ends.
// No span ends at the point or before it.
func ownerAt(s []span, at uint64) (unit int32, end uint64) {
	switch {
	case len(s) == 0:
		return -1, ^uint64(0)
	case at < s[0].lo:
		return -1, s[0].lo
	default:
		return s[0].unit, s[0].hi
	}
}

// passed drops the first span if it ends at the point.
func passed(s []span, at uint64) []span {
	if len(s) > 0 && s[0].hi <= at {
		return s[1:]
	}
	return s
}

func probabilities(measures []uint64, points float64) []float64 {
	p := make([]float64, len(measures))
	for i, m := range measures {
		p[i] = float64(m) / points
	}
	return p
}

// sumCells leaves one cell for each pair.
func (j *joint) sumCells(points float64) {
	slices.SortFunc(j.cells, func(x, y cell) int {
		return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to))
	})
	n := 0
	for _, c := range j.cells {
		if n > 0 && j.cells[n-1].from == c.from && j.cells[n-1].to == c.to {
			j.cells[n-1].measure += c.measure
		} else {
			j.cells[n] = c
			n++
		}
	}
	j.cells = j.cells[:n]
	for i := range j.cells {
		j.cells[i].p = float64(j.cells[i].measure) / points
	}
}

// sumRounds takes the geometric sums; free is the probability f that a draw is
// free in both, used is 1-f.
func (j *joint) sumRounds(free, used float64) {
	rounds := min(j.from.rounds, j.to.rounds)
	if rounds == 0 { // endless: nothing is left for the fall-back units
		j.all = 1 / used
		j.toA = scaled(j.from.shares, j.all)
		j.toB = scaled(j.to.shares, j.all)
		return
	}
	// hits and misses: the sums of f^(i-1) and f^(i-1) m^(L-i)
	ways := func(s side) (misses float64) {
		f := 1.0
		for i := 1; i <= rounds; i++ {
			misses += float64(f * power(s.miss, s.rounds-i))
			f *= free
		}
		return misses
	}
	f := 1.0
	for range rounds {
		j.all += f
		f *= free
	}
	missA, missB := ways(j.from), ways(j.to)
	j.toA = scaled(j.from.shares, j.all-missA)
	j.toA[j.from.fallback] += missA
	j.toB = scaled(j.to.shares, j.all-missB)
	j.toB[j.to.fallback] += missB
	j.fA = j.from.after(rounds, f)
	j.fB = j.to.after(rounds, 1)
}

// after returns by unit where the rounds that remain place an object, times
// factor.
func (s side) after(rounds int, factor float64) []float64 {
	m := power(s.miss, s.rounds-rounds)
	p := scaled(s.shares, float64(factor*(1-m)))
	p[s.fallback] += float64(factor * m)
	return p
}

func scaled(list []float64, factor float64) []float64 {
	out := make([]float64, len(list))
	for i, x := range list {
		out[i] = float64(x * factor)
	}
	return out
}

func power(x float64, n int) float64 {
	p := 1.0
	for range n {
		p *= x
	}
	return p
}

// visit calls yield for the pairs that something moves between, each once and
// in ascending order. Cost O(units + pairs).
func (j *joint) visit(yield func(from, to int, share Fraction)) {
	var gaining []int // the units of to that win free points
	for b, p := range j.come {
		if p > 0 {
			gaining = append(gaining, b)
		}
	}
	cells := j.cells
	for a := range j.from.shares {
		mine := cells
		for len(cells) > 0 && int(cells[0].from) == a {
			cells = cells[1:]
		}
		mine = mine[:len(mine)-len(cells)]
		switch {
		case j.gone[a] > 0 || j.fA != nil && j.fA[a] > 0:
			for b := range j.to.shares {
				mine = j.pair(a, b, mine, yield)
			}
		default:
			for i := 0; i < len(gaining) || len(mine) > 0; {
				if len(mine) == 0 || i < len(gaining) && gaining[i] <= int(mine[0].to) {
					mine = j.pair(a, gaining[i], mine, yield)
					i++
				} else {
					mine = j.pair(a, int(mine[0].to), mine, yield)
				}
			}
		}
	}
}

// pair visits one pair and returns the cells that remain.
func (j *joint) pair(a, b int, cells []cell, yield func(from, to int, share Fraction)) []cell {
	direct := 0.0
	if len(cells) > 0 && int(cells[0].to) == b {
		direct = cells[0].p
		cells = cells[1:]
	}
	if a == b {
		return cells
	}
	p := float64(direct*j.all) + float64(j.gone[a]*j.toB[b])
	p += float64(j.come[b] * j.toA[a])
	if j.fA != nil {
		p += float64(j.fA[a] * j.fB[b])
	}
	if p > 0 {
		yield(a, b, Fraction(p))
	}
	return cells
}

// moved is the sum of all that visit yields, in O(units + cells): the pairs of
// a change that touches every unit are as many as units squared.
func (j *joint) moved() Fraction {
	sum := 0.0
	for _, c := range j.cells {
		sum += float64(c.p * j.all)
	}
	sum += elsewhere(j.gone, j.toB)
	sum += elsewhere(j.come, j.toA)
	if j.fA != nil {
		sum += elsewhere(j.fA, j.fB)
	}
	return Fraction(sum)
}

// elsewhere is the sum of p_i q_k over i != k.
func elsewhere(p, q []float64) float64 {
	all := 0.0
	for _, x := range q {
		all += x
	}
	sum := 0.0
	for i, x := range p {
		rest := all
		if i < len(q) {
			rest -= q[i]
		}
		if x > 0 && rest > 0 {
			sum += float64(x * rest)
		}
	}
	return sum
}
