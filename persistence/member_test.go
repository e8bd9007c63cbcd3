package persistence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/sweep"
	"github.com/vigildb/vigil/structures/list"
	"github.com/vigildb/vigil/structures/testscale"
)

// seeds is what a test runs with: n seeds, or with VIGIL_SEEDS=from,to others.
func seeds(t testing.TB, n uint64) (from, to uint64) {
	t.Helper()
	s, ok := os.LookupEnv("VIGIL_SEEDS")
	if !ok {
		return 0, n
	}
	if _, err := fmt.Sscanf(s, "%d,%d", &from, &to); err != nil {
		t.Fatalf("VIGIL_SEEDS=%s: %v", s, err)
	}
	return from, to
}

// Whatever members do and whatever happens to them, by the rules of Raft: what was
// confirmed is with a majority, and no member ever has another state in memory than the one
// that a leader had behind that record, be it by following, by rolling back or by starting again.
func TestMembersAgreeAndConfirmWhatIsCommitted(t *testing.T) {
	indexPages(t)
	effects := map[string]int{}
	from, to := seeds(t, testscale.Rounds(uint64(8)))
	for seed := from; seed < to; seed++ {
		runWorld(t, seed, effects)
	}
	t.Logf("effects: %v", effects)
	for _, what := range []string{"write", "reply", "election", "roll back", "crash", "death", "pass", "pass that waits", "refusal", "spill", "snapshot", "frozen copy", "told record", "lost feed"} {
		if to-from >= 8 && effects[what] < 3 { // of a dozen and more as a rule: goroutines come in any order
			t.Errorf("%s happened %d times, want 3", what, effects[what])
		}
	}
}

func runWorld(t testing.TB, seed uint64, effects map[string]int) {
	t.Helper()
	w := newWorld(t, seed, []int64{1, 1 << 30, 1 << 10, 1}[seed%4])
	w.effects, w.policy = effects, []SyncPolicy{SyncAlways, SyncEverySecond, SyncNever}[seed%3]
	for _, n := range w.nodes {
		n.s.SetSync(w.policy)
	}
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed) // and shards may be locked
			return
		}
		w.close()
	}()
	away := 3 // the member that hears of no other
	for i := range 1500 {
		n, o := w.nodes[w.r.IntN(3)], w.nodes[w.r.IntN(3)]
		if i%300 == 0 {
			away = w.r.IntN(6)
		}
		switch k := w.r.IntN(40); {
		case k < 14:
			if n.leads {
				n.transact()
			}
		case k < 20:
			n.propose()
		case k < 32:
			if i := slices.Index(w.nodes[:], n); i != away && w.nodes[min(away, 2)] != o || away > 2 {
				n.send(o)
			}
			n.count()
		case k == 32 && n.leads && o.elected == 0 && o.log().State().Term <= n.elected:
			n.give(o)
		case k < 34:
			if w.r.IntN(3) == 0 || w.term == 0 {
				w.elect(n, o)
			}
		case k == 34:
			if w.r.IntN(2) == 0 {
				n.know()
			}
			if n.materialise(); w.r.IntN(3) == 0 {
				n.crash(w.r.IntN(2) * 50) // values are there, and so must be what they are of
			}
		case k == 35:
			n.s.eviction.Set(1, eviction.Spill, 5)
			n.s.eviction.MakeRoom()
			n.s.eviction.Set(pagedLimit(n.id), eviction.Spill, 5)
			effects["spill"]++
		case k == 36:
			switch w.r.IntN(14) {
			case 12, 13:
				n.freeze()
			case 0, 1, 2:
				n.crash(w.r.IntN(3) * 50)
			case 3, 4:
				n.die(w.r.IntN(3) * 50)
			case 5:
				for _, n := range w.nodes {
					n.die(w.r.IntN(2) * 50)
				}
			}
		case k == 37:
			n.setRefuse(w.r.IntN(2) == 0)
			effects["refusal"]++
		case k == 38:
			evictEverything(n.s)
		default:
			n.expire()
		}
		if n.checkFeed(); w.r.IntN(20) == 0 {
			n.feed()
		}
		n.confirm()
		o.confirm()
	}
	w.settle()
}

