package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/resharding"
	sets "github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// newBalanceRig opens a server that leads one of three groups: with the slots 0 to 8191, 8192 to 16383, and none.
func newBalanceRig(t *testing.T) *movesRig {
	r := newMovesRig(t)
	r.g.begins = func(string, *sets.Set) error { return nil }
	r.know(func(m *commands.Membership) {
		m.OtherShards = []commands.Shard{m.OtherShards[0], m.OtherShards[2]}
		m.OtherShards[0].Slots = slotstest.Set(t, "8192-16383")
		m.Slots = slotstest.Set(t, "0-8191")
	})
	r.g.own.Store(slotstest.Set(t, "0-8191"))
	return r
}

// Each group gets its share, by as few moves as there can be: this server makes its own, and asks another one to make the others.
func TestRebalanceGivesEachGroupItsShare(t *testing.T) {
	self, second, third := strings.Repeat("1", 40), strings.Repeat("c", 40), strings.Repeat("0", 40)
	move := func(from, to string, n int, ranges string) string {
		return fmt.Sprintf(`["from" %q "to" %q "slots" (int) %d "slot_ranges" %q]`, from, to, n, ranges)
	}
	r := newBalanceRig(t)
	c := r.dial()
	plan := "[" + move(self, third, 2730, "5462-8191") + " " + move(second, third, 2731, "13653-16383") + "]"
	c.want("VIGIL.CLUSTER REBALANCE DRYRUN", plan)
	c.want("CLUSTER GETSLOTMIGRATIONS", "[]")
	if len(r.g.ordered) > 0 {
		t.Errorf("DRYRUN orders %q", r.g.ordered)
	}
	each(t, c, map[string]string{
		"VIGIL.CLUSTER REBALANCE DRYRUN WEIGHT " + third + " 0":                                 "[]",
		"VIGIL.CLUSTER REBALANCE DRYRUN WEIGHT " + second + " 0":                                "[" + move(second, third, 8192, "8192-16383") + "]",
		"VIGIL.CLUSTER REBALANCE DRYRUN WEIGHT " + self + " 0 " + third + " 0":                  "[" + move(self, second, 8192, "0-8191") + "]",
		"VIGIL.CLUSTER REBALANCE DRYRUN WEIGHT " + third + " 0 " + second + " 3":                "[" + move(self, second, 4096, "4096-8191") + "]",
		"VIGIL.CLUSTER REBALANCE DRYRUN WEIGHT x 1":                                             "(error) ERR Unknown node x",
		"VIGIL.CLUSTER REBALANCE DRYRUN WEIGHT " + self + " -1":                                 "(error) ERR A weight is a number from 0 to 1000000",
		"VIGIL.CLUSTER REBALANCE DRYRUN WEIGHT " + self + " 1e7":                                "(error) ERR A weight is a number from 0 to 1000000",
		"VIGIL.CLUSTER REBALANCE DRYRUN WEIGHT " + self + " x":                                  "(error) ERR value is not a valid float",
		"VIGIL.CLUSTER REBALANCE DRYRUN WEIGHT " + self:                                         "(error) ERR syntax error",
		"VIGIL.CLUSTER REBALANCE NOW":                                                           "(error) ERR syntax error",
		"VIGIL.CLUSTER REBALANCE DRYRUN WEIGHT " + self + " 0 " + second + " 0 " + third + " 0": "(error) ERR Some group has to have a weight above 0",
	})
	c.want("VIGIL.CLUSTER REBALANCE", plan)
	if want := []string{"a to f: 13653-16383"}; !slices.Equal(r.g.ordered, want) {
		t.Errorf("ordered are %q, want %q", r.g.ordered, want)
	}
	<-r.giving
	if got := c.do("CLUSTER", "GETSLOTMIGRATIONS"); !strings.Contains(got, `"slot_ranges" "5462-8191"`) || !strings.Contains(got, third) {
		t.Errorf("GETSLOTMIGRATIONS: %s", got)
	}
	// Another server orders what this one is to move.
	for call, err := range map[string]error{"a": nil, "nobody": resharding.ErrNowhere} {
		if got := r.g.order(strings.Repeat(call, 40)[:40], slotstest.Set(t, "1-2")); got != err {
			t.Errorf("slots go to %s: %v, want %v", call, got, err)
		}
	}
	if err := r.g.order(strings.Repeat("a", 40), slotstest.Set(t, "9000")); err != resharding.ErrNotOwn {
		t.Errorf("slots of another group: %v", err)
	}
	c.want("CLUSTER CANCELSLOTMIGRATIONS", "OK")
}

// Slots are not divided anew while some are of nobody, or a group that has some is not led.
func TestRebalanceWaitsUntilAllGroupsAreThere(t *testing.T) {
	r := newBalanceRig(t)
	c := r.dial()
	r.know(func(m *commands.Membership) { m.Slots = slotstest.Set(t, "0-8190") })
	c.want("VIGIL.CLUSTER REBALANCE", "(error) ERR Some slots have no group, or are being moved: CLUSTER ADDSLOTS gives those without one to a group")
	r.know(func(m *commands.Membership) {
		m.Slots = slotstest.Set(t, "0-8191")
		m.OtherShards = slices.Clone(m.OtherShards)
		m.OtherShards[0].Up = false
	})
	c.want("VIGIL.CLUSTER REBALANCE", "(error) ERR The group "+strings.Repeat("a", 40)+" has no leader that is heard now")
	alone := newSlotsRig(t)
	alone.dial().want("VIGIL.CLUSTER REBALANCE DRYRUN", "[]")
	sentinel, _ := newGroupRig(t)
	sentinel.dial().want("VIGIL.CLUSTER REBALANCE", "(error) ERR This instance has cluster support disabled")
}
