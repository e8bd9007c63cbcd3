package server

import (
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/resharding"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

var (
	slotLeader  = strings.Repeat("c", 40) // of the group that gets slots from a movesRig
	slotReplica = strings.Repeat("b", 40)
	slotOwner   = strings.Repeat("1", 40)
)

// SETSLOT MIGRATING replies when the other group has the slot: what tools do next finds no keys, and the slot where they send it.
func TestSetSlotMovesASlot(t *testing.T) {
	r := newMovesRig(t)
	tool := r.dial()
	tool.want("SET b v", "OK")
	tool.send("CLUSTER", "SETSLOT", "3300", "MIGRATING", slotLeader)
	<-r.giving
	r.g.left.Store(slotstest.Set(t, "3300")) // its keys go later
	r.given <- nil
	tool.next("OK")
	tool.want("CLUSTER COUNTKEYSINSLOT 3300", "(int) 0")
	tool.want("CLUSTER GETKEYSINSLOT 3300 10", "[]")
	tool.want("CLUSTER SETSLOT 3300 NODE "+slotLeader, "OK")
	tool.want("GET b", movedB)
	r.untilProgress("success of 3300 1/1")
}

// A move that fails or is cancelled is an error, after which the slot is where it was.
func TestSetSlotTellsWhyASlotDoesNotMove(t *testing.T) {
	for what, c := range map[string]struct {
		end  func(r *movesRig)
		want string
	}{
		"cancelled": {func(r *movesRig) { r.dial().want("CLUSTER CANCELSLOTMIGRATIONS", "OK") }, "(error) ERR cancelled"},
		"buried": {func(r *movesRig) {
			r.know(func(m *commands.Membership) { m.OtherShards = nil })
			r.given <- resharding.ErrNowhere
		}, "(error) ERR " + resharding.ErrGone.Error()},
	} {
		t.Run(what, func(t *testing.T) {
			r := newMovesRig(t)
			tool := r.dial()
			tool.send("CLUSTER", "SETSLOT", "3300", "MIGRATING", slotLeader)
			<-r.giving
			c.end(r)
			tool.next(c.want)
		})
	}
}

// Without MIGRATING before it NODE moves a slot as well, and takes one that nobody has. A third node, which has heard nothing of a
// move yet, waits for that.
func TestSetSlotNodeWaitsUntilTheSlotIsThere(t *testing.T) {
	r := newMovesRig(t)
	tool := r.dial()
	tool.want("CLUSTER SETSLOT 3300 NODE "+slotOwner, "OK")
	tool.send("CLUSTER", "SETSLOT", "3301", "NODE", slotLeader)
	<-r.giving
	r.given <- nil
	tool.next("OK")

	tool.want("CLUSTER SETSLOT 16002 NODE "+slotOwner, "OK")
	if got := r.g.changesAsked(); got != "take 16002" {
		t.Errorf("the group was asked for %s", got)
	}
	tool.send("CLUSTER", "SETSLOT", "3301", "NODE", slotOwner)
	r.have(r.g.own.Load().Union(slotstest.Set(t, "3301")), nil)
	if got := r.awaits(tool, 500*time.Millisecond); got != "OK" {
		t.Errorf("a slot that comes: %s", got)
	}
	tool.send("CLUSTER", "SETSLOT", "9000", "NODE", slotOwner)
	if got := r.awaits(tool, 500*time.Millisecond); got != "(error) ERR "+resharding.ErrOtherOwner.Error() {
		t.Errorf("a slot that stays: %s", got)
	}
}

// The errors are Redis's.
func TestSetSlotRefusesWhatCannotBe(t *testing.T) {
	r := newMovesRig(t)
	c := r.dial()
	none := strings.Repeat("7", 40)
	const action = "(error) ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP"
	each(t, c, map[string]string{
		"CLUSTER SETSLOT 1 STABLE":                     "OK",
		"CLUSTER SETSLOT 9000 IMPORTING " + slotLeader: "OK",
		"CLUSTER SETSLOT 1 IMPORTING " + slotLeader:    "OK", // it has come already
		"CLUSTER SETSLOT 9000 IMPORTING " + none:       "(error) ERR I don't know about node " + none,
		"CLUSTER SETSLOT 9000 MIGRATING " + slotLeader: "(error) ERR I'm not the owner of hash slot 9000",
		"CLUSTER SETSLOT 1 MIGRATING " + none:          "(error) ERR I don't know about node " + none,
		"CLUSTER SETSLOT 1 MIGRATING " + slotReplica:   "(error) ERR Target node is not a master",
		"CLUSTER SETSLOT 1 MIGRATING " + slotOwner:     "(error) ERR The node has the slots already",
		"CLUSTER SETSLOT 1 NODE " + none:               "(error) ERR Unknown node " + none,
		"CLUSTER SETSLOT 1 NODE " + slotReplica:        "(error) ERR Target node is not a master",
		"CLUSTER SETSLOT 1 NODE":                       action,
		"CLUSTER SETSLOT 1 STABLE " + none:             action,
		"CLUSTER SETSLOT 1 STAY":                       action,
		"CLUSTER SETSLOT 1 MIGRATING a b":              action,
		"CLUSTER SETSLOT 16384 STABLE":                 "(error) ERR Invalid or out of range slot",
		"CLUSTER SETSLOT x STABLE":                     "(error) ERR Invalid or out of range slot",
	})
	if got := c.inMulti("SET b v", "CLUSTER SETSLOT 1 MIGRATING "+slotLeader); !strings.Contains(got, "(error)") {
		t.Errorf("amid a transaction: %s", got)
	}
	r.follow()
	r.dial().want("CLUSTER SETSLOT 1 STABLE", "(error) ERR Please use SETSLOT only with masters.")
}
