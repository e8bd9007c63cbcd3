package raftnode

import (
	"fmt"
	"testing"

	"github.com/vigildb/vigil/persistence"
)

// keys returns the keys that a member has.
func (m *running) keys() (keys []string) {
	tx := m.store.NewTx()
	var set persistence.Shards
	set.AddAll()
	tx.Lock(&set, 1000)
	defer tx.Unlock()
	for _, key := range []string{"before", "doomed", "after"} {
		if tx.Kind([]byte(key)) != 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// TestLeaderGivesUpATransactionAndItsLeadership abandons what a leader has changed in memory: no member
// has it ever, each has what was acknowledged before, and the group goes on.
func TestLeaderGivesUpATransactionAndItsLeadership(t *testing.T) {
	for _, lazy := range []bool{false, true} {
		g := newTrioOf(t, lazy, newest, newest, newest)
		m := g.leader()
		if err := m.store.Commits().WaitDurable(m.write("before")); err != nil {
			t.Fatal(err)
		}
		tx := m.store.NewTx()
		var set persistence.Shards
		set.Add(m.store.Hash([]byte("doomed")))
		set.Add(m.store.Hash([]byte("before")))
		tx.Lock(&set, 1000)
		tx.SetString([]byte("doomed"), []byte("v"), persistence.NoExpiry)
		tx.Delete([]byte("before"))
		if !tx.Abandon() {
			t.Error("there was nothing to be abandoned")
		}
		if tx.Kind([]byte("doomed")) != 0 || tx.Kind([]byte("before")) == 0 {
			t.Error("the member has what was abandoned")
		}
		if tx.Writable() {
			t.Error("the member leads")
		}
		tx.Unlock()
		for {
			o := g.leader()
			if position := o.write("after"); position != 0 && o.store.Commits().WaitDurable(position) == nil {
				break
			}
		}
		for _, o := range g.members {
			g.until("a member has what it should", func() bool { return fmt.Sprint(o.keys()) == "[before after]" })
		}
	}
}
