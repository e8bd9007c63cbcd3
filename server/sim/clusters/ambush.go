package clusters

import (
	"fmt"
	"slices"
	"time"
)

// steps are what leaders ask each other for in a move, as requests have it (server/cluster/move_wire.go).
var steps = []string{"expect", "complete", "complete", "take", "how"}

// ambush has things fail amid a move of slots, behind so many segments that servers have sent, or have sent since a step of the move: most of
// what a move does takes next to no time, and a fault that came at some time would miss it.
func (w *world) ambush(from, to *node) {
	giving, taking := w.shardOf(from), w.shardOf(to)
	if w.rand.IntN(3) == 0 {
		w.slow()
	}
	var after []byte
	segments := w.rand.IntN(2 << w.rand.IntN(9))
	if w.rand.IntN(3) > 0 {
		after = fmt.Appendf(nil, `"What":%q`, steps[w.rand.IntN(len(steps))])
		segments = w.rand.IntN(12)
	}
	select {
	case <-w.net.lay(after, segments):
		if w.effect("ambushes"); after != nil {
			w.effect("ambushes at a step")
		}
	case <-time.After(2 * time.Second):
	}
	for range 1 + w.rand.IntN(3) {
		w.strike(from, to, giving, taking)
		w.pause(600)
	}
	if w.rand.IntN(2) == 0 {
		w.heal()
	}
}

// strike has something fail of what a move needs.
func (w *world) strike(from, to *node, giving, taking []*node) {
	switch w.rand.IntN(10) {
	case 0, 1:
		w.cancel(from)
	case 2, 3:
		w.silence(giving, []*node{from})
	case 4:
		w.silence([]*node{from}, giving)
	case 5:
		w.silence(giving, taking)
	case 6:
		w.silence(taking, giving)
	case 7:
		w.killOne([]*node{from, to}[w.rand.IntN(2)])
	case 8:
		if all := slices.Concat(giving, taking); len(all) > 0 {
			w.failover(all[w.rand.IntN(len(all))])
		}
	default:
		w.heal()
	}
}
