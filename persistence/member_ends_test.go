package persistence

import (
	"bytes"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence/grouplog"
)

// A record of a megabyte, which the store has where it stands, is one entry: a follower, a
// leader that gives it up and a start have what is committed of it.
func TestBigRecordsOfAGroup(t *testing.T) {
	w := newWorld(t, 1, 1<<30)
	defer w.close()
	old, other, third := lead(t, w)
	give := func(n *node, c string) uint64 {
		var position uint64
		var set Shards
		set.AddAll()
		tx := n.s.NewTx()
		tx.Lock(&set, w.now)
		defer tx.Unlock()
		tx.GiveString([]byte("big"), bytes.Repeat([]byte(c), bigRecord), NoExpiry)
		position = tx.Commit()
		return position
	}
	spread := func(n *node, to ...*node) {
		for range 2 {
			n.propose()
			for _, o := range to {
				n.send(o)
			}
			n.count()
		}
	}
	wrote := give(old, "a")
	spread(old, other, third)
	if err := old.s.commits.WaitDurable(wrote); err != nil {
		t.Fatal(err)
	}
	give(old, "b")
	give(old, "c")
	old.propose()
	give(old, "d")
	w.elect(other, third)
	spread(other, third, old)
	for _, n := range w.nodes {
		if value, _ := n.get("big"); value != strings.Repeat("a", bigRecord) {
			t.Errorf("member %d has %d bytes, which begin with %.3q", n.id, len(value), value)
		}
		if n.s.commits.Journal.PendingBig() != 0 || n.s.commits.Journal.Pending() != 0 {
			t.Errorf("member %d waits to hand over %d and %d bytes", n.id, n.s.commits.Journal.PendingBig(), n.s.commits.Journal.Pending())
		}
	}
	give(other, "e")
	spread(other, third, old)
	old.must(old.log().Append(nil, &grouplog.HardState{Term: other.elected, Commit: old.s.Member().Applied()}, true))
	old.crash(0)
	if value, _ := old.get("big"); value != strings.Repeat("e", bigRecord) {
		t.Errorf("after a start there are %d bytes, which begin with %.3q", len(value), value)
	}
}

// A member whose disk fails says so and confirms nothing; closed and opened again, it has
// what was committed, and takes part again.
func TestMemberWithAFailingDiskEndsInOrder(t *testing.T) {
	for _, leads := range []bool{true, false} {
		w := newWorld(t, 1, 1<<30)
		n, other, third := lead(t, w)
		n.put("a", "1")
		for range 2 {
			n.propose()
			n.send(other)
			n.send(third)
			n.count()
		}
		wrote := n.put("a", "2")
		failing := other
		if leads {
			failing = n
		}
		failing.disk.full.Store(true)
		if leads {
			n.commit.Step(false)
		} else {
			n.propose()
		}
		var data [][]byte
		if leads {
			data = n.proposed()
		} else {
			entries, err := n.log().Entries(n.last(), n.last()+1, 1)
			n.must(err)
			data = [][]byte{entries[0].Data}
		}
		e := []grouplog.Entry{{Index: failing.last() + 1, Term: n.elected, Type: grouplog.Records, Data: data[0]}}
		if err := failing.s.Member().Append(e, nil); err == nil {
			t.Errorf("leads %v: a disk that is full took an entry", leads)
		}
		if err := failing.s.WriteError(); err == nil {
			t.Errorf("leads %v: there is no error", leads)
		}
		if leads {
			if err := n.s.commits.WaitDurable(wrote); err == nil || n.s.commits.Confirmed(wrote) {
				t.Errorf("confirmed what nobody has: %v", err)
			}
			n.elected, n.leads = 0, false
		}
		_ = failing.s.Close() // what is not written is the others' affair
		failing.disk.full.Store(false)
		failing.open()
		if leads {
			w.elect(other, third)
			n = other
		}
		for range 3 {
			n.propose()
			n.send(w.nodes[0])
			n.send(other)
			n.send(third)
			n.count()
		}
		want := "2"
		if leads {
			want = "1"
		}
		for _, o := range w.nodes {
			if value, _ := o.get("a"); value != want {
				t.Errorf("leads %v: member %d has %q in the end, want %q", leads, o.id, value, want)
			}
		}
		w.close()
	}
}
