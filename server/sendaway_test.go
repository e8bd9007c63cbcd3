package server

import (
	"testing"

	"github.com/vigildb/vigil/server/resharding"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

const notServed = "(error) CLUSTERDOWN Hash slot not served"

// Clients that wait for keys of a slot which is nobody's any more, or another group's, are told so when it goes, though nothing was
// moved: as when the group is buried. Those that wait for keys of other slots keep waiting.
func TestClientsDoNotWaitForKeysOfSlotsThatHaveGone(t *testing.T) {
	for text, have := range map[string]func(r *movesRig){
		notServed: func(r *movesRig) { r.have(r.g.own.Load().Without(slotstest.Set(t, "3300")), nil) },
		movedB:    func(r *movesRig) { r.have(r.g.own.Load().Without(slotstest.Set(t, "3300")), slotstest.Set(t, "3300")) },
	} {
		r := newMovesRig(t)
		r.have(r.g.own.Load(), nil)
		sentAway := r.waitForB(r.dial())
		have(r)
		sentAway(text)
	}
}

// All clients that wait for keys are told when the group has no slot any more; one that waits for none goes on.
func TestNobodyWaitsForKeysOfAGroupWithoutSlots(t *testing.T) {
	r := newMovesRig(t)
	r.have(r.g.own.Load(), nil)
	b, c := r.dial(), r.dial()
	b.send("BLPOP", "b", "0")
	c.send("BRPOP", "c", "0")
	r.blocked(2)
	r.have(new(slots.Set), slotstest.Set(t, "3300"))
	b.next(movedB)
	c.next(notServed)
}

// A client that begins to wait while the division of the slots changes is told too.
func TestClientThatBeginsToWaitAmidAChangeIsTold(t *testing.T) {
	r := newMovesRig(t)
	r.have(r.g.own.Load(), nil)
	less := r.g.own.Load().Without(slotstest.Set(t, "3300"))
	r.g.channels(less)
	w := r.dial()
	w.send("BLPOP", "b", "0")
	r.blocked(1)
	r.g.own.Store(less)
	r.until("nobody waits", func() bool {
		r.clock.advance(resharding.LookAgain)
		return r.srv.blocked.Count() == 0
	})
	w.next(notServed)
}
