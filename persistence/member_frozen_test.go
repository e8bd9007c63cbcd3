package persistence

import (
	"testing"

	"github.com/vigildb/vigil/persistence/grouplog"
)

// freeze compares a frozen copy of a member with what the leader had behind its last record. Its log may say of less that it is committed.
func (n *node) freeze() {
	s := n.s
	if s.commits.Journal.Newest() > s.commits.Synced() || n.lost || n.elected != 0 && !n.leads || s.DiskError() != nil {
		return // it would wait
	}
	want := n.newest()
	commit := n.commit
	f, err := s.Freeze()
	n.commit = commit // that of the copy has nothing to do
	if err != nil {
		n.w.effects["copy that failed"]++
		return // the disk
	}
	if f.Record() != want.lsn {
		n.w.Fatalf("member %d: a frozen copy has record %d last, the member %d", n.id, f.Record(), want.lsn)
	}
	if n.w.states != nil {
		st := n.w.stateOf(n, want)
		m := st.m.clone()
		if diff := m.weakDiff(f.s); diff != "" {
			n.w.Fatalf("member %d: a frozen copy as of record %d of term %d: %s", n.id, want.lsn, want.term, diff)
		}
	}
	n.must(f.Close())
	n.w.effects["frozen copy"]++
}

// groupFeed is a feed of a member: it has all records of the leadership in which it began, and nothing else.
type groupFeed struct {
	n    *node
	term uint64
	last uint64
	lost bool
}

// feed begins a feed, which only a leader has.
func (n *node) feed() {
	if n.fed != nil && !n.fed.lost {
		return
	}
	f := &groupFeed{n: n, term: n.elected}
	lsn, err := n.s.StartFeed(f, FeedOptions{})
	if (err == nil) != n.leads {
		n.w.Fatalf("member %d, leads %v: a feed begins: %v", n.id, n.leads, err)
	}
	if err == nil {
		f.last, n.fed = lsn, f
	}
}

// Record implements Feed.
func (f *groupFeed) Record(lsn uint64, _ Told) {
	if f.lost || f.term != f.n.elected || lsn != f.last+1 {
		f.n.w.Errorf("member %d, term %d: a feed of term %d, lost %v, is told record %d behind %d", f.n.id, f.n.elected, f.term, f.lost, lsn, f.last)
	}
	f.last = lsn
	f.n.w.effects["told record"]++
}

// Lost implements Feed.
func (f *groupFeed) Lost(string) {
	f.lost = true
	f.n.w.effects["lost feed"]++
}

// checkFeed compares what a feed was told with what the leader has recorded.
func (n *node) checkFeed() {
	f := n.fed
	switch {
	case f == nil || f.lost:
	case !n.leads || n.elected != f.term:
		n.w.Fatalf("member %d, term %d, leads %v, has a feed of term %d", n.id, n.elected, n.leads, f.term)
	case f.last != n.s.commits.Journal.Newest():
		n.w.Fatalf("member %d: the feed was told up to record %d of %d", n.id, f.last, n.s.commits.Journal.Newest())
	}
}

// A copy of a member has what is committed, though the log does not say so yet, and nothing that is not.
func TestFrozenCopyOfAMemberHasWhatIsCommitted(t *testing.T) {
	w := newWorld(t, 1, 1<<30)
	defer w.close()
	leader, other, _ := lead(t, w)
	leader.put("a", "1")
	leader.propose()
	leader.send(other)
	leader.count()
	if noted := leader.log().State().Commit; noted >= leader.s.Member().Applied() {
		t.Fatalf("entry %d of %d is noted: the test shows nothing", noted, leader.s.Member().Applied())
	}
	f, err := leader.s.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	wantKeys(t, f, 1)
	if at := f.s.Member().Log().State(); at != (grouplog.HardState{Term: at.Term, Vote: at.Vote, Commit: leader.s.Member().Applied()}) {
		t.Errorf("the copy says %+v", at)
	}
	if f.s.WriteError() == nil {
		t.Error("a copy takes writes")
	}
}

func wantKeys(t *testing.T, f *Frozen, want int64) {
	t.Helper()
	if n := f.Keys(0); n != want {
		t.Errorf("%d keys, want %d", n, want)
	}
}
