package raftnode

import (
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence"
)

// While members write a large entry they tell each other that they live, for as long as it may take;
// small ones need no such thing.
func TestMembersSendKeepalivesWhileTheyWriteLargeEntries(t *testing.T) {
	w, n := ledWorld(t, 41, persistence.SyncAlways, rules{})
	type keepalive struct{ from, to uint64 }
	said := map[keepalive]raftpb.MessageType{}
	open := 0
	for _, o := range w.nodes[1:] {
		o.driver.Keepalive = func(messages []*raftpb.Message, patience time.Duration) func() {
			for _, m := range messages {
				said[keepalive{m.GetFrom(), m.GetTo()}] = m.GetType()
				if len(m.GetContext()) > 0 || m.GetCommit() != 0 || m.GetTerm() != n.driver.Leading() {
					t.Errorf("member %d says %v", o.id, m)
				}
			}
			if patience < timeout || patience > timeout+time.Second {
				t.Errorf("for %v", patience)
			}
			open++
			return func() { open-- }
		}
	}
	w.write(n, "a")
	if len(said) > 0 {
		t.Errorf("for a small entry: %v", said)
	}
	n.transact("large", func(tx *persistence.Tx, a, _ []byte) {
		tx.SetString(a, make([]byte, 2<<20), persistence.NoExpiry)
		tx.Commit()
	})
	n.work()
	w.settle()
	for _, o := range w.nodes[1:] {
		if o == n {
			continue
		}
		if said[keepalive{n.id, o.id}] != raftpb.MsgHeartbeat || said[keepalive{o.id, n.id}] != raftpb.MsgHeartbeatResp {
			t.Errorf("between leader %d and member %d: %v", n.id, o.id, said)
		}
	}
	if open != 0 {
		t.Errorf("%d did not end", open)
	}
	w.judge()
	w.close()
}

// A leader whose changes are too large for an entry gives them up: another leadership begins without them,
// where the group would wait for ever.
func TestALeaderStepsDownForAnEntryThatIsTooLarge(t *testing.T) {
	w, n := ledWorld(t, 42, persistence.SyncAlways, rules{})
	term := n.driver.Leading()
	if err := n.driver.Proposals.Propose(term, make([]byte, MaxEntry+1)); err != errTooLarge {
		t.Errorf("it is proposed: %v", err)
	}
	n.work()
	if n.driver.Leading() != 0 {
		t.Error("it leads")
	}
	w.settle()
	w.write(w.elected(), "a")
	w.judge()
	w.close()
}
