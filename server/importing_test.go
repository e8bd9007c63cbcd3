package server

import (
	"strings"
	"testing"

	"github.com/vigildb/vigil/server/hold"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// come moves slots of another group to this one.
func (r *movesRig) come(of string) {
	r.g.importing.Store(slotstest.Set(r.t, of))
	r.g.expected.Store(slotstest.Set(r.t, of))
}

// arrived makes the group take them.
func (r *movesRig) arrived(own string) {
	r.g.own.Store(slotstest.Set(r.t, own))
	r.g.importing.Store(nil)
	r.g.expected.Store(nil)
}

// waiting waits until so many clients wait for slots that come.
func (r *movesRig) waiting(n int) {
	r.t.Helper()
	r.until("clients wait", func() bool { return r.srv.incoming.Count() == n })
}

const again = "(error) TRYAGAIN Slots are being moved to this server"

// Calls for slots that were given to this group, and that it has not taken yet, are held back until it has: a pipeline of
// them, a transaction and a script too. Others go on.
func TestCallsWaitForSlotsThatArrive(t *testing.T) {
	r := newMovesRig(t)
	r.come("8001-16001")
	one, multi, script, other := r.dial(), r.dial(), r.dial(), r.dial()
	one.send("SET", "a", "1")
	one.send("GET", "a")
	multi.want("MULTI", "OK")
	multi.send("INCR", "{a}n")
	multi.send("EXEC")
	script.send("EVAL", "return redis.call('incr', KEYS[1])", "1", "{a}s")
	r.waiting(3)
	other.want("SET b 1", "OK")
	other.send("GET", "a")
	r.waiting(4)
	other.nc.Close()
	r.waiting(3)
	r.clock.advance(hold.ImportPeriod)
	r.waiting(3)
	r.arrived("0-16001")
	r.clock.advance(hold.ImportPeriod)
	one.next("OK")
	one.next(`"1"`)
	multi.next(queued)
	multi.next("[(int) 1]")
	script.next("(int) 1")
	if r.srv.incoming.Any() {
		t.Error("the server still waits")
	}
}

// Calls for slots that do not come get -TRYAGAIN after a while, and those after them at once, until others come.
func TestCallsDoNotWaitForSlotsForLong(t *testing.T) {
	r := newMovesRig(t)
	r.come("8001-16001")
	c := r.dial()
	c.send("GET", "a")
	r.waiting(1)
	r.clock.advance(hold.Patience)
	c.next(again)
	c.want("GET a", again)
	c.want("SET b 1", "OK")
	r.come("15495")
	r.clock.advance(hold.ImportPeriod)
	r.until("the server waits no more", func() bool { return !r.srv.incoming.Any() })
	c.send("GET", "a")
	r.waiting(1)
	r.g.importing.Store(nil) // as when another group turns out to have them
	r.clock.advance(hold.ImportPeriod)
	c.next("(error) MOVED 15495 10.0.1.2:7000")
}

// Nothing removes all keys while some arrive.
func TestNothingIsEmptiedWhileKeysArrive(t *testing.T) {
	r := newMovesRig(t)
	r.come("8001-16001")
	c := r.dial()
	each(t, c, map[string]string{"FLUSHALL": again, "FLUSHDB": again, "SET b 1": "OK"})
	c.want("MULTI", "OK")
	c.want("FLUSHALL", queued)
	c.want("EXEC", again)
	c.want("GET b", `"1"`)
	if got := c.do("EVAL", "return redis.call('flushall')", "0"); !strings.HasPrefix(got, "(error) TRYAGAIN") {
		t.Errorf("a script: %s", got)
	}
	r.have(r.g.own.Load().Union(slotstest.Set(t, "8001-16001")), nil) // they are this group's; the other one has not heard of that yet
	r.g.importing.Store(nil)
	c.want("FLUSHALL", "OK")
}
