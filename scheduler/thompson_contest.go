package scheduler

import "math"

// believed is the contest of thompson: curves of the index (see curveLead), each
// good until the age at which the belief of its node takes another step.
type believed struct {
	table *tournament // whose table is read
}

func (b *believed) enter(p *page, i int, c *contender) {
	var n Node
	p.load(i, &n)
	c.curve = believedCurve(&n, 0)
	c.scale = c.curve.s
}

// believedCurve is the curve of thompsonInterest at an age.
func believedCurve(n *Node, age int64) (k curve) {
	m := thompsonInterest(n, age)
	k.ephemeral(m.Weight*m.Arrival/m.Cost, m.Decay, m.MaxAge)
	return k
}

func (b *believed) value(c *contender, age int64) (f float64) {
	var n Node
	b.table.table.Load(c.slot, &n)
	if age >= thompsonStep(&n, 0) {
		k := believedCurve(&n, age)
		f, c.fade = k.faded(age)
		return f
	}
	f, c.fade = c.curve.faded(age)
	return f
}

func (b *believed) lead(i, j *contender, vi, vj float64, step int64) int64 {
	x, y := *i, *j
	endX := b.stand(&x, step-i.last)
	endY := b.stand(&y, step-j.last)
	return min(endX, endY, curveLead(&x, &y, step-i.last, step-j.last, vi, vj))
}

// stand puts the curve of an age into a contender, and answers for how many
// steps it is that.
func (b *believed) stand(c *contender, age int64) int64 {
	var n Node
	b.table.table.Load(c.slot, &n)
	if age >= thompsonStep(&n, 0) {
		c.curve = believedCurve(&n, age)
	}
	return max(1, thompsonStep(&n, age)-age)
}

// thompsonStep is an age above the given one up to which thompsonInterest is the
// same as at the given age: the next at which it takes a step, or one before.
func thompsonStep(n *Node, age int64) int64 {
	switch {
	case n.Probes < 2 || n.Probes == 2 && age >= onceMoreAge:
		return ahead
	case n.Probes == 2:
		return onceMoreAge
	case len(n.Memo) < thompsonMemo:
		return ahead
	}
	next := max(n.Memo[memoPatience], leastPatience)
	if float64(age) >= next {
		next = math.Ldexp(next, math.Ilogb(float64(age)/next)+1)
	}
	// The margin is for the rounding of the quotient.
	return max(age+1, int64(min(next*(1-leadMargin), MaxStep)))
}