// lead makes the first member of a new world the leader, with all entries everywhere.
func lead(t testing.TB, w *world) (leader, other, third *node) {
	t.Helper()
	w.states = nil
	leader, other, third = w.nodes[0], w.nodes[1], w.nodes[2]
	w.elect(leader, other)
	for range 2 {
		for _, n := range w.nodes {
			leader.send(n)
		}
		leader.count()
	}
	if !leader.leads {
		t.Fatal("there is no leader")
	}
	return leader, other, third
}

// put sets a key and returns the position of the record.
func (n *node) put(key, value string) (position uint64) {
	var set Shards
	set.AddAll()
	tx := n.s.NewTx()
	tx.Lock(&set, n.w.now)
	defer tx.Unlock()
	tx.SetString([]byte(key), []byte(value), NoExpiry)
	return tx.Commit()
}

// get reads a key, and returns the position on which the reply depends.
func (n *node) get(key string) (value string, position uint64) {
	var set Shards
	set.AddAll()
	tx := n.s.NewTx()
	tx.Lock(&set, n.w.now)
	defer tx.Unlock()
	b, _, err := tx.String([]byte(key))
	n.must(err)
	return string(b), tx.Seen()
}

// A reply of a deposed leader is not sent for the new leader's record of the same number,
// neither of a write nor of a read of it.
func TestDeposedLeaderConfirmsNothingOfAnother(t *testing.T) {
	w := newWorld(t, 1, 1<<30)
	defer w.close()
	old, other, third := lead(t, w)
	wrote := old.put("a", "old")
	value, read := old.get("a")
	waiting := make(chan error, 1)
	go func() { waiting <- old.s.commits.WaitDurable(wrote) }()
	old.propose()
	if value != "old" || old.s.commits.Confirmed(wrote) || old.s.commits.Confirmed(read) {
		t.Fatalf("read %q, confirmed %v and %v", value, old.s.commits.Confirmed(wrote), old.s.commits.Confirmed(read))
	}
	w.elect(other, third)
	other.send(third)
	other.count()
	for range 3 {
		other.put("a", "new")
		other.put("b", "new")
		other.propose()
		other.send(third)
		other.count()
	}
	for range 20 {
		other.send(old)
	}
	if err := <-waiting; err == nil {
		t.Error("a write that was given up was confirmed")
	}
	if err := old.s.commits.WaitDurable(read); err == nil || old.s.commits.Confirmed(wrote) || old.s.commits.Confirmed(read) {
		t.Errorf("confirmed: write %v, read %v, %v", old.s.commits.Confirmed(wrote), old.s.commits.Confirmed(read), err)
	}
	value, read = old.get("a")
	if value != "new" || !old.s.commits.Confirmed(read) {
		t.Errorf("read %q, confirmed: %v", value, old.s.commits.Confirmed(read))
	}
	if later := other.put("c", "1"); old.s.commits.Confirmed(max(wrote, later)) {
		t.Error("what depends on what was given up is confirmed with something later")
	}
}

// Values with records that are not committed are not written, however long that lasts, and a
// leader without a majority gives them up.
func TestValuesWaitForTheCommit(t *testing.T) {
	w := newWorld(t, 1, 1<<30)
	defer w.close()
	old, other, third := lead(t, w)
	old.put("a", "old")
	old.propose()
	old.materialise()
	w.elect(other, third)
	other.send(third)
	other.count()
	other.send(old)
	other.send(old)
	if value, _ := old.get("a"); value != "" {
		t.Errorf("after the rollback a is %q", value)
	}
	if it := headsOf(t, old.s); it > 0 {
		t.Errorf("%d heads are on disk", it)
	}
	old.crash(100)
	if value, _ := old.get("a"); value != "" {
		t.Errorf("after a restart a is %q", value)
	}
}

