package raftnode

import (
	"errors"
	"testing"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/grouplog"
)

// A member ignores what no member may ask of another one.
func TestPeersAskForNothingThatIsTheDriversOwn(t *testing.T) {
	w := newWorld(t, 6, persistence.SyncAlways, rules{})
	n := w.elected()
	term := n.driver.Leading()
	peer := n.id%members + 1
	w.write(n, "a")
	for kind := raftpb.MessageType(0); kind < 40; kind++ {
		switch kind {
		case raftpb.MsgApp, raftpb.MsgAppResp, raftpb.MsgHeartbeat, raftpb.MsgHeartbeatResp, raftpb.MsgVote, raftpb.MsgVoteResp,
			raftpb.MsgPreVote, raftpb.MsgPreVoteResp, raftpb.MsgTimeoutNow:
			continue
		}
		kind, high := kind, term+9
		m := &raftpb.Message{Type: &kind, From: &peer, To: &n.id, Term: &high, Context: []byte("x"),
			Entries: []*raftpb.Entry{{Data: []byte("x")}}, Snapshot: &raftpb.Snapshot{}}
		if err := n.driver.Step(n.clock(), m); err != nil {
			t.Errorf("message %v: %v", kind, err)
		}
		n.work()
	}
	if err := n.driver.Step(n.clock(), &raftpb.Message{To: &peer}); err == nil {
		t.Error("a message for another member was taken")
	}
	if n.driver.Leading() != term {
		t.Error("the leadership has ended")
	}
	n.driver.Transfer(n.clock(), 99)
	n.driver.Transfer(n.clock(), n.id)
	if !n.serves() {
		t.Error("a transfer to nobody has ended the lease")
	}
	w.settle()
	w.close()
}

// A transfer that the other member does not hear of ends with an election.
func TestATransferThatFailsEndsTheLeadership(t *testing.T) {
	w, n := ledWorld(t, 7, persistence.SyncAlways, rules{})
	term, to := n.driver.Leading(), n.id%members+1
	w.cut[n.id][to] = true
	n.driver.Transfer(n.clock(), to)
	n.work()
	w.until("another leadership", func() bool { return w.leader() != nil && w.leader().driver.Leading() > term })
	w.write(w.leader(), "a")
	w.settle()
	w.judge()
	w.close()
}

// However many rounds a leadership leaves without a reply, the next one gets a lease.
func TestRoundsOfAnEndedLeadershipTakeNoPlace(t *testing.T) {
	w, n := ledWorld(t, 10, persistence.SyncAlways, rules{})
	w.run(2 * timeout)
	w.isolate(n, true)
	for range maxRounds {
		n.driver.Renew(n.clock())
	}
	w.until("it is deposed", func() bool { return n.driver.Leading() == 0 })
	w.isolate(n, false)
	w.until("it leads again", func() bool {
		if l := w.leader(); l != nil && l != n {
			l.driver.Transfer(l.clock(), n.id)
			l.work()
		}
		return n.serves()
	})
	w.settle()
	w.judge()
	w.close()
}

// What is proposed for an ended leadership goes, and what raft does not take stays, in order.
func TestProposalsKeepTheirOrderAndTheirTerm(t *testing.T) {
	var p Proposals
	for i := range byte(3) {
		if err := p.Propose(5, []byte{i}); err != nil {
			t.Fatal(err)
		}
	}
	var got []byte
	p.take(5, func(data []byte) error {
		if len(got) == 1 {
			return raft.ErrProposalDropped
		}
		got = append(got, data...)
		return nil
	})
	p.take(5, func(data []byte) error { got = append(got, data...); return nil })
	if string(got) != "\x00\x01\x02" {
		t.Errorf("taken: %v", got)
	}
	for i := range maxProposals + 1 {
		if err := p.Propose(5, nil); (err != nil) != (i == maxProposals) {
			t.Errorf("proposal %d: %v", i, err)
		}
	}
	p.take(6, func([]byte) error { t.Error("a proposal of term 5 is taken in term 6"); return nil })
	if err := p.Propose(6, nil); err != nil {
		t.Error(err)
	}
}

