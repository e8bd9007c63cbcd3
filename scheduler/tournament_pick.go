package scheduler

// restart is how far due steps may be from base before they are counted anew:
// half of what a match can hold. With steps of a millisecond it takes 8 years.
const restart = never / 2

func (t *tournament) Pick(dst []int, step int64, count int, _ Source) []int {
	if count <= 0 || t.table.Live() == 0 {
		return dst
	}
	t.forget()
	if t.hosts == nil && !t.played && t.table.Groups.Len() > 0 {
		t.hosts = t.groups()
	}
	if t.hosts != nil {
		return t.pickGroups(dst, step, count)
	}
	t.advance(step)
	before := len(dst)
	dst, last := t.best(dst, step, count)
	if len(dst)-before < count && t.sure > 0 {
		t.unpark()
		t.advance(step)
		dst, last = t.best(dst[:before], step, count)
	}
	if len(dst)-before < count {
		last = 0
	}
	t.heed(last)
	return dst
}

// best appends up to count nodes that play, and are above all that are parked,
// and returns the value of the last.
func (t *tournament) best(dst []int, step int64, count int) ([]int, float64) {
	top := len(t.levels) - 1
	if top < 0 {
		return dst, 0 // nobody was told of the nodes
	}
	c := &t.held[0]
	winner := winnerOf(t.levels[top][0].match[1])
	if winner == nobody || !t.load(winner, c) {
		return dst, 0
	}
	value := t.value(c, step)
	if count == 1 {
		if value > 0 && value >= t.sure {
			dst = append(dst, c.slot)
		}
		return dst, value
	}
	t.queue = append(t.queue[:0], entry{candidate{value, c.slot}, ofMain, int8(top), 1, 0})
	for ; count > 0 && len(t.queue) > 0; count-- {
		first := t.queue[0]
		if !(first.value > 0) || first.value < t.sure {
			break
		}
		dst, value = append(dst, first.slot), first.value
		t.removeFirst()
		t.enqueueLosers(first, step, t)
	}
	return dst, value
}

// advance plays what is due in a step.
func (t *tournament) advance(step int64) {
	if !t.played || step < t.now || step-t.base >= restart {
		t.late = t.played && step < t.now
		t.playAll(step)
		return
	}
	t.now = step
	if top := len(t.levels) - 1; top >= 0 && t.due(t.levels[top][0].match[1]) {
		t.fresh = t.settleShared()
		t.settle(top, 0, 1)
		t.fresh = false
	}
}

func (t *tournament) due(match uint64) bool { return dueOf(match) <= uint64(t.now-t.base) }

// settle plays the matches that are due, up to match i of a block, which is.
func (t *tournament) settle(level, id, i int) {
	b := t.levels[level][id]
	l, r := t.child(b, level, id, 2*i), t.child(b, level, id, 2*i+1)
	lw, rw := winnerOf(l), winnerOf(r)
	slots := level == 0 && 2*i >= fan
	if !slots && t.due(l) {
		l = t.settleChild(b, level, id, 2*i)
	}
	if !slots && t.due(r) {
		r = t.settleChild(b, level, id, 2*i+1)
	}
	w, lead := winnerOf(b.match[i]), b.leadOf(i)
	again := slots || t.fresh && level > sharedLevel
	if again || lead <= uint64(t.now-t.base) || lw != winnerOf(l) || rw != winnerOf(r) {
		w, lead = t.play(level, i, winnerOf(l), winnerOf(r))
	}
	b.set(i, w, min(dueOf(l), dueOf(r)), lead)
}

func (t *tournament) settleChild(b *bracket, level, id, k int) uint64 {
	if k < fan {
		t.settle(level, id, k)
	} else {
		t.settle(level-1, id*fan+k-fan, 1)
	}
	return t.child(b, level, id, k)
}

// playAll derives everything from the table.
func (t *tournament) playAll(step int64) {
	t.now, t.base, t.played = step, step, true
	t.levels, t.blocks = t.levels[:0], 0
	level := t.lowest()
	for len(level) > 0 {
		t.levels = append(t.levels, level)
		t.stageAll(len(t.levels) - 1)
		above := make([]*bracket, (len(level)+fan-1)/fan)
		for id, b := range level {
			if b != nil {
				t.blocks++
				above[id/fan] = new(bracket)
			}
		}
		if len(level) <= 1 {
			return
		}
		level = above
	}
}

// lowest are the blocks of the lowest level, not played yet; none if nobody plays.
func (t *tournament) lowest() []*bracket {
	size := len(t.table.pages)
	switch {
	case t.under != nil:
		size = (len(t.under.squads) + fan - 1) / fan
	case t.squad != nil:
		size = (len(t.squad.slots) + fan - 1) / fan
	}
	level, any := make([]*bracket, size), false
	for id := range level {
		if t.under != nil || t.squad != nil || t.table.pages[id] != nil && t.table.pages[id].alone() {
			level[id], any = new(bracket), true
		}
	}
	if !any {
		return nil
	}
	return level
}

// stageAll plays the blocks of a level, given what is below them.
func (t *tournament) stageAll(level int) {
	blocks := t.levels[level]
	t.share((len(blocks)+fan-1)/fan, func(w *tournament, k int) {
		for id := k * fan; id < min(k*fan+fan, len(blocks)); id++ {
			if blocks[id] != nil {
				w.stage(level, id)
			}
		}
	})
}

// entry is the winner of a part of the tournament: all below match `match` of a
// block, where matches from fan on are the entrants of the block.
type entry struct {
	candidate
	of    int32 // whose part: ofMain, ofUpper, or the number of a group
	level int8
	match int8
	id    int32
}

const (
	ofMain  = -1
	ofUpper = -2
)

// enqueueLosers enters those who lost to the winner of a part of a tournament only.
func (t *tournament) enqueueLosers(e entry, step int64, of *tournament) {
	level, id, k := int(e.level), int(e.id), int(e.match)
	for {
		if k >= fan {
			if level == 0 {
				return
			}
			level, id, k = level-1, id*fan+k-fan, 1
		}
		b := of.levels[level][id]
		l, r := of.child(b, level, id, 2*k), of.child(b, level, id, 2*k+1)
		loser := r
		k *= 2
		if winnerOf(l) != e.slot {
			loser = l
			k++
		}
		c := &of.held[0]
		if winnerOf(loser) == nobody || !of.load(winnerOf(loser), c) {
			continue
		}
		if v := of.value(c, step); v > 0 {
			t.enqueue(entry{candidate{v, c.slot}, e.of, int8(level), int8(k ^ 1), int32(id)})
		}
	}
}

// enqueue and removeFirst keep a binary heap, the first to be chosen at the
// root.
func (t *tournament) enqueue(e entry) {
	t.queue = append(t.queue, e)
	h := t.queue
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(h[up].candidate) {
			return
		}
		h[up], h[i] = h[i], h[up]
		i = up
	}
}

func (t *tournament) removeFirst() {
	last := len(t.queue) - 1
	t.queue[0] = t.queue[last]
	t.queue = t.queue[:last]
	h := t.queue
	for i := 0; ; {
		down := 2*i + 1
		if down+1 < len(h) && h[down+1].before(h[down].candidate) {
			down++
		}
		if down >= len(h) || !h[down].before(h[i].candidate) {
			return
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
}
