package server

import (
	"errors"
	"strings"
	"testing"
)

// inMulti sends calls in a transaction, and returns what EXEC replies.
func (c *testClient) inMulti(calls ...string) string {
	c.want("MULTI", "OK")
	for _, call := range calls {
		c.want(call, queued)
	}
	return c.do("EXEC")
}

// What redis-cli --cluster fix sends for a slot of nobody is done when EXEC replies: its calls are made in order, each with its own
// outcome.
func TestSlotsAreGivenInATransactionOfSuchCalls(t *testing.T) {
	r := newShardsRig(t)
	c := r.dial()
	got := c.inMulti("CLUSTER DELSLOTS 16002", "CLUSTER ADDSLOTS 16002", "CLUSTER SETSLOT 16002 STABLE", "CLUSTER BUMPEPOCH")
	if want := "[(error) ERR Slot 16002 is already unassigned OK OK STILL 5]"; got != want {
		t.Errorf("EXEC: %s, want %s", got, want)
	}
	if got := c.inMulti("CLUSTER DELSLOTSRANGE 1 2", "CLUSTER ADDSLOTSRANGE 16005 16006", "CLUSTER ADDSLOTS 1", "CLUSTER ADDSLOTS x"); got != "[OK OK (error) ERR Slot 1 is already busy (error) ERR Invalid or out of range slot]" {
		t.Errorf("EXEC: %s", got)
	}
	if got, want := r.g.changesAsked(), "take 16002; drop 1-2; take 16005-16006"; got != want {
		t.Errorf("the group was asked for %s, want %s", got, want)
	}
	r.g.set(func() { r.g.refuses = errors.New("not now") })
	if got := c.inMulti("CLUSTER ADDSLOTS 16002"); got != "[(error) ERR not now]" {
		t.Errorf("EXEC: %s", got)
	}
	c.want("PING", "PONG")
	c.want("CLUSTER MYID", `"`+strings.Repeat("1", 40)+`"`)
}

// A transaction that does something else as well holds locks, and does not wait for the group.
func TestSlotsAreNotGivenAmidOtherCalls(t *testing.T) {
	r := newShardsRig(t)
	c := r.dial()
	for _, other := range []string{"SET b 1", "PING", "CLUSTER MEET 10.0.4.1 7000"} {
		if got := c.inMulti(other, "CLUSTER ADDSLOTS 16002"); !strings.HasSuffix(got, " (error) ERR Command not allowed inside a transaction]") {
			t.Errorf("%s: %s", other, got)
		}
	}
	w := r.dial()
	w.want("WATCH b", "OK")
	c.want("SET b 2", "OK")
	if got := w.inMulti("CLUSTER ADDSLOTS 16002"); got != "(nil array)" {
		t.Errorf("EXEC after a change of what was watched: %s", got)
	}
	w.want("MULTI", "OK")
	w.want("EXEC", "[]")
	if got := r.g.changesAsked(); got != "" {
		t.Errorf("the group was asked for %s", got)
	}
}

// A user who may not give slots any more does not, though the call was queued before.
func TestSlotsAreGivenByThoseWhoMay(t *testing.T) {
	r := newShardsRig(t)
	admin, c := r.dial(), r.dial()
	admin.want("ACL SETUSER u on nopass +@all allkeys", "OK")
	c.want("AUTH u x", "OK")
	c.want("MULTI", "OK")
	c.want("CLUSTER ADDSLOTS 16002", queued)
	c.want("CLUSTER BUMPEPOCH", queued)
	admin.want("ACL SETUSER u -cluster|addslots", "OK")
	if got := c.do("EXEC"); !strings.HasPrefix(got, "[(error) NOPERM ") || !strings.HasSuffix(got, " STILL 5]") {
		t.Errorf("EXEC: %s", got)
	}
	if got := r.g.changesAsked(); got != "" {
		t.Errorf("the group was asked for %s", got)
	}
}
