package scheduler

// Purse is a budget for probes: it gets Budget in each step, holds no more than that, and
// pays for the probes. Zero Budget: there is none.
//
// While something is left the best node is probed, and its cost taken, so that the purse
// may end below zero: dear nodes get their turn. An index that is divided by the cost is
// right for this, as a Lagrangian prices what a probe costs, whatever a step has of it.
// No schedule that spends B a step in the mean costs less than sum(pi)/2 + (sum sqrt(pi C))^2/(2B);
// [LimitedBound] is that for whole gaps.
type Purse struct {
	Budget float64
	Left   float64
	Step   int64 // up to which it was filled
}

// At is what is left in a step.
func (p *Purse) At(step int64) float64 {
	return min(p.Budget, p.Left+float64(p.Budget*float64(max(0, step-p.Step))))
}

// Fill fills the purse up to a step.
func (p *Purse) Fill(step int64) {
	if p.Budget > 0 {
		p.Left, p.Step = p.At(step), max(p.Step, step)
	}
}

// maxDebt bounds what a purse may be short of.
const maxDebt = 1e60

// Pay takes something out of the purse, or puts it back.
func (p *Purse) Pay(cost float64) {
	if p.Budget > 0 {
		p.Left = min(max(p.Left-cost, -maxDebt), p.Budget)
	}
}

// Afford returns those of at most count nodes that the purse has something left for in a
// step, in order. pick returns up to so many nodes, best first, the same when it is asked
// again.
func (p *Purse) Afford(t *Table, step int64, count int, pick func(count int) []int) []int {
	for batch := 8; ; batch *= 8 {
		slots, left := pick(min(batch, count)), p.At(step)
		for i, slot := range slots {
			if left <= 0 {
				return slots[:i]
			}
			if page, k := t.find(slot); page != nil {
				left -= page.get(k, colCost)
			}
		}
		if len(slots) < batch || batch >= count || left <= 0 {
			return slots
		}
	}
}
