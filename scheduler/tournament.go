package scheduler

import (
	"math/bits"
	"unsafe"
)

// A tournament finds the node of greatest value without looking at all of
// them. It is the machinery of the policies whose value grows with the age of
// a node by a known law (a contest): the nodes play a knock-out tournament,
// and every match keeps, beside its winner, the step at which it has to be
// played again.
//
// The idea is the kinetic tournament of Basch, Guibas and Hershberger ("Data
// structures for mobile data", 1999). When i beats j in some step, the contest
// gives a lead: a number of steps for which i certainly stays before j. The
// match is due when the lead is used up, or when a match below it is due; the
// due step of the final is the first in which anything can have changed. Pick
// plays again what is due, top down, and the final is the answer. A change of a
// node plays the matches on its way to the final.
//
// Exactness. Winners are decided by the very float expression that a scan of
// the table would compare, ties by the lower slot. A lead is given only while
// the real values are apart by leadMargin, far more than their rounding errors;
// closer pairs are looked at again in every step. So a pick is the scan's pick.
//
//	level 1        [ 63 matches of 64 blocks ] ...
//	                 |        |
//	level 0        [ 63 matches of 64 slots ] [ 63 matches ] ...
//	                 |  |  |
//	slots            0  1  2 ...
//
// Matches are in blocks of 64 entrants, blocks of 64 blocks above them, and so
// on. Growing appends blocks, or a level with one block; nothing is moved. Only
// blocks on the way from a node to the final exist, and a block is 12 bytes for
// each of its entrants.
//
// Cost: for n nodes Touch plays at most log2 n matches. In the steady state of
// the policies here a match is due a constant number of times for each probe of
// its nodes, so a Pick plays O(log n) on average. Attach is O(1); the Pick after
// it plays all n-1 matches. Where leads are dear, nodes that cannot win soon stay
// out of it (see parking).
type tournament struct {
	rule   contest
	table  *Table
	levels [][]*bracket
	blocks int

	now    int64 // matches that are not due are right in this step
	base   int64 // step that due steps are counted from
	played bool  // false: nothing was derived from the table yet
	// late: steps were given that are before the last probe of some node.
	late bool

	// hosts are the tournaments of nodes in groups, nil if there are none. Of these
	// themselves squad or under says who plays.
	hosts *hosts
	squad *squad
	under *hosts

	parking
	queue   []entry // reused by Pick
	expired []int32 // reused by settleShared
	// fresh: winners of sharedLevel have changed without the matches above.
	fresh bool
	// held are the nodes of the last match played: one of them is often in the
	// next one. They are good while the table does not change.
	held [2]contender
}

// contest is the law by which values grow.
type contest interface {
	// enter reads what the law needs of a node, all but slot and last.
	enter(p *page, i int, c *contender)
	// value is what a scan compares: at least 0, never decreasing with age.
	value(c *contender, age int64) float64
	// lead is a number of steps, at least 1, for which i stays before j in the
	// order of choice, given that it is in this step, with values vi and vj:
	// it is before j in the steps step to step+lead-1.
	lead(i, j *contender, vi, vj float64, step int64) int64
}

// contender is a node as a contest sees it.
type contender struct {
	slot  int
	group int32 // set by load
	last  int64
	scale float64 // 0: never to be picked
	curve curve   // of a curveContest
	fade  float64 // of a curveContest: exp(-c a) where value was asked for last
	noisy noisy   // of a contest that heeds signals
	hears bool    // noisy is the law of the node
	want  int64   // a lead of so many steps is as good as a longer one

	plays bool    // false: free, hidden or not to be picked
	worth float64 // value in step asOf, if that is not 0
	asOf  int64
}

// leadMargin is the relative distance of two values below which rounding might
// exchange them: the values have relative errors of at most some 1e-14.
const leadMargin = 1e-12

// tiny is a value below which products may have lost bits to underflow, so that
// leadMargin means nothing.
const tiny = 1e-280

// bracket is a block: a binary tree in an array, match 1 the final, entrants of
// match i the winners of 2i and 2i+1; from fan on these are slots or blocks.
type bracket struct {
	// match packs the step when the match is due, from base on, above the slot
	// of the winner, below a bit that says that there is none.
	match [fan]uint64
	// lead is how much longer than its due step the lead of the winner lasts:
	// the match can be due early because of matches below it.
	lead [fan]uint32
}

const (
	fan      = 64 // entrants of a block
	slotBits = 24
	never    = 1<<39 - 1      // latest due step from base on: none
	forever  = 1<<32 - 1      // of bracket.lead: up to never
	ahead    = int64(1) << 62 // a lead that never ends

	nobody = -1      // the winner where nobody plays
	empty  = 1 << 63 // the bit of a match for that
)

