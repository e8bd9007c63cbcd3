package placement

import (
	"cmp"
	"container/heap"
	"slices"
)

// build makes all sets anew: each takes, of the domains whose next unit has the
// fewest places, as many as it is wide. Domains hand out their units in rounds, each
// in an order of its own, so that units meet different others.
func (c *copysets) build() {
	c.sets = c.sets[:0]
	queues := c.queues()
	taken := make([]*domainQueue, c.width)
	for range c.wanted() {
		for i := range taken {
			taken[i] = heap.Pop(&queues).(*domainQueue)
			c.sets = append(c.sets, taken[i].next())
		}
		for _, q := range taken {
			q.turn(c)
			heap.Push(&queues, q)
		}
	}
	c.tally()
	if len(c.units) > 0 {
		c.settle()
	}
}

func (c *copysets) queues() domainQueues {
	by := map[int32]*domainQueue{}
	var out domainQueues
	for _, u := range c.units {
		d := c.domain(u)
		if by[d] == nil {
			by[d] = &domainQueue{number: d}
			out = append(out, by[d])
		}
		by[d].units = append(by[d].units, u)
	}
	for _, q := range out {
		q.shuffle(c)
	}
	heap.Init(&out)
	return out
}

// domainQueue is the units of a domain in the order of this round.
type domainQueue struct {
	number int32
	units  []int32
	at     int // the next one
	round  int
	tie    uint64
}

func (q *domainQueue) next() int32 {
	q.at++
	return q.units[q.at-1]
}

// turn begins another round when the last unit has been taken.
func (q *domainQueue) turn(c *copysets) {
	if q.at == len(q.units) {
		q.at = 0
		q.round++
		q.shuffle(c)
	}
}

func (q *domainQueue) shuffle(c *copysets) {
	q.tie = c.order(q.round, q.number)
	slices.SortFunc(q.units, func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.order(q.round, a), c.order(q.round, b)), cmp.Compare(a, b))
	})
}

// domainQueues is a heap: the earliest round first, then the most units that are left
// in it, so that no domain is left over at the end.
type domainQueues []*domainQueue

func (h domainQueues) Len() int      { return len(h) }
func (h domainQueues) Swap(i, k int) { h[i], h[k] = h[k], h[i] }
func (h domainQueues) Less(i, k int) bool {
	a, b := h[i], h[k]
	return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(len(b.units)-b.at, len(a.units)-a.at), cmp.Compare(a.tie, b.tie)) < 0
}
func (h *domainQueues) Push(x any) { *h = append(*h, x.(*domainQueue)) }
func (h *domainQueues) Pop() any {
	last := len(*h) - 1
	q := (*h)[last]
	*h = (*h)[:last]
	return q
}