// Entries keep their types in the log, and types that nobody knows are refused.
func TestEntriesKeepTheirTypes(t *testing.T) {
	one := uint64(1)
	for _, kind := range []raftpb.EntryType{raftpb.EntryNormal, raftpb.EntryConfChange, raftpb.EntryConfChangeV2} {
		for _, data := range [][]byte{nil, []byte("x")} {
			there, err := toEntries([]*raftpb.Entry{{Index: &one, Term: &one, Type: &kind, Data: data}})
			if err != nil {
				t.Fatal(err)
			}
			back, err := fromEntry(&there[0])
			if err != nil || back.GetType() != kind || string(back.GetData()) != string(data) || back.GetIndex() != 1 || back.GetTerm() != 1 {
				t.Errorf("%v with %q: %v, %v", kind, data, back, err)
			}
		}
	}
	strange := raftpb.EntryType(9)
	if _, err := toEntries([]*raftpb.Entry{{Type: &strange}}); !errors.Is(err, grouplog.ErrCorrupt) {
		t.Errorf("type 9 of raft: %v", err)
	}
	if _, err := fromEntry(&grouplog.Entry{Type: 9}); !errors.Is(err, grouplog.ErrCorrupt) {
		t.Errorf("type 9 on disk: %v", err)
	}
}

// A member that ended without order, when entries are not synced at once, neither votes nor
// campaigns until it has caught up; and one that ended in order does.
func TestAMemberThatMayHaveLostEntriesWaits(t *testing.T) {
	w, n := ledWorld(t, 8, persistence.SyncEverySecond, rules{})
	a, b := w.nodes[n.id%members+1], w.nodes[(n.id+1)%members+1]
	a.stop(false)
	n.stop(true)
	a.start()
	w.run(20 * timeout)
	if w.leader() != nil || !a.replica.Lost() {
		t.Errorf("two members of which one has lost entries elect %v", w.leader())
	}
	a.stop(true) // which forgets nothing of that
	a.start()
	w.run(20 * timeout)
	if w.leader() != nil || !a.replica.Lost() {
		t.Errorf("after another start they elect %v", w.leader())
	}
	n.start()
	w.until("it has caught up", func() bool { return !a.replica.Lost() })
	n.stop(true)
	w.write(w.elected(), "a")
	w.settle()
	if b.replica.Lost() || n.replica.Lost() {
		t.Error("a member that ended in order has lost something")
	}
	w.judge()
	w.close()
}

// What such a member gets of former terms may lack what it has acknowledged: only an entry
// of a term that began after its loss shows that it is whole.
func TestOnlyAnEntryOfALaterTermShowsThatNothingIsMissing(t *testing.T) {
	w, n := ledWorld(t, 9, persistence.SyncEverySecond, rules{})
	w.settle()
	a := w.nodes[n.id%members+1]
	w.isolate(a, true)
	a.stop(false)
	a.start()
	kind, term := raftpb.MsgApp, a.driver.lost
	append := func(of uint64) {
		_, last := a.store.Member().Log().Bounds()
		before, err := a.store.Member().Log().Term(last)
		if err != nil {
			t.Fatal(err)
		}
		next := last + 1
		if err := a.driver.Step(a.clock(), &raftpb.Message{Type: &kind, From: &n.id, To: &a.id, Term: &term, Index: &last, LogTerm: &before,
			Entries: []*raftpb.Entry{{Index: &next, Term: &of}}, Commit: &next}); err != nil {
			t.Fatal(err)
		}
		a.work()
		if got := a.store.Member().Applied(); got != next {
			t.Fatalf("%d is applied, want %d", got, next)
		}
	}
	hand := raftpb.MsgTimeoutNow
	if err := a.driver.Step(a.clock(), &raftpb.Message{Type: &hand, From: &n.id, To: &a.id, Term: &term}); err != nil {
		t.Fatal(err)
	}
	a.work()
	if got := a.store.Member().Log().State().Term; got != term {
		t.Errorf("asked to take over it campaigns in term %d", got)
	}
	if append(term - 1); !a.replica.Lost() {
		t.Error("an entry of the term before shows nothing")
	}
	if append(term); a.replica.Lost() {
		t.Error("an entry of the term that it has begun is enough")
	}
	w.close()
}
