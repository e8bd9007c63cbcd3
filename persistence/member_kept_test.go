package persistence

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/member"
)

// lazyWorld is a world with a leader, whose members force nothing to their devices at once.
func lazyWorld(t *testing.T, segment int64) (w *world, leader *node) {
	w = &world{TB: t, r: rand.New(rand.NewPCG(1, 47)), terms: map[uint64]uint64{}, effects: map[string]int{}, tail: 1 << 30, now: 1000, policy: SyncNever, segment: segment}
	for i := range w.nodes {
		w.nodes[i] = &node{w: w, id: uint64(i + 1), fs: disktest.New()}
		w.nodes[i].open()
	}
	leader, _, _ = lead(t, w)
	return w, leader
}

// share has all members append what the leader has journalled, and apply it.
func (n *node) share() {
	n.propose()
	for behind := true; behind; {
		behind = false
		for _, o := range n.w.nodes {
			if o != n && o.s.Member().Applied() < n.last() {
				n.send(o)
				behind = true
			}
		}
		n.count()
	}
}

// What the members of a group have acknowledged is there when all their processes die at once, also what is longer than a segment.
func TestDeathOfAWholeGroupLosesNothing(t *testing.T) {
	w, leader := lazyWorld(t, 0)
	defer w.close()
	want := map[string]int{}
	for i := range 6 {
		size := 1_500_000
		switch i {
		case 2:
			size = 3 << 20
		case 5:
			size = 10
		}
		want[fmt.Sprint(i)] = size
		leader.put(fmt.Sprint(i), strings.Repeat("v", size))
		leader.share()
	}
	for _, n := range w.nodes {
		last := n.last()
		n.die(0)
		if got := n.last(); got != last {
			t.Fatalf("member %d has %d entries of %d", n.id, got, last)
		}
	}
	w.elect(leader, w.nodes[1])
	leader.share()
	for key, size := range want {
		if got, _ := leader.get(key); len(got) != size {
			t.Errorf("%s has %d bytes, want %d", key, len(got), size)
		}
	}
}

// Entries are forced to the device when many bytes of them are not there, without waiting for a period, and are kept in memory no longer.
func TestSyncComesWhenMuchIsNotOnTheDevice(t *testing.T) {
	w, leader := lazyWorld(t, 64<<20)
	defer w.close()
	m := leader.s.Member()
	most := int64(0)
	for range 20 {
		leader.put("a", strings.Repeat("v", 1_000_000))
		leader.share()
		most = max(most, m.Log().Unsynced())
		leader.commit.Step(false)
		if m.Log().Unsynced() > member.HurriedUnsynced {
			t.Fatal("a step has left the log as it is")
		}
	}
	if most < member.HurriedUnsynced || most > member.HurriedUnsynced+2_000_000 {
		t.Errorf("%d bytes are not on the device at most", most)
	}
	for range 20 { // without a step
		leader.put("a", strings.Repeat("v", 1_000_000))
		var entries []grouplog.Entry
		leader.s.Member().Propose()
		for i, data := range leader.proposed() {
			entries = append(entries, grouplog.Entry{Index: leader.last() + 1 + uint64(i), Term: leader.elected, Type: grouplog.Records, Data: data})
		}
		leader.must(m.Append(entries, nil))
		most = max(most, m.Log().Unsynced())
		leader.must(m.Commit(entries))
	}
	if most < member.MostUnsynced || most > member.MostUnsynced+4_000_000 {
		t.Errorf("%d bytes are not on the device at most, without a task", most)
	}
}

// Values are written when the device has the log up to what they contain, under every policy: a power failure behind a pass, or
// behind what else writes to Pebble, leaves them and their records.
func TestValuesWaitForTheLog(t *testing.T) {
	for what, write := range map[string]func(n *node){
		"a pass":  func(n *node) { materialise(t, n.s) },
		"a purge": func(n *node) { n.must(n.s.purger.Run()) },
		"members": func(n *node) {
			n.must(n.log().SetMembership(grouplog.Membership{Index: n.last(), Members: []byte("members")}))
		},
		"a note of an orderly end": func(n *node) { n.must(n.log().SetBoot(grouplog.Boot{Closed: true})) },
		"a snapshot": func(n *node) {
			n.must(n.s.Snapshot("copy", nil))
			n.must(errors.Join(n.fs.RemoveAll("db"), n.fs.Rename("copy", "db")))
			f, err := n.fs.OpenDir("")
			n.must(err)
			n.must(errors.Join(f.Sync(), f.Close()))
		},
	} {
		w, leader := lazyWorld(t, 0)
		change := func(f func(tx *Tx)) {
			var set Shards
			set.AddAll()
			tx := leader.s.NewTx()
			tx.Lock(&set, w.now)
			tx.Select(1)
			f(tx)
			tx.Commit()
			tx.Unlock()
		}
		change(func(tx *Tx) { tx.SetString([]byte("a"), nil, NoExpiry) })
		leader.share()
		materialise(t, leader.s)
		leader.put("a", "1")
		change(func(tx *Tx) { tx.Databases().Flush(1) })
		leader.share()
		last := leader.last()
		if leader.s.Member().Forced() == last {
			t.Errorf("%s: the log is on the device already", what)
		}
		write(leader)
		leader.crash(0)
		if got := leader.last(); got != last {
			t.Errorf("%s: the log ends with entry %d, want %d", what, got, last)
		}
		w.close()
	}
}

// A member knows whether it may have lost something: it has not if its process died, and its machine was not booted since.
func TestMemberKnowsWhetherItIsWhole(t *testing.T) {
	w, leader := lazyWorld(t, 0)
	defer w.close()
	m := leader.s.Member()
	leader.must(leader.log().SetBoot(grouplog.Boot{ID: m.Boot()}))
	leader.put("a", "1")
	leader.share()
	leader.must(m.Sync())
	last := leader.last()
	leader.put("a", "2")
	leader.share()
	newest := leader.last()
	died := func() *disktest.Disk { return leader.fs.DeathClone("db/log", vfs.CrashCloneCfg{}) }
	failed := func() *disktest.Disk { return leader.fs.CrashClone(vfs.CrashCloneCfg{}) }
	for _, c := range []struct {
		name  string
		disk  *disktest.Disk
		boot  [16]byte
		last  uint64
		whole bool
	}{
		{"the process has died", died(), m.Boot(), newest, true},
		{"the machine has failed", failed(), [16]byte{8}, last, false},
		{"the machine was booted, and has forgotten nothing", died(), [16]byte{8}, newest, false},
		{"a system that does not tell boots apart", died(), [16]byte{}, newest, false},
	} {
		s := openMemory(t, Options{FS: c.disk, Databases: modelDBs, IdleAfter: -1, Sync: SyncNever, Replicator: leader, Boot: c.boot})
		if _, got := s.Member().Log().Bounds(); got != c.last || s.Member().Whole() != c.whole || s.Member().Boot() != c.boot {
			t.Errorf("%s: %d entries and whole %v, want %d and %v", c.name, got, s.Member().Whole(), c.last, c.whole)
		}
		s.Member().Resign()
		closeStore(t, s)
	}
}
