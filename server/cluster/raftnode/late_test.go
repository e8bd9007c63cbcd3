package raftnode

import (
	"slices"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence"
)

// sentTo is a mesh that keeps whom messages are for.
type sentTo []uint64

func (s *sentTo) Send(m *raftpb.Message) { *s = append(*s, m.GetTo()) }

// What tells of a commit is sent when it has waited for as long as it may, and not when something older has: under a load
// whose entries are further apart than half of that time, the next entries bring it.
func TestACommitIsToldWithTheNextEntries(t *testing.T) {
	w, n := ledWorld(t, 11, persistence.SyncAlways, rules{})
	defer w.close()
	d, sent := n.driver, &sentTo{}
	d.sendAllLate()
	d.Mesh = sent
	commit := func(to uint64, at time.Duration) {
		d.now = at
		if !d.later(&raftpb.Message{Type: raftpb.MsgApp.Enum(), To: &to}) {
			t.Fatal("what tells of a commit only is sent at once")
		}
	}
	start := d.now
	commit(2, start)
	commit(3, start+lateness/2)
	if d.SendLate(start + lateness - 1); len(*sent) > 0 {
		t.Fatalf("sent to %v before its time", *sent)
	}
	if d.SendLate(start + lateness); !slices.Equal(*sent, []uint64{2}) {
		t.Fatalf("sent to %v, want to the one that has waited for long enough", *sent)
	}
	if due, ok := d.Late(); !ok || due != start+lateness*3/2 {
		t.Fatalf("the other one is due at %v (%t), want %v", due-start, ok, lateness*3/2)
	}
	to := uint64(3)
	if d.later(&raftpb.Message{Type: raftpb.MsgApp.Enum(), To: &to, Entries: []*raftpb.Entry{{}}}) {
		t.Fatal("entries wait")
	}
	if d.SendLate(start + time.Second); len(*sent) != 1 {
		t.Fatalf("sent to %v: entries have said it meanwhile", *sent)
	}
	if _, ok := d.Late(); ok {
		t.Error("something is due")
	}
	d.Mesh = n
}
