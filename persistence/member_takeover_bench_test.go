package persistence

import (
	"fmt"
	"io"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/grouplog"
)

// BenchmarkTakeover gives a new member the state of another one, on real disks: what is read,
// written aside, taken in, and made memory of.
func BenchmarkTakeover(b *testing.B) {
	const keys, size = 100_000, 1000
	w := &world{TB: b}
	open := func(id uint64) *node {
		n := &node{w: w, id: id}
		var err error
		n.s, err = Open(Options{Dir: b.TempDir(), FS: vfs.Default, Databases: 1, IdleAfter: -1, Sync: SyncAlways, Replicator: n})
		n.must(err)
		return n
	}
	leader := open(1)
	m := leader.s.Member()
	leader.must(m.Append([]grouplog.Entry{{Index: 1, Term: 1, Type: 2}}, &grouplog.HardState{Term: 1, Vote: 1}))
	commit := func() {
		for from := m.Applied() + 1; from <= leader.last(); from++ {
			entries, err := leader.log().Entries(from, from+1, 0)
			leader.must(err)
			leader.must(m.Commit(entries))
		}
	}
	commit()
	leader.must(m.Lead(1))
	leader.elected = 1
	value := make([]byte, size)
	for i := range keys {
		for j := range value {
			value[j] = byte(i*j + j*j>>3)
		}
		leader.put(fmt.Sprintf("key %d", i), string(value))
	}
	for leader.s.commits.Synced() < leader.s.commits.Journal.Newest() {
		for _, data := range leader.proposed() {
			leader.must(m.Append([]grouplog.Entry{{Index: leader.last() + 1, Term: 1, Type: grouplog.Records, Data: data}}, nil))
		}
		commit()
	}
	materialise(b, leader.s)
	b.SetBytes(keys * size)
	for b.Loop() {
		b.StopTimer()
		n := open(2)
		b.StartTimer()
		e, err := m.Export()
		n.must(err)
		i, err := n.s.Member().Receive()
		n.must(err)
		_, err = io.Copy(i, e)
		n.must(err)
		n.must(n.s.Member().Restore(i, grouplog.HardState{Term: 1, Commit: e.Index}))
		n.must(e.Close())
		b.StopTimer()
		if got, _ := n.get("key 77"); len(got) != size {
			b.Fatalf("key 77 has %d bytes", len(got))
		}
		closeStore(b, n.s)
		b.StartTimer()
	}
	closeStore(b, leader.s)
}
