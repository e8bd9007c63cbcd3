package geo

import (
	"math"
	"slices"
	"sync"

	"github.com/vigildb/vigil/structures/zset"
)

// hit is a member that was found.
type hit struct {
	member []byte
	score  float64
	meters float64
}

// rank is where a hit stands in an order. Ranks hold no pointers, so that sorting
// them is cheaper than sorting hits.
type rank struct {
	key float64
	i   int
}

// hits is what a search has found, in the order in which it is returned. Their room is
// used again: searches that find a hundred members would be half garbage.
type hits struct {
	all   []hit
	ranks []rank // empty if they stand in the order of all
}

// keptHits is how many hits may be found in room that is kept.
const keptHits = 1024

var hitsPool = sync.Pool{New: func() any { return new(hits) }}

// release gives the room of hits back. They hold on to no members from then on.
func (h *hits) release() {
	if cap(h.all) > keptHits {
		return
	}
	clear(h.all)
	h.all, h.ranks = h.all[:0], h.ranks[:0]
	hitsPool.Put(h)
}

func (h *hits) len() int {
	if len(h.ranks) > 0 {
		return len(h.ranks)
	}
	return len(h.all)
}

func (h *hits) at(i int) *hit {
	if len(h.ranks) > 0 {
		i = h.ranks[i].i
	}
	return &h.all[i]
}

// sort puts hits in an order of distances, as many as are asked for unless count is 0.
// Members at the same one stay in their order.
func (h *hits) sort(d direction, count int) {
	for i := range h.all {
		h.ranks = append(h.ranks, rank{float64(d) * h.all[i].meters, i})
	}
	slices.SortFunc(h.ranks, func(a, b rank) int {
		switch {
		case a.key < b.key:
			return -1
		case a.key > b.key:
			return 1
		}
		return a.i - b.i
	})
	if count > 0 && len(h.ranks) > count {
		h.ranks = h.ranks[:count]
	}
}

// find lists the members in the area, as many as are asked for. The caller releases them.
func (q *search) find() *hits {
	found := hitsPool.Get().(*hits)
	if q.set == nil {
		return found
	}
	limit := math.MaxInt
	if q.any {
		limit = q.count
	}
	var room [len(around)]span
	spans := q.spans(room[:0])
	if spans = q.occupied(spans); len(spans) == 0 {
		return found
	}
	centre := q.origin()
	for _, s := range spans {
		q.set.From(zset.BeforeScore(s.from), func(member []byte, score float64) bool {
			if score >= s.to {
				return false
			}
			if meters, ok := q.within(&centre, pointOf(score)); ok {
				found.all = append(found.all, hit{member, score, meters})
			}
			return len(found.all) < limit
		})
		if len(found.all) >= limit {
			break
		}
	}
	if q.sorted != unsorted {
		found.sort(q.sorted, q.count)
	}
	return found
}

// occupied returns the spans that end behind the first member in them or behind them.
// Far from all members none is left.
func (q *search) occupied(spans []span) []span {
	least := math.Inf(1)
	for _, s := range spans {
		least = min(least, s.from)
	}
	first := math.Inf(1)
	q.set.From(zset.BeforeScore(least), func(_ []byte, score float64) bool {
		first = score
		return false
	})
	return slices.DeleteFunc(spans, func(s span) bool { return s.to <= first })
}