// headsOf counts the heads on disk.
func headsOf(t testing.TB, s *Store) (n int) {
	t.Helper()
	it, err := s.files.Disk.DB.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for it.SeekGE(format.AppendGroup(nil, format.PrefixHead)); it.Valid() && it.Key()[0] == format.PrefixHead; it.Next() {
		n++
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

// What values on disk contain stays committed after a crash, although the engine has not written so.
func TestValuesOutliveACommitThatWasNotWritten(t *testing.T) {
	w := newWorld(t, 1, 1)
	defer w.close()
	n, other, _ := lead(t, w)
	n.put("a", "1")
	n.propose()
	n.send(other)
	n.count()
	if got := n.log().State().Commit; got != 0 {
		t.Fatalf("entry %d is known to be committed", got)
	}
	n.materialise()
	n.stop()
	n.open()
	if value, _ := n.get("a"); value != "1" || n.s.Member().Applied() != n.last() {
		t.Errorf("a is %q, entry %d of %d is applied", value, n.s.Member().Applied(), n.last())
	}
}

// A member keeps as much of the log as the others may ask for, and what it needs itself.
func TestMemberKeepsATailOfTheLog(t *testing.T) {
	for _, tail := range []int64{1, 100 << 10} {
		w := newWorld(t, 1, tail)
		n, other, third := lead(t, w)
		for range 10 {
			n.put("a", strings.Repeat("x", 40<<10))
			n.propose()
			n.send(other)
			n.count()
		}
		n.must(n.s.Member().Append(nil, &grouplog.HardState{Term: n.elected, Vote: n.id, Commit: n.last()}))
		n.put("b", "1")
		n.propose()
		n.send(other)
		n.count()
		n.materialise()
		first, last := n.log().Bounds()
		if want := last - uint64(tail/(40<<10)) - 1; first < want || first > last {
			t.Errorf("with a tail of %d bytes entries %d to %d are left, want those from %d", tail, first, last, want)
		}
		if tail > 1 {
			n.send(third)
		}
		w.close()
	}
}

// A follower deletes nothing: neither what is over, nor for memory, nor by a transaction.
func TestFollowerChangesNothingByItself(t *testing.T) {
	w := newWorld(t, 1, 1<<30)
	defer w.close()
	n, other, _ := lead(t, w)
	var set Shards
	set.AddAll()
	tx := n.s.NewTx()
	tx.Lock(&set, w.now)
	if !tx.Writable() || n.s.WriteError() != nil {
		t.Errorf("the leader may write: %v, %v", tx.Writable(), n.s.WriteError())
	}
	tx.SetString([]byte("a"), []byte("1"), Expiry(w.now+10))
	tx.Commit()
	tx.Unlock()
	n.propose()
	n.send(other)
	n.count()
	n.send(other)
	materialise(t, other.s)
	for range 2 { // in memory, and on disk only
		w.now += 1000
		before := other.s.commits.Journal.Newest()
		if got := other.s.ExpireCycle(w.now, 1e9); got != 0 {
			t.Errorf("%d keys expired on a follower", got)
		}
		if value, _ := other.get("a"); value != "" {
			t.Errorf("a follower has %q of a key that is over", value)
		}
		other.s.eviction.Set(1, eviction.AllKeysLRU, 5)
		other.s.eviction.MakeRoom()
		other.s.eviction.Set(0, eviction.Spill, 5)
		if got := other.s.commits.Journal.Newest(); got != before || headsOf(t, other.s) != 1 {
			t.Errorf("record %d follows %d, %d heads are on disk", got, before, headsOf(t, other.s))
		}
		other.s.eviction.Set(1, eviction.Spill, 5)
		other.s.eviction.MakeRoom()
	}
	if err := other.s.WriteError(); !errors.Is(err, ErrNotLeader) {
		t.Errorf("a follower may write: %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a follower recorded a change")
			}
		}()
		tx := other.s.NewTx()
		if tx.Lock(&Shards{}, w.now); tx.Writable() {
			t.Error("a transaction of a follower may write")
		}
		tx.rec.Op(format.OpDelete, 0)
		tx.Commit()
	}()
	if w.elect(other, n); other.elected == 0 {
		t.Fatal("not elected")
	}
	other.send(n)
	other.count()
	if got := other.s.ExpireCycle(w.now+2*sweep.LeaderDelay, 1e9); got != 1 {
		t.Errorf("%d keys expired on the new leader, want 1", got)
	}
}

