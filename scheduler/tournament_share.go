package scheduler

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Much can be due at once: after a jump of the clock, after bulk loading, in the
// first steps of a new schedule. Blocks of one level do not read each other, so
// they are played by several goroutines then. The outcome is the same.
const (
	// sharedLevel is the level whose blocks, with all below them, are handed
	// out: one has up to 4096 nodes.
	sharedLevel = 1
	// sharedBlocks is the number of due blocks from which that may pay, if they
	// are also half of all: starting a goroutine takes as long as a few matches,
	// and in the steady state few matches are due in each of several blocks.
	sharedBlocks = 16
)

// settleShared settles the blocks of sharedLevel if many are due, and returns
// whether it has.
func (t *tournament) settleShared() bool {
	top := len(t.levels) - 1
	if top <= sharedLevel {
		return false
	}
	t.expired = t.expired[:0]
	t.collect(top, 0, 1)
	if len(t.expired) < max(sharedBlocks, len(t.levels[sharedLevel])/2) {
		return false
	}
	t.share(len(t.expired), func(w *tournament, k int) { w.settle(sharedLevel, int(w.expired[k]), 1) })
	return true
}

// collect gathers the blocks of sharedLevel that are due below match k of a
// block, which is.
func (t *tournament) collect(level, id, k int) {
	if k >= fan {
		if level, id, k = level-1, id*fan+k-fan, 1; level == sharedLevel {
			t.expired = append(t.expired, int32(id))
			return
		}
	}
	b := t.levels[level][id]
	for _, k := range [2]int{2 * k, 2*k + 1} {
		if t.due(t.child(b, level, id, k)) {
			t.collect(level, id, k)
		}
	}
}

// share calls do with the numbers below n, in no order, from as many goroutines
// as there are processors; all have ended when it returns. Each has a tournament
// that shares the blocks of t and has contenders of its own.
func (t *tournament) share(n int, do func(w *tournament, k int)) {
	var next atomic.Int64
	work := func(w *tournament) {
		for k := next.Add(1) - 1; k < int64(n); k = next.Add(1) - 1 {
			do(w, int(k))
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) - 1 {
		w := *t
		others.Go(func() { work(&w) })
	}
	work(t)
	others.Wait()
}