func pack(winner int, due uint64) uint64 {
	if winner == nobody {
		return empty | due<<slotBits
	}
	return due<<slotBits | uint64(winner)
}

func winnerOf(match uint64) int {
	if match&empty != 0 {
		return nobody
	}
	return int(match & (1<<slotBits - 1))
}

func dueOf(match uint64) uint64 { return match &^ empty >> slotBits }

// The due step of a slot is never, and slots are below MaxNodes.
var _ = [1]struct{}{}[MaxNodes>>slotBits-1]

func (b *bracket) set(i, winner int, due, lead uint64) {
	due = min(due, lead)
	b.match[i] = pack(winner, due)
	if lead == never {
		b.lead[i] = forever
	} else {
		b.lead[i] = uint32(min(lead-due, forever-1))
	}
}

// leadOf is the step from base on when the lead of the winner ends.
func (b *bracket) leadOf(i int) uint64 {
	if b.lead[i] == forever {
		return never
	}
	return dueOf(b.match[i]) + uint64(b.lead[i])
}

func newTournament(rule contest) *tournament {
	return &tournament{rule: rule, parking: parking{window: leastWindow}}
}

func (t *tournament) Attach(table *Table) {
	*t = tournament{rule: t.rule, table: table, queue: t.queue, expired: t.expired, parking: t.unparked(),
		played: table.Live() == 0}
}

func (t *tournament) Learn(int, int64, float64) {}

func (t *tournament) Value(slot int, step int64) float64 {
	p, i := t.table.find(slot)
	if p == nil {
		return 0
	}
	c := &t.held[0]
	t.enter(p, i, slot, c)
	value := t.value(c, step)
	t.forget()
	return value
}

// Bytes is the size of the blocks and of what leads to them.
func (t *tournament) Bytes() int {
	n := t.blocks*int(unsafe.Sizeof(bracket{})) + cap(t.queue)*int(unsafe.Sizeof(entry{})) + 4*cap(t.expired)
	for _, level := range t.levels {
		n += 8 * cap(level)
	}
	if t.hosts != nil {
		n += t.hosts.size()
	}
	return n
}

func (t *tournament) enter(p *page, i, slot int, c *contender) {
	c.slot, c.last, c.asOf = slot, int64(p.get(i, colLast)), 0
	t.rule.enter(p, i, c)
}

// load reads the node in a slot and returns whether it takes part.
func (t *tournament) load(slot int, c *contender) bool {
	c.slot, c.asOf, c.plays = slot, 0, false
	p, i := t.table.find(slot)
	if p == nil || p.hidden>>i&1 != 0 {
		return false
	}
	t.enter(p, i, slot, c)
	c.group = p.group(i)
	c.plays = c.scale > 0
	return c.plays
}

// forget drops what was held of the table.
func (t *tournament) forget() { t.held[0].slot, t.held[1].slot = -1, -1 }

func (t *tournament) value(c *contender, step int64) float64 {
	if step <= c.last || !(c.scale > 0) {
		return 0
	}
	if c.asOf != step {
		c.worth, c.asOf = t.rule.value(c, step-c.last), step
	}
	return c.worth
}

// child is the outcome of entrant k of a block: the winner of a match, a slot,
// or the winner of a block below.
func (t *tournament) child(b *bracket, level, id, k int) uint64 {
	if k < fan {
		return b.match[k]
	}
	at := id*fan + k - fan
	if level == 0 {
		return t.enters(at, &t.held[k&1])
	}
	if below := t.levels[level-1]; at < len(below) && below[at] != nil {
		return below[at].match[1]
	}
	return pack(nobody, never)
}

// play plays match i of a block on a level: of the nodes in two slots, a before
// b, as of now.
func (t *tournament) play(level, i, a, b int) (winner int, lead uint64) {
	switch {
	case b == nobody:
		return a, never
	case a == nobody:
		return b, never
	}
	x, y := &t.held[0], &t.held[1]
	if x.slot == b || y.slot == a {
		x, y = y, x
	}
	if x.slot != a {
		t.load(a, x)
	}
	if y.slot != b {
		t.load(b, y)
	}
	return t.meet(x, y, t.want(level, i))
}

// want is how long a lead in a match has to be to be worth more work. The winner
// changes when it is probed, which is the more often the more slots there are
// below the match.
func (t *tournament) want(level, i int) int64 {
	matches := int64(len(t.levels[level])) << bits.Len(uint(i)-1)
	return 4 * matches
}

