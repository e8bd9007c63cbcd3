package scheduler

import (
	"math"
	"slices"
)

// lagrangePolicy ranks nodes by what a probe now is better than none, at the price v at
// which the nodes alone would use the probes that there are: the index of K. Avrachenkov,
// V. S. Borkar and P. Shah ("Lagrangian index policy for restless bandits with average
// reward", 2024), gamma(a) = Q(a,1) - Q(a,0). Here it has a closed form. Let a probe at
// age a earn x(a), T be the gap at which (x(T) - vC)/T is greatest, and G that maximum:
//
//	gamma(a) = x(a) - x(T) + (T-a) G      for a < T
//	         = G - (x(a+1) - x(a))        for a >= T
//	         = x(a) - vC                  if G <= 0: alone it is never probed
//
// At nodes with a DECAY x is the interest that is there (see [Interest]), at others
// -w pi a (a+1)/2, what has waited, which is never given up.
//
// It is for some hundred nodes: it looks at all of them in each step. With few nodes it
// earns up to 1 % more or less than whittle, by the price and the instance; with many they
// are alike (ADR 0104). The price is Table.Price if that is given. Otherwise it is learnt
// in Table.Memo as a mean of the Whittle indices of the nodes that were observed; before
// the first of them the Whittle index ranks.
//
// Ties go to the lowest slot; nodes of rate or weight zero are never probed.
var lagrangePolicy = PolicySpec{
	Name: "lagrange", Number: 13, Ranks: true, Estimator: "change", Either: true, Meets: true,
	New: func() Policy { return new(lagrange) },
}

type lagrange struct {
	table *Table
	all   []candidate // reused by Pick
	node  Node        // reused
}

func (l *lagrange) Attach(t *Table) { l.table = t }

func (l *lagrange) Touch(int) {}

// Regroup does nothing: Pick passes over nodes of closed groups.
func (l *lagrange) Regroup(int) {}

func (l *lagrange) Bytes() int { return 16 * cap(l.all) }

// priceMemory is over how many observations the price is a mean, in effect.
const priceMemory = 64

// price is v; 0 while there is none.
func (l *lagrange) price() float64 {
	switch {
	case l.table.Price > 0:
		return l.table.Price
	case len(l.table.Memo) == 1 && l.table.Memo[0] > 0 && finite(l.table.Memo[0]):
		return l.table.Memo[0]
	}
	return 0
}

// Learn moves the price. It computes with what IEEE 754 rounds exactly.
func (l *lagrange) Learn(slot int, age int64, _ float64) {
	n := &l.node
	if l.table.Price > 0 || age < 1 || !l.table.Load(slot, n) {
		return
	}
	m := InterestOf(n)
	var index float64
	if m.Decay == 0 {
		index = triangle(n.Worth(), age)
	} else {
		e := decay(m.Decay * float64(age))
		index = m.Limit() / m.Cost * (1 - e - float64(float64(age)*(1-decay(m.Decay))*e))
	}
	if !(index > 0 && index < MaxNumber*MaxNumber) {
		return
	}
	if len(l.table.Memo) != 1 || !(l.table.Memo[0] > 0) {
		l.table.Memo = []float64{index}
		return
	}
	l.table.Memo[0] += (index - l.table.Memo[0]) / priceMemory
}

// Value is gamma.
func (l *lagrange) Value(slot int, step int64) float64 {
	if !l.table.Load(slot, &l.node) {
		return 0
	}
	return LagrangeIndex(&l.node, l.node.Age(step), l.price())
}

// LagrangeIndex is what the policy lagrange ranks a node by at an age and a price a
// probe, and the Whittle index if the price is 0.
func LagrangeIndex(n *Node, age int64, price float64) float64 {
	m := InterestOf(n)
	vc := price * m.Cost
	switch {
	case m.Decay == 0 && price == 0:
		return triangle(n.Worth(), age)
	case price == 0:
		return m.Index(age)
	case m.Decay == 0:
		worth := n.Weight * n.Estimate
		gap := bestGap(worth, vc)
		waited := func(a float64) float64 { return -worth * a * (a + 1) / 2 }
		return gamma(waited, float64(age), gap, (waited(gap)-vc)/gap)
	}
	earns := func(a float64) float64 { return m.Reward(int64(a)) }
	gap := m.firstAge(price, 0)
	gain := (m.Reward(gap) - vc) / float64(gap)
	if gap >= MaxStep || gain <= 0 {
		return earns(float64(age)) - vc
	}
	return gamma(earns, float64(age), float64(gap), gain)
}

func gamma(x func(age float64) float64, age, gap, gain float64) float64 {
	if age < gap {
		return x(age) - x(gap) + float64((gap-age)*gain)
	}
	return gain - (x(age+1) - x(age))
}

func (l *lagrange) Pick(dst []int, step int64, count int, _ Source) []int {
	l.all = l.all[:0]
	price, n := l.price(), &l.node
	for slot := l.table.After(0); slot >= 0 && count > 0; slot = l.table.After(slot + 1) {
		if l.table.Shut(slot) {
			continue
		}
		l.table.Load(slot, n)
		if m := InterestOf(n); n.Age(step) < 1 || !(m.Weight*max(m.Arrival, n.Estimate) > 0) {
			continue
		}
		if value := LagrangeIndex(n, n.Age(step), price); !math.IsNaN(value) {
			l.all = append(l.all, candidate{value, slot})
		}
	}
	slices.SortFunc(l.all, candidate.compare)
	rooms := l.table.Begin()
	for _, c := range l.all {
		if count == 0 {
			break
		}
		if rooms.Take(l.table.GroupOf(c.slot)) {
			dst = append(dst, c.slot)
			count--
		}
	}
	return dst
}
