package placement

import "math/bits"

// race finds the runners with the smallest scores u/v, u a random number of
// object and runner and v the runner's weight.
//
// A score is u 2^64 times least/v, the smallest weight over its own, in whole
// numbers. Eight slots share a word of eight random bytes, the upper bytes of
// their u. Once there are as many runners as are to win, the last of them says
// how small a byte must be, and one look at the word tells that all are larger,
// as they mostly are: 0.7 ns a slot at n = 1000.
//
// A runner's random numbers depend on seed and slot, or on seed and name, so a
// runner that comes or goes changes nothing between the others.
type race struct {
	seed    uint64
	domains []int32  // by slot; -1 if nobody runs there
	factors []uint64 // by slot: 2^64 least/v
	lanes   []lanes  // of eight slots
	named   []runner
}

// lanes is eight slots.
type lanes struct {
	key     uint64
	present uint64 // the upper bit of the bytes of those who run
	steep   uint64 // 2^72 over the smallest factor: the score below which a byte has to be 1 more
}

// runner is a domain with a name.
type runner struct {
	key, factor uint64
	domain      int32
}

const (
	byteOnes  = 0x0101010101010101
	byteTops  = 0x8080808080808080
	byteLimit = 120 // below holds finds no larger bytes
)

// inverse returns 2^64 least/w, at most 2^64-1.
func inverse(least, w Capacity) uint64 {
	if w <= least {
		return ^uint64(0)
	}
	q, _ := bits.Div64(uint64(least), 0, uint64(w))
	return q
}

// enter lets a domain run in a slot. Slots ascend.
func (r *race) enter(slot int, domain int32, factor uint64) {
	for len(r.domains) <= slot {
		r.domains, r.factors = append(r.domains, -1), append(r.factors, 0)
	}
	r.domains[slot], r.factors[slot] = domain, factor
}

// enterNamed lets a domain run under its name.
func (r *race) enterNamed(name string, domain int32, factor uint64) {
	r.named = append(r.named, runner{Hash([]byte(name), r.seed), factor, domain})
}

// close ends the entries. Weights are at most 2^52 times the least, so steep
// fits in a word.
func (r *race) close() {
	r.lanes = make([]lanes, (len(r.domains)+7)/8)
	for g := range r.lanes {
		l := &r.lanes[g]
		l.key = Mix(r.seed + uint64(g+1)*pi6)
		least := ^uint64(0)
		for i := 8 * g; i < min(8*g+8, len(r.domains)); i++ {
			if r.domains[i] >= 0 {
				l.present |= 0x80 << (8 * (i % 8))
				least = min(least, r.factors[i])
			}
		}
		l.steep, _ = bits.Div64(1<<8, 0, max(least, 1<<9))
		l.steep++
	}
}

// winners appends the first n domains but one, in the order of their scores.
// There are as many.
func (r *race) winners(x uint64, not int32, n int, dst []int) []int {
	switch {
	case n == 0:
		return dst
	case n <= 8: // clearing room for all would take longer than a small race
		var scores [8]uint64
		return r.run(x, not, podium{scores: scores[:n]}, dst)
	}
	var scores [MaxCopies]uint64
	return r.run(x, not, podium{scores: scores[:n]}, dst)
}

// podium is the best scores so far, ascending.
type podium struct {
	scores []uint64
	taken  int
}

// limit returns below what a score is among the best.
func (p *podium) limit() uint64 {
	if p.taken < len(p.scores) {
		return ^uint64(0)
	}
	return p.scores[p.taken-1]
}

// place puts a domain among the best, which are the end of dst.
func (p *podium) place(score uint64, domain int32, dst []int) []int {
	if p.taken < len(p.scores) {
		p.taken++
		dst = append(dst, 0)
	}
	i, best := p.taken-1, dst[len(dst)-p.taken:]
	for ; i > 0 && p.scores[i-1] > score; i-- {
		p.scores[i], best[i] = p.scores[i-1], best[i-1]
	}
	p.scores[i], best[i] = score, int(domain)
	return dst
}

func (r *race) run(x uint64, not int32, p podium, dst []int) []int {
	limit := p.limit()
	for g := range r.lanes {
		l := &r.lanes[g]
		word := attraction(x, l.key)
		word ^= word >> 32
		mayWin := l.present
		if bound, _ := bits.Mul64(limit, l.steep); bound+2 <= byteLimit {
			mayWin &= (word - byteOnes*(bound+2)) &^ word & byteTops
		}
		for ; mayWin != 0; mayWin &= mayWin - 1 {
			bit := bits.TrailingZeros64(mayWin) - 7
			slot := 8*g + bit/8
			u := word>>bit<<56 | attraction(word, uint64(bit+1)*phi64)>>8
			score, _ := bits.Mul64(u, r.factors[slot])
			if score < limit && r.domains[slot] != not {
				dst = p.place(score, r.domains[slot], dst)
				limit = p.limit()
			}
		}
	}
	for i := range r.named {
		n := &r.named[i]
		score, _ := bits.Mul64(attraction(x, n.key), n.factor)
		if score < limit && n.domain != not {
			dst = p.place(score, n.domain, dst)
			limit = p.limit()
		}
	}
	return dst
}
