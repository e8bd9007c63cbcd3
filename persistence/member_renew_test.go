package persistence

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/member"
)

// unused returns what a store shows that is not as if it had never been used.
func (n *node) unused(identity string) string {
	first, last := n.log().Bounds()
	switch m := n.s.Member(); {
	case first != 1 || last != 0 || m.Applied() != 0:
		return "the log has entries"
	case n.log().State() != grouplog.HardState{}:
		return "the log has a state"
	case n.log().Membership().Index != 0 || len(n.log().Membership().Members) > 0:
		return "there are members"
	case string(n.log().Identity()) != identity:
		return "the identity is " + string(n.log().Identity())
	case memberHost{n.s}.AnyKeys(0) || len(n.s.Texts(Libraries))+len(n.s.Texts(Users))+len(n.s.Texts(Directives))+len(n.s.Texts(Moves)) > 0:
		return "there are keys or texts"
	case n.s.commits.Journal.Newest() != 0 || n.s.commits.Synced() != 0:
		return "there are records"
	case n.s.passes.Trimmed.Load() != 0 || !n.looksForExpiries():
		return "something is known of the former store"
	}
	return ""
}

// looksForExpiries reports that the store does not know when the next list of expiries is due.
func (n *node) looksForExpiries() bool {
	due, _ := n.s.expiries.Due(0, 0)
	return due
}

// A leader that has keys keeps all that it has, unless they may go. Then it is a new member: it takes
// the state of another leader in, with numbers that its former self had, and nothing that it
// acknowledged then is confirmed by that.
func TestRenewedStoreIsOneOfANewMember(t *testing.T) {
	w, leader, _ := ahead(t)
	defer w.close()
	m := leader.s.Member()
	e, b := leader.stream()
	if err := m.Renew([]byte("other"), true); !errors.Is(err, grouplog.ErrCorrupt) {
		t.Errorf("a leader: %v", err)
	}
	position := leader.put("mine", "1")
	leader.must(m.Log().SetIdentity([]byte("self")))
	leader.leads, leader.elected = false, 0
	leader.must(m.Follow())
	_, mark := leader.s.expiries.Due(0, 0)
	leader.s.expiries.Set(0, 5, mark)
	if err := m.Renew([]byte("other"), false); !errors.Is(err, member.ErrNotEmpty) || leader.s.WriteError() != ErrNotLeader {
		t.Errorf("a store with keys: %v, then %v", err, leader.s.WriteError())
	}
	leader.has(t, true)
	if got := leader.unused("self"); got != "the log has entries" {
		t.Errorf("after a refusal: %q", got)
	}
	leader.must(m.Renew([]byte("other"), true))
	if got := leader.unused("other"); got != "" {
		t.Error(got)
	}
	if got, _ := leader.get("kept"); got != "" {
		t.Errorf("a key is still there: %q", got)
	}

	in, err := leader.receive(b)
	leader.must(err)
	leader.must(m.Restore(in, grouplog.HardState{Term: e.Term, Commit: e.Index}))
	leader.has(t, true)
	if leader.s.commits.Confirmed(position) {
		t.Error("a change of its former life is confirmed")
	}
	leader.replace(leader.fs.CrashClone(vfs.CrashCloneCfg{}))
	leader.has(t, true)
	if got := string(leader.log().Identity()); got != "other" {
		t.Errorf("after a start it is %q", got)
	}
}

// A leader of a group that a renewed store founds confirms what is committed, and nothing earlier, though
// the store had more records before.
func TestRenewedStoreCountsFromTheBeginning(t *testing.T) {
	w, leader, _ := ahead(t)
	defer w.close()
	m := leader.s.Member()
	leader.leads = false
	leader.must(m.Follow())
	leader.must(m.Renew([]byte("x"), true))
	entries := []grouplog.Entry{{Index: 1, Term: 9, Type: 2}}
	leader.must(m.Append(entries, &grouplog.HardState{Term: 9, Vote: leader.id, Commit: 1}))
	leader.must(m.Commit(entries))
	leader.must(m.Lead(9))
	position := leader.put("a", "1")
	if Record(position) != 1 || leader.s.commits.Confirmed(position) {
		t.Errorf("record %d, confirmed %v before it is committed", Record(position), leader.s.commits.Confirmed(position))
	}
	leader.elected = 9
	leader.commit.Step(false)
	data := leader.proposed()
	if len(data) != 1 {
		t.Fatalf("%d entries are proposed", len(data))
	}
	entries = []grouplog.Entry{{Index: 2, Term: 9, Type: grouplog.Records, Data: data[0]}}
	leader.must(m.Append(entries, nil))
	leader.must(m.Commit(entries))
	if !leader.s.commits.Confirmed(position) {
		t.Error("what is committed is not confirmed")
	}
	leader.must(m.Append(nil, &grouplog.HardState{Term: 9, Vote: leader.id, Commit: 2}))
	leader.must(m.Follow())
	leader.replace(leader.fs)
	if got, _ := leader.get("a"); got != "1" {
		t.Errorf("after a start: %q", got)
	}
	leader.elected = 0
}

// Wherever the disk fails while a store is renewed, or the power does, it is the former one afterwards or a new
// one.
func TestStoreIsRenewedAsAWholeOrNotAtAll(t *testing.T) {
	w, _, lags := ahead(t)
	defer w.close()
	lags.must(lags.log().SetIdentity([]byte("self")))
	disk := lags.fs.CrashClone(vfs.CrashCloneCfg{})
	former, newer := 0, 0
	for mode := range 3 {
		for at, over := int64(1), false; !over; at++ {
			n := &node{w: w, id: lags.id, fs: disk.CrashClone(vfs.CrashCloneCfg{})}
			br := &breaking{fs: n.fs, fails: mode == 0, unsaved: (mode - 1) * 50}
			open := func(fsys vfs.FS) {
				n.s = openMemory(t, Options{FS: fsys, Databases: modelDBs, Seed: n.id, IdleAfter: -1, Sync: SyncAlways, Replicator: n, Tail: 1,
					Background: func(task Task) { n.commit = task }})
			}
			open(errorfs.Wrap(n.fs, br))
			br.at.Store(at)
			err := n.s.Member().Renew([]byte("other"), true)
			over = br.now.Load() < at
			br.at.Store(0)
			if mode > 0 && err != nil {
				t.Fatal(err)
			}
			if br.kept == nil {
				br.kept = n.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(uint64(at), 5))})
			}
			_ = n.s.Close()
			n.fs = br.kept
			open(n.fs)
			switch identity := string(n.log().Identity()); {
			case identity == "self":
				if n.has(t, false); err == nil && over {
					t.Errorf("mode %d, operation %d: it is the former one without an error", mode, at)
				}
				former++
			default:
				if got := n.unused("other"); got != "" {
					t.Errorf("mode %d, operation %d: %s", mode, at, got)
				}
				newer++
			}
			closeStore(t, n.s)
		}
	}
	t.Logf("%d times the former store, %d times a new one", former, newer)
	if former < 3 || newer < 3 {
		t.Errorf("%d times the former store and %d times a new one: the faults do not meet it", former, newer)
	}
}
