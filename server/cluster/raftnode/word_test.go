package raftnode

import (
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence"
)

// A leader leaves with entries that nobody else has, and what it tells of its last commit is
// lost. The other one asks for its vote in vain until it hears of it.
func TestTheOthersHearOfTheCommitThatEndsALeadership(t *testing.T) {
	w, n := ledWorld(t, 30, persistence.SyncAlways, rules{})
	w.run(2 * timeout)
	o, p := w.nodes[n.id%members+1], w.nodes[(n.id+1)%members+1]
	w.removed(p.id)
	w.run(2 * timeout)
	w.late[n.id] = 3 * tick // its acknowledgements are on their way for so long
	if err := n.driver.node.ProposeConfChange(&raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{single(raftpb.ConfChangeRemoveNode, n.id)}}); err != nil {
		t.Fatal(err)
	}
	n.work()
	change, _ := n.driver.Log.LastIndex()
	w.until("the other one has the change", func() bool {
		last, _ := o.driver.Log.LastIndex()
		return last >= change
	})
	w.cut[n.id][o.id] = true
	w.ask(n.id, "a", true)
	w.until("the leader has left", func() bool { return !n.replica.Members().Voter(n.id) })
	if last, _ := n.driver.Log.LastIndex(); last <= change || n.driver.Leading() != 0 || o.replica.Members().Conf.GetVoters() == nil || !o.replica.Members().Voter(n.id) {
		t.Fatalf("the leader has entries up to %d, and the change is %d; the other one knows of %v", last, change, o.replica.Members().Conf)
	}
	w.run(3 * timeout)
	w.late[n.id], w.cut[n.id][o.id] = 0, false
	w.until("the other one leads", func() bool { return o.driver.Leading() != 0 })
	w.write(o, "b")
	w.judge()
	w.close()
}

// What a member is told of an entry counts if its log has that entry, of that term.
func TestAWordCountsForTheEntryThatItIsAbout(t *testing.T) {
	w, n := ledWorld(t, 32, persistence.SyncAlways, rules{})
	w.isolate(n, true)
	w.ask(n.id, "a", true)
	w.run(5 * timeout)
	last, err := n.driver.Log.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	term, err := n.driver.Log.Term(last)
	commit := func() uint64 { return n.driver.node.BasicStatus().HardState.GetCommit() }
	before := commit()
	if err != nil || before == last {
		t.Fatalf("entry %d is committed: %v", last, err)
	}
	for _, c := range []struct {
		index, term uint64
		counts      bool
	}{{last, term + 1, false}, {last, 0, false}, {last + 1, term, false}, {before - 1, term, false}, {last, term, true}} {
		word := &raftpb.Message{Type: kindOfWord.Enum(), From: &w.nodes[n.id%members+1].id, To: &n.id, Index: &c.index, LogTerm: &c.term}
		if err := n.driver.Step(n.clock(), word); err != nil || commit() == last != c.counts {
			t.Errorf("told of entry %d of term %d it has %d as committed: %v; its log ends with entry %d of term %d", c.index, c.term, commit(), err, last, term)
		}
	}
	w.close()
}
