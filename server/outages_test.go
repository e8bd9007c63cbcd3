package server

import (
	"strings"
	"testing"

	"github.com/vigildb/vigil/server/blocking"
)

// Clients that wait for keys are told when slots of other groups go down, if calls are refused then. They are served as
// ever where all slots can be used, and later too.
func TestClientsDoNotWaitForKeysWhileSlotsAreDown(t *testing.T) {
	calls := []string{"BLPOP b 0", "BLMOVE b {b}other LEFT RIGHT 0", "BZPOPMIN {b}z 1000", "XREAD BLOCK 0 STREAMS {b}stream $"}
	for _, x := range []struct {
		directives string
		told       int // so many of the calls
	}{
		{"", 4},
		{"--cluster-allow-reads-when-down yes", 3},
		{"--cluster-require-full-coverage no", 0},
	} {
		r := newShardsRig(t, strings.Fields(x.directives)...)
		c := r.dial()
		c.want("XADD {b}stream 1-1 f v", `"1-1"`)
		var clients []*testClient
		for _, call := range calls {
			w := r.dial()
			w.send(strings.Fields(call)...)
			clients = append(clients, w)
		}
		r.blocked(len(calls))
		for range 3 {
			r.clock.advance(blocking.Round)
		}
		r.blocked(len(calls))
		r.g.uncovered.Store(true)
		r.clock.advance(blocking.Round)
		for _, w := range clients[:x.told] {
			w.next(slotsDown)
			w.want("PING", "PONG")
		}
		r.blocked(len(calls) - x.told)
		r.g.uncovered.Store(false)
		c.want("XADD {b}stream 2-1 f v", `"2-1"`)
		c.want("RPUSH b 1 2", "(int) 2")
		if x.told < len(calls) {
			clients[3].next(`[["{b}stream" [["2-1" ["f" "v"]]]]]`)
		}
		if x.told > 0 { // one that begins to wait when nobody did is looked after too
			late := r.dial()
			late.send("BLPOP", "{b}late", "0")
			r.blocked(1)
			r.g.uncovered.Store(true)
			r.clock.advance(blocking.Round)
			late.next(slotsDown)
		}
	}
}

// A server whose clients see no slots looks for nothing.
func TestClientsWaitWithoutSlots(t *testing.T) {
	r, g := newGroupRig(t)
	g.uncovered.Store(true)
	w := r.dial()
	w.send("BLPOP", "b", "0")
	r.blocked(1)
	r.clock.advance(blocking.Round)
	r.dial().want("RPUSH b 1", "(int) 1")
	w.next(`["b" "1"]`)
}