// An entry about no key, such as a change of a user, follows one that is not the same if it is applied twice.
func TestFollowerAppliesAnEntryOnceBeforeOneThatIsAboutNoKey(t *testing.T) {
	w := newWorld(t, 1, 1<<30)
	defer w.close()
	n, other, _ := lead(t, w)
	change := func(f func(tx *Tx)) {
		var set Shards
		set.AddAll()
		tx := n.s.NewTx()
		tx.Lock(&set, w.now)
		f(tx)
		tx.Commit()
		tx.Unlock()
		n.propose()
		n.send(other)
		n.count()
		n.send(other)
	}
	for i := range 3 {
		change(func(tx *Tx) {
			l, ch, _, err := Edit(tx, []byte("l"), list.New)
			if err != nil {
				t.Fatal(err)
			}
			l.Push(ch, list.Tail, []byte("element"))
		})
		change(func(tx *Tx) { tx.Texts(Users).Set(fmt.Sprint("user", i), "on") })
	}
	all(other.s, w.now, func(tx *Tx) {
		if l, ok, err := View[*list.List](tx, []byte("l")); !ok || err != nil || l.Len() != 3 {
			t.Errorf("3 elements were pushed: %v, %v, %v", l, ok, err)
		}
	})
}

// A store is a member for its whole life or never, and has its databases from the start.
func TestMembersAreMadeInAGroup(t *testing.T) {
	for _, grouped := range []bool{false, true} {
		fs := vfs.NewMem()
		o := Options{FS: fs, Databases: 2}
		if grouped {
			o.Replicator = &node{}
		}
		closeStore(t, openMemory(t, o))
		closeStore(t, openMemory(t, o))
		o.Dir = "db"
		if o.Databases = 3; grouped {
			if _, err := Open(o); !errors.Is(err, ErrMember) {
				t.Errorf("a member with another database: %v", err)
			}
		}
		if o.Replicator = nil; !grouped {
			o.Replicator = &node{}
		}
		if _, err := Open(o); !errors.Is(err, ErrMember) {
			t.Errorf("opened as a member: %v, made as one: %v: %v", !grouped, grouped, err)
		}
	}
}

// What no correct engine asks for is refused, and changes nothing.
func TestMemberRefusesWhatIsOutOfOrder(t *testing.T) {
	w := newWorld(t, 1, 1<<30)
	defer w.close()
	n, other, third := lead(t, w)
	n.put("a", "1")
	n.propose()
	n.send(other)
	n.count()
	next := n.last() + 1
	entry := func(index, term uint64) []grouplog.Entry {
		return []grouplog.Entry{{Index: index, Term: term, Type: 2}}
	}
	for what, err := range map[string]error{
		"an entry of another term for a leader": n.s.Member().Append(entry(next, n.elected+1), nil),
		"an entry that was applied":             n.s.Member().Append(entry(next-1, n.elected), nil),
		"a commit of what is not in the log":    other.s.Member().Commit(entry(other.s.Member().Applied()+5, 1)),
		"a commit with a gap":                   n.s.Member().Commit(entry(next+1, n.elected)),
		"a second leadership":                   n.s.Member().Lead(n.elected + 1),
		"a leadership behind the log":           other.s.Member().Lead(n.elected),
	} {
		if err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	old := n.put("b", "1")
	n.propose()
	bad := make([]byte, 30)
	binary.LittleEndian.PutUint64(bad, 99)
	if err := third.s.Member().Append([]grouplog.Entry{{Index: third.last() + 1, Term: n.elected, Type: grouplog.Records, Data: bad}}, nil); !errors.Is(err, grouplog.ErrCorrupt) {
		t.Errorf("a damaged chunk: %v", err)
	}
	if n.s.commits.Confirmed(old) {
		t.Error("a record without a majority is confirmed")
	}
}
