package scheduler

import "math"

// believed is the contest of thompson: curves of the index (see curveLead), each
// good until the age at which the belief of its node takes another step.
type believed struct {
	table *tournament // whose table is read
}

// learntOf reads what ranks the node in a slot of a page.
func (p *page) learntOf(i int) learnt {
	return learnt{probes: int64(p.get(i, colProbes)), maxAge: int64(p.get(i, colMaxAge)),
		worth: p.worth(i), cost: p.get(i, colCost), memo: p.memo(i)}
}

func (b *believed) enter(p *page, i int, c *contender) {
	l := p.learntOf(i)
	c.curve = l.curve(0)
	c.scale = c.curve.s
}

// curve is that of the interest at an age.
func (l *learnt) curve(age int64) (k curve) {
	m := l.interest(age)
	k.ephemeral(m.Weight*m.Arrival/m.Cost, m.Decay, m.MaxAge)
	return k
}

// lift makes the curve of an earlier age that of a later one. Doubt changes s
// alone, so that what follows from the decay need not be computed again.
func (l *learnt) lift(k *curve, age int64) {
	if l.probes < 3 || k.jumps {
		*k = l.curve(age)
		return
	}
	m := l.interest(age)
	k.s = m.Weight * m.Arrival / m.Cost
	k.top = k.s / k.c
	k.last = k.top
}

// read is what is learnt of a node that takes part.
func (b *believed) read(slot int) learnt {
	p, i := b.table.table.find(slot)
	return p.learntOf(i)
}

func (b *believed) value(c *contender, age int64) (f float64) {
	l := b.read(c.slot)
	if age < l.step(0) {
		f, c.fade = c.curve.faded(age)
		return f
	}
	k := c.curve
	l.lift(&k, age)
	f, c.fade = k.faded(age)
	return f
}

// leadSteps bounds the steps of a belief that a lead looks beyond.
const leadSteps = 4

// lead looks beyond the steps of j, which nodes that lose take again and again: at
// each the two are compared as they will be then. Those of i only make it longer.
func (b *believed) lead(i, j *contender, vi, vj float64, step int64) int64 {
	x, y := *i, *j
	ai, aj := step-i.last, step-j.last
	b.stand(&x, ai)
	end, sure := b.stand(&y, aj), int64(0)
	for range leadSteps {
		if lead := curveLead(&x, &y, ai, aj, vi, vj); lead < end {
			return sure + lead
		}
		sure += end
		if sure >= i.want || end >= MaxStep {
			break
		}
		ai, aj, x.want = ai+end, aj+end, i.want-sure
		b.stand(&x, ai)
		end = b.stand(&y, aj)
		vi, x.fade = x.curve.faded(ai)
		vj, y.fade = y.curve.faded(aj)
		if !(vj*(1+leadMargin) < vi) || vj < tiny {
			break
		}
	}
	return sure
}

// stand puts the curve of an age into a contender, and returns for how many
// steps it is that.
func (b *believed) stand(c *contender, age int64) int64 {
	l := b.read(c.slot)
	if age >= l.step(0) {
		l.lift(&c.curve, age)
	}
	return max(1, l.step(age)-age)
}

// step is an age above the given one up to which the interest is the same as at
// the given age: the next at which it takes a step, or one before.
func (l *learnt) step(age int64) int64 {
	switch {
	case l.probes < 2 || l.probes == 2 && age >= onceMoreAge:
		return ahead
	case l.probes == 2:
		return onceMoreAge
	case len(l.memo) < thompsonMemo:
		return ahead
	}
	next := l.patience()
	if float64(age) >= next {
		next = math.Ldexp(next, math.Ilogb(float64(age)/next)+1)
	}
	// The margin is for the rounding of the quotient.
	return max(age+1, int64(min(next*(1-leadMargin), MaxStep)))
}
