package scheduler

import "math"

// MemorylessCost is the exact cost of the policy memoryless with c draws a step
// (P1, Theorem 3, for c = 1, where it is (sum sqrt pi)^2):
//
//	sum pi_i / (1 - (1 - p_i)^c),  p_i = sqrt(pi_i) / sum sqrt(pi).
//
// The gap between probes of a node is geometric, and an item waits as long as a
// probe that is still to come. Cost O(n).
func MemorylessCost(rates []float64, c int) float64 {
	roots := 0.0
	for _, r := range rates {
		roots += math.Sqrt(r)
	}
	cost := 0.0
	for _, r := range rates {
		if r > 0 {
			cost += r / -math.Expm1(float64(c)*math.Log1p(-math.Sqrt(r)/roots))
		}
	}
	return cost
}

// CyclicCost is the exact cost of the policy cyclic with c probes a step: that
// of a node which owns every 2^r-th slot when c slots are a step.
//
// A gap is q or q+1 steps, for q = floor(2^r/c), and q+1 for the share
// (2^r mod c)/c of the gaps, whatever the offset: as the slots of a node go by,
// their places in a step run evenly through one residue class modulo
// gcd(2^r, c). With q = 0 gaps of 0 are second probes in one step. Cost O(n).
func CyclicCost(rates []float64, c int) float64 {
	roots := make([]float64, len(rates))
	for i, r := range rates {
		roots[i] = math.Sqrt(r)
	}
	var plan cycle
	plan.build(roots)
	cost := 0.0
	for i, r := range rates {
		if r > 0 {
			cost += r * meanAge(math.Ldexp(1, int(plan.exponent[i])), float64(c))
		}
	}
	return cost
}

// meanAge is the mean over steps of the age of a node that owns every period-th
// slot when c slots are a step: E[g (g+1)/2] / E[g] over its gaps g.
func meanAge(period, c float64) float64 {
	q := math.Floor(period / c)
	longer := (period - q*c) / c
	return ((1-longer)*q*(q+1)/2 + longer*(q+1)*(q+2)/2) / (period / c)
}

// RoundRobinCost is the exact cost of the policy roundrobin with c probes a
// step, from a start where no node was probed. Nodes of rate zero do not count;
// let m be the number of others, q = floor(m/c) and d = m mod c.
//
// If d = 0 each is probed every q steps. Else the order by slot number that
// breaks ties makes the first q (c-d) nodes come round every q steps and the
// d (q+1) others every q+1 steps, which uses c probes a step exactly:
// (c-d) + d. If m < c all are probed each step. Cost O(n).
func RoundRobinCost(rates []float64, c int) float64 {
	m := 0
	for _, r := range rates {
		if r > 0 {
			m++
		}
	}
	q, d := m/c, m%c
	soon, cost := q*(c-d), 0.0
	for _, r := range rates {
		if !(r > 0) {
			continue
		}
		if soon > 0 {
			cost += r * float64(q+1) / 2
		} else {
			cost += r * float64(q+2) / 2
		}
		soon--
	}
	return cost
}

// Period is what a run of a deterministic policy at known rates settles into.
type Period struct {
	// Cost is the mean over the steps of the period of the sum of rate x age:
	// the exact cost of the policy.
	Cost float64
	// Start is the first step of the first period and Length its steps. The
	// ages in step Start + Length are those of step Start.
	Start, Length int64
}

// PeriodOf finds the period of a policy whose choice depends on rates and ages
// alone (index, sqrtage, greedy, roundrobin), by running it until a state
// repeats. It returns false when none did within limit steps: the periods of
// greedy in particular grow like a least common multiple of gaps. With a policy
// that draws or counts it returns false, or nonsense.
//
// States are compared with one that is replaced at every power of two (Brent
// 1980). Time: O(steps x n) at worst, mostly O(steps) times the cost of Pick.
func PeriodOf(spec PolicySpec, rates []float64, c int, limit int64) (Period, bool) {
	run := newKnownRun(spec, rates, c)
	mark, length := int64(1), int64(0)
	seen := run.ages()
	for found := false; !found; {
		if run.step > limit {
			return Period{}, false
		}
		if run.step-mark == mark {
			mark, seen = run.step, run.ages()
		}
		run.next()
		length = run.step - mark
		found = run.same(seen)
	}
	// The length is right; the period may have begun before the mark.
	cost := run.measure(length)
	return Period{Cost: cost, Start: startOf(spec, rates, c, length), Length: length}, true
}

// startOf is the first step whose ages return after length steps: two runs side
// by side, one length ahead.
func startOf(spec PolicySpec, rates []float64, c int, length int64) int64 {
	behind, ahead := newKnownRun(spec, rates, c), newKnownRun(spec, rates, c)
	for ahead.step <= length {
		ahead.next()
	}
	for !ahead.same(behind.ages()) {
		ahead.next()
		behind.next()
	}
	return behind.step
}

// knownRun plays a policy that knows the rates, one step after another.
type knownRun struct {
	table  *Table
	policy Policy
	rates  []float64
	c      int
	step   int64 // the next to be played
	picks  []int
}

func newKnownRun(spec PolicySpec, rates []float64, c int) *knownRun {
	r := &knownRun{table: new(Table), policy: spec.New(), rates: rates, c: c, step: 1}
	r.table.Probes = c
	for slot, rate := range rates {
		n := NewNode(DefaultParams(), 0)
		n.Rate, n.Estimate = rate, rate
		r.table.Put(slot, n)
	}
	r.policy.Attach(r.table)
	return r
}

func (r *knownRun) next() {
	r.picks = r.policy.Pick(r.picks[:0], r.step, r.c, nil)
	var n Node
	for _, slot := range r.picks {
		r.table.Load(slot, &n)
		n.Last = r.step
		n.Probes++
		r.table.Store(slot, &n)
		r.policy.Touch(slot)
	}
	r.step++
}

// measure plays steps and returns their mean cost. The sum is taken anew in
// each step, so that no error grows.
func (r *knownRun) measure(steps int64) float64 {
	total := 0.0
	for range steps {
		for slot, rate := range r.rates {
			total += rate * float64(r.age(slot))
		}
		r.next()
	}
	return total / float64(steps)
}

func (r *knownRun) age(slot int) int64 {
	p, i := r.table.find(slot)
	return r.step - int64(p.get(i, colLast))
}

// ages are those of the nodes that count, 0 for the others.
func (r *knownRun) ages() []int64 {
	ages := make([]int64, len(r.rates))
	for slot, rate := range r.rates {
		if rate > 0 {
			ages[slot] = r.age(slot)
		}
	}
	return ages
}

func (r *knownRun) same(ages []int64) bool {
	for slot, rate := range r.rates {
		if rate > 0 && r.age(slot) != ages[slot] {
			return false
		}
	}
	return true
}
