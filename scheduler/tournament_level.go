package scheduler

import "math"

// parking keeps nodes out of a tournament that cannot win for some time. A node
// that was just probed is far from being the best again, and would overtake one
// node after another on its way; so it is parked until the step at which its
// value may reach a level that the picks have not gone below for long. Matches
// do not store who is parked: where nobody plays, a match is due when the first
// of those below it may reach the level.
//
// All nodes whose value is at least sure play, so a pick is right if it has that
// value. Sure is a little above the level: a curve that hardly grows any more may
// seem, by rounding, to reach it later. The level follows the picks. When it rises,
// the parked nodes come a little early, and those that play may stay; when it has to
// fall, or has risen far, a sweep plays one block of 4096 nodes after another with
// it, one with each pick. If picks fall below sure first, because nearly all nodes have changed,
// many more are asked for than before or all are leased, everybody plays again.
type parking struct {
	reach reacher // nil: nobody is ever parked
	// window is the least number of picks from which a level is chosen.
	window int
	failed int // times that everybody had to play again

	level, sure float64
	swept       float64 // level of the last sweep
	low, before float64 // least values picked in this window and the one before
	picks       int     // number of picks that low is of
	slack       float64 // how far the level is below low, as a share
	calm        int     // picks since the level was lowered
	sweep       int     // block of sharedLevel to play next, -1: none
}

// reacher is a contest that can tell when a value is reached.
type reacher interface {
	// reach is an age below which the value of a node is below a level, or above
	// it by less than leadMargin as a share.
	reach(c *contender, level float64) int64
}

const (
	// leastSlack is enough where picks are as good as those before. Slack is
	// doubled, up to mostSlack, when the level has to be lowered soon again, as
	// while a new schedule finds its balance, and halved when all is calm.
	leastSlack, mostSlack = 1. / 32, 1. / 4
	// leastWindow picks, or so many for each node, tell how low picks go.
	leastWindow   = 1024
	windowPerNode = 1. / 32
	// mostFailed bounds how often the window is doubled: with each failure.
	mostFailed = 10
)

// unparked is the state in which everybody plays.
func (t *tournament) unparked() parking {
	reach, _ := t.rule.(reacher)
	return parking{reach: reach, window: t.window, failed: t.failed, low: math.Inf(1), slack: leastSlack, sweep: -1}
}

// unpark lets everybody play.
func (t *tournament) unpark() {
	t.failed = min(t.failed+1, mostFailed)
	t.parking = t.unparked()
	t.played = false
	t.forget()
}

// enters is the outcome of an entrant, by its slot or place: its node, or nobody up to
// the step at which it may be worth the level.
func (t *tournament) enters(at int, c *contender) uint64 {
	slot := at
	switch {
	case t.under != nil:
		return t.under.outcome(t, at)
	case t.squad != nil && at >= len(t.squad.slots):
		return pack(nobody, never)
	case t.squad != nil:
		slot = int(t.squad.slots[at])
	}
	if c.slot != slot {
		t.load(slot, c)
	}
	if !c.plays || c.group != 0 && t.squad == nil {
		return pack(nobody, never)
	}
	if t.level > 0 && t.value(c, t.now) < t.level*(1-leadMargin) {
		return pack(nobody, t.after(t.now, max(1, t.reach.reach(c, t.level)-(t.now-c.last))))
	}
	return pack(slot, never)
}

// heed takes note of the least value of a pick, 0 if nobody was left.
func (t *tournament) heed(value float64) {
	if t.reach == nil || len(t.levels) == 0 {
		return // nobody can be parked: all nodes may be in groups, which have tournaments of their own
	}
	t.low = min(t.low, value)
	t.picks++
	t.calm++
	switch {
	case t.sweep >= 0 && value >= t.level*(1+t.slack/4):
		t.sweepOne()
	case value < t.sure*(1+t.slack/4):
		if t.calm < t.table.Live() {
			t.slack = min(2*t.slack, mostSlack)
		}
		t.level, t.sweep, t.calm = value*(1-2*t.slack), 0, 0
		t.sweepOne()
	case t.picks >= max(t.window, int(windowPerNode*float64(t.table.Live())))<<t.failed:
		if t.calm >= 4*t.table.Live() {
			t.slack = max(t.slack/2, leastSlack)
			t.calm = 0
		}
		t.raise()
	}
}

// raise ends a window. While values still grow from window to window, as those of
// a new schedule do, nodes that were parked would come back at once: it waits.
func (t *tournament) raise() {
	if t.low < t.before*(1+4*t.slack) {
		t.level = max(t.level, t.low*(1-t.slack))
		t.sure = t.level * (1 + leadMargin)
		if t.level > t.swept*(1+4*t.slack) {
			t.sweep = 0
		}
	}
	t.before, t.low, t.picks = t.low, math.Inf(1), 0
}

// sweepOne plays the next block of sharedLevel with the present level, and all
// matches above it.
func (t *tournament) sweepOne() {
	at := min(sharedLevel, len(t.levels)-1)
	blocks := t.levels[at]
	for t.sweep < len(blocks) && blocks[t.sweep] == nil {
		t.sweep++
	}
	if t.sweep < len(blocks) {
		t.forget()
		first := t.sweep * fan
		for id := first; at > 0 && id < min(first+fan, len(t.levels[at-1])); id++ {
			if t.levels[at-1][id] != nil {
				t.stage(at-1, id)
			}
		}
		t.stage(at, t.sweep)
		t.climb(first*fan, first*fan, at+1, true)
		t.sweep++
	}
	if t.sweep >= len(blocks) {
		t.sure, t.swept, t.sweep = t.level*(1+leadMargin), t.level, -1
		t.low, t.picks = math.Inf(1), 0
	}
}
