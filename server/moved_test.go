package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/slots"
)

// Keys are on their way before their slots are frozen, though they do not fill a frame: clients wait only for what has
// changed since.
func TestKeysAreSentBeforeTheFreeze(t *testing.T) {
	r := newMovesRig(t)
	c, w := r.dial(), r.dial()
	for i := range 100 {
		c.want(fmt.Sprintf("SET {b}%d %d", i, i), "OK")
	}
	sends, frozen, frames := r.g.sends, 0, 0
	r.g.sends = func(keys []byte) error {
		if frames++; frames <= 2 { // while all keys are on their way, and while those are that changed meanwhile
			w.want(fmt.Sprintf("SET {b}late%d v", frames), "OK")
		}
		if r.srv.fence.Of() != nil {
			frozen += len(keys)
		}
		return sends(keys)
	}
	r.begin(c)
	r.given <- nil
	r.state(c, "success")
	if frames != 3 || frozen == 0 || frozen > 50 {
		t.Errorf("%d frames were sent, and %d bytes while the slots were frozen", frames, frozen)
	}
}

// A move that was asked for twice is made once, and one of slots that have gone elsewhere fails at once: other moves wait behind it.
func TestMovesOfSlotsThatHaveGoneDoNotWait(t *testing.T) {
	r := newMovesRig(t)
	c := r.dial()
	to := strings.Repeat("c", 40)
	r.g.begins = func(_ string, of *slots.Set) error {
		if of.Without(r.g.own.Load()).Len() > 0 {
			return errMoveNotOwn
		}
		return nil
	}
	r.begin(c)
	c.want("CLUSTER MIGRATESLOTS SLOTSRANGE 3300 3301 NODE "+to, "OK")
	c.want("CLUSTER MIGRATESLOTS SLOTSRANGE 3302 3303 NODE "+to, "OK")
	c.want("CLUSTER MIGRATESLOTS SLOTSRANGE 3304 3304 NODE "+to, "OK")
	r.given <- nil
	<-r.giving // 3301
	third := mustSlots(t, "3302")
	r.g.own.Store(r.g.own.Load().Without(third))
	r.know(func(m *commands.Membership) { m.Slots = m.Slots.Without(third) }) // a group has it of which this server knows little
	r.given <- nil
	<-r.giving // 3304: nobody waits for the clock
	r.given <- nil
	r.until("all moves are over", func() bool {
		states := []string{}
		for _, m := range (host{r.srv}).Moves() {
			states = append(states, fmt.Sprint(m.State, " ", m.Moved))
		}
		return strings.Join(states, ", ") == "success 1, success 2, failed 0, success 1"
	})
}
