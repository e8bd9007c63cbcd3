package raftnode

import (
	"slices"
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence"
)

// When a leader is gone, others wait for one timeout and some ticks, whichever of them has the longer log.
func TestAnotherMemberLeadsSoon(t *testing.T) {
	var gaps []time.Duration
	for seed := *firstSeed; seed < *firstSeed+100; seed++ {
		w := newWorldWith(t, seed, []persistence.SyncPolicy{persistence.SyncAlways, persistence.SyncEverySecond}[seed%2], rules{}, 3+2*int(seed/2%2), false)
		n := w.elected()
		w.write(n, "a")
		w.run(time.Duration(w.rand.Int64N(int64(timeout))))
		if n = w.leader(); n == nil {
			continue
		}
		for _, o := range w.nodes[1:] { // some of the others have this entry
			if o != n && w.rand.IntN(2) == 0 {
				w.cut[n.id][o.id] = true
			}
		}
		w.ask(n.id, "b", true)
		w.run(tick)
		n.stop(false)
		since := w.now
		w.until("another member leads", func() bool { return w.leader() != nil })
		gaps = append(gaps, w.now-since)
		w.close()
	}
	slices.Sort(gaps)
	median, longest := gaps[len(gaps)/2], gaps[len(gaps)-1]
	t.Logf("without a leader for %v, at the most %v, in %d groups", median, longest, len(gaps))
	if median > timeout*13/10 || longest > 2*timeout {
		t.Errorf("groups were without a leader for %v, at the most %v; the timeout is %v", median, longest, timeout)
	}
}