// meet decides a match of two nodes that take part.
func (t *tournament) meet(x, y *contender, want int64) (winner int, lead uint64) {
	step := t.now
	vx, vy := t.value(x, step), t.value(y, step)
	if vx == 0 && vy == 0 && max(x.last, y.last) >= step {
		// Their ages begin later. If they begin together nothing is lost by
		// playing in the first step that counts; this is what happens to all
		// nodes of a new schedule.
		if x.last != y.last {
			return x.slot, t.after(step, 1)
		}
		step = x.last + 1
		vx, vy = t.value(x, step), t.value(y, step)
	}
	if vy > vx || vy == vx && y.slot < x.slot {
		x, y, vx, vy = y, x, vy, vx
	}
	switch {
	case max(x.last, y.last) > step || vx < tiny || (vy < tiny && y.last < step):
		return x.slot, t.after(step, 1)
	default:
		x.want = want
		return x.slot, t.after(step, t.rule.lead(x, y, vx, vy, step))
	}
}

// after is the step from base on that is lead steps after step.
func (t *tournament) after(step, lead int64) uint64 {
	if lead >= never {
		return never
	}
	return uint64(min(step-t.base+lead, never))
}

// Touch plays the matches on the way of a node to the final, up to where its
// change cannot be seen.
func (t *tournament) Touch(slot int) {
	if !t.played {
		return
	}
	p, i := t.table.find(slot)
	if t.hosts == nil && p != nil && p.group(i) != 0 {
		t.hosts = t.newHosts() // it is the first
	}
	grouped := t.hosts != nil && t.hosts.touch(slot)
	if p == nil {
		t.leave(slot)
		return
	}
	if grouped {
		return
	}
	// The clock has passed the last probe, or will have before the next Pick;
	// otherwise Pick sets late.
	if last := int64(p.get(i, colLast)); last > t.now && !t.late {
		t.now = last
	}
	t.forget()
	t.climb(slot, slot, 0, t.grow(slot))
}

// leave takes note that a slot is free. If its page is gone the block goes too;
// blocks above stay until the next Attach, there are 64 times fewer of them.
func (t *tournament) leave(slot int) {
	id := slot / fan
	if len(t.levels) == 0 || id >= len(t.levels[0]) || t.levels[0][id] == nil {
		return
	}
	t.forget()
	gone := id >= len(t.table.pages) || t.table.pages[id] == nil
	if !gone || len(t.levels) == 1 {
		t.climb(slot, slot, 0, false)
		return
	}
	t.levels[0][id] = nil
	t.blocks--
	t.climb(slot, slot, 1, true)
}

// climb plays the matches above an entrant, which is the node in a slot or has it
// for a champion, from the blocks of a level on. It stops early, unless whole is
// asked for, where neither the winner nor the due step is another than before and the
// node is not the winner.
func (t *tournament) climb(entrant, slot, from int, whole bool) {
	for range from {
		entrant /= fan
	}
	moved := true // matches must be played, not only their due steps set
	for level := from; level < len(t.levels); level++ {
		id := entrant / fan
		b := t.levels[level][id]
		for i := (fan + entrant%fan) / 2; i > 0; i /= 2 {
			old := b.match[i]
			l, r := t.child(b, level, id, 2*i), t.child(b, level, id, 2*i+1)
			w, lead := winnerOf(old), b.leadOf(i)
			if moved {
				w, lead = t.play(level, i, winnerOf(l), winnerOf(r))
				moved = whole || w == slot || w != winnerOf(old)
			}
			b.set(i, w, min(dueOf(l), dueOf(r)), lead)
			if !moved && b.match[i] == old {
				return
			}
		}
		entrant = id
	}
}

// grow makes the blocks on the way from a slot to the final, and returns
// whether any was missing.
func (t *tournament) grow(slot int) (grown bool) {
	for level, id := 0, slot/fan; ; level, id = level+1, id/fan {
		if level == len(t.levels) {
			if level > 0 && len(t.levels[level-1]) == 1 {
				return grown
			}
			t.levels = append(t.levels, make([]*bracket, 1))
			if level > 0 && t.levels[level-1][0] != nil {
				t.add(level, 0)
			}
		}
		for len(t.levels[level]) <= id {
			t.levels[level] = append(t.levels[level], nil)
		}
		if t.levels[level][id] == nil {
			t.add(level, id)
			grown = true
		}
	}
}

// add makes a block and plays it.
func (t *tournament) add(level, id int) {
	t.levels[level][id] = new(bracket)
	t.blocks++
	t.stage(level, id)
}

// stage plays a block, given what is below it.
func (t *tournament) stage(level, id int) {
	b := t.levels[level][id]
	for i := fan - 1; i > 0; i-- {
		l, r := t.child(b, level, id, 2*i), t.child(b, level, id, 2*i+1)
		w, lead := t.play(level, i, winnerOf(l), winnerOf(r))
		b.set(i, w, min(dueOf(l), dueOf(r)), lead)
	}
}

// worth is Node.Worth.
func (p *page) worth(i int) float64 {
	return p.get(i, colWeight) * p.get(i, colEstimate) / p.get(i, colCost)
}
