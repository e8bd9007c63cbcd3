package clusters

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

// requests are what leaders ask each other for in a move (server/cluster/move_wire.go).
var requests = []string{"expect", "complete", "complete", "take", "how"}

// ambush makes things fail amid a move of slots: most of what a move does takes next to no time, and a fault that came at
// some time would miss it.
func (w *world) ambush(from, to *node) {
	giving, taking := w.shardOf(from), w.shardOf(to)
	if w.rand.IntN(3) == 0 {
		w.slow()
	}
	if w.rand.IntN(3) == 0 {
		w.amidKeys(from, to)
		return
	}
	w.waitForStep()
	for range 1 + w.rand.IntN(3) {
		w.strike(from, to, giving, taking)
		w.pause(600)
	}
	if w.rand.IntN(2) == 0 {
		w.heal()
	}
}

// amidKeys loses keys on the network, with the connection that they are on, or lets them come for nothing. Nothing else fails: the move must go on
// without the lost ones to be wrong, and nothing else may remove the others.
func (w *world) amidKeys(from, to *node) {
	keys := func(p *pipe, b []byte) bool { return p.from == from.host && p.to == to.host && len(b) > fillerBytes }
	if w.rand.IntN(2) == 0 {
		if w.trapped(keys, 0) {
			w.effect("lost keys")
			w.disconnect(from)
		}
	} else if w.trapped(keys, w.rand.IntN(40)) {
		w.cancel(from)
	}
}

// waitForStep waits until servers have sent so many segments, or have sent them since a request of the move.
func (w *world) waitForStep() {
	if w.rand.IntN(3) == 0 {
		w.trapped(nil, w.rand.IntN(2<<w.rand.IntN(9)))
		return
	}
	request := fmt.Appendf(nil, `"What":%q`, requests[w.rand.IntN(len(requests))])
	if w.trapped(func(_ *pipe, b []byte) bool { return bytes.Contains(b, request) }, w.rand.IntN(12)) {
		w.effect("ambushes at a step")
	}
}

// trapped waits for a trap to spring, and reports whether it has.
func (w *world) trapped(after sign, segments int) bool {
	select {
	case <-w.net.lay(after, segments):
		w.effect("ambushes")
		return true
	case <-time.After(2 * time.Second):
		return false
	}
}

// strike breaks something that a move needs.
func (w *world) strike(from, to *node, giving, taking []*node) {
	switch w.rand.IntN(12) {
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
	case 9, 10:
		w.disconnect([]*node{from, to}[w.rand.IntN(2)])
	default:
		w.heal()
	}
}
