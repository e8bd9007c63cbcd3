package persistence

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/tail"
)

// lazyWorld is a world with a leader, whose members force nothing to their devices at once.
func lazyWorld(t *testing.T, prepare func(n *node)) (w *world, leader *node) {
	w = &world{TB: t, r: rand.New(rand.NewPCG(1, 47)), terms: map[uint64]uint64{}, effects: map[string]int{}, tail: 1 << 30, now: 1000, policy: SyncNever}
	for i := range w.nodes {
		w.nodes[i] = &node{w: w, id: uint64(i + 1), fs: disktest.New(), memory: new(disktest.Memory)}
		prepare(w.nodes[i])
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

// What is too long for the tail, and what finds no room in it, is on the device when it is acknowledged.
func TestDeathOfAWholeGroupLosesNothing(t *testing.T) {
	w, leader := lazyWorld(t, func(*node) {})
	defer w.close()
	want := map[string]int{}
	for i := range 6 {
		size := 1_500_000 // more than the tail takes, and nothing syncs
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
		if got := n.last(); got != last || !n.s.Member().kept.on {
			t.Fatalf("member %d has %d entries of %d, on %v", n.id, got, last, n.s.Member().kept.on)
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

// The tail is emptied by a sync when half of it is full, without waiting for a period.
func TestSyncComesWhenTheTailFillsUp(t *testing.T) {
	w, leader := lazyWorld(t, func(*node) {})
	defer w.close()
	m := leader.s.Member()
	most := 0
	for range 9 {
		leader.put("a", strings.Repeat("v", 1_000_000))
		leader.share()
		most = max(most, len(m.kept.rooms))
		leader.commit.Step(false)
		if m.kept.crowded() {
			t.Fatal("a step has left the tail as it is")
		}
	}
	if most < 2 || most > 3 {
		t.Errorf("%d runs are in the tail at most", most)
	}
}

// A member knows whether it may have lost something: it has not if its process died, and the tail is that of this
// store and boot.
func TestMemberKnowsWhetherItIsWhole(t *testing.T) {
	w, leader := lazyWorld(t, func(*node) {})
	defer w.close()
	leader.must(leader.log().SetBoot(grouplog.Boot{ID: leader.s.Member().Boot()}))
	leader.put("a", "1")
	leader.share()
	last := leader.last()
	leader.put("a", "2") // in a run of its own, behind a sync
	leader.must(leader.s.Member().Sync())
	leader.put("a", "3")
	leader.share()
	disk, memory := leader.fs.CrashClone(vfs.CrashCloneCfg{}), leader.memory.Clone()
	newest := leader.last()
	for _, c := range []struct {
		name   string
		change func(o *Options, b []byte)
		last   uint64
		whole  bool
	}{
		{"as it is", func(*Options, []byte) {}, newest, true},
		{"another boot", func(o *Options, _ []byte) { o.Boot = [16]byte{8} }, last, false},
		{"a system that does not tell boots apart", func(o *Options, _ []byte) { o.Boot = [16]byte{} }, last, false},
		{"no tail", func(o *Options, _ []byte) { o.MapTail = nil }, last, false},
		{"another store", func(_ *Options, b []byte) { b[16]++ }, last, false},
		{"an empty file", func(_ *Options, b []byte) { clear(b) }, last, false},
		{"no file", func(o *Options, _ []byte) { o.MapTail = new(disktest.Memory).Map }, last, false},
	} {
		m := memory.Clone()
		o := Options{FS: disk.CrashClone(vfs.CrashCloneCfg{}), Dir: "db", Databases: modelDBs, IdleAfter: -1, Sync: SyncNever, Replicator: leader,
			MapTail: m.Map, Boot: [16]byte{1}}
		m.Each(func(b []byte) { c.change(&o, b) })
		s := openMemory(t, o)
		if _, got := s.Member().Log().Bounds(); got != c.last || s.Member().Whole() != c.whole {
			t.Errorf("%s: %d entries and whole %v, want %d and %v", c.name, got, s.Member().Whole(), c.last, c.whole)
		}
		s.Member().Resign()
		closeStore(t, s)
	}
	for name, change := range map[string]func(b []byte){
		"db/vigil-tail: entry ":                            func(b []byte) { b[len(b)-leastTailBytes+5]++ }, // in the first slot
		"db/vigil-tail: write what the disk lacks: entry ": func(b []byte) { run(b, newest+5) },
	} {
		m := memory.Clone()
		m.Each(change)
		_, err := Open(Options{FS: disk.CrashClone(vfs.CrashCloneCfg{}), Dir: "db", Databases: modelDBs, Replicator: leader, MapTail: m.Map, Boot: [16]byte{1}})
		if err == nil || !strings.Contains(err.Error(), name) || !errors.Is(err, ErrCorrupt) && !errors.Is(err, grouplog.ErrCorrupt) {
			t.Errorf("damaged: %v, want %s...", err, name)
		}
	}
}

// run has the only run of a tail begin with another entry, with a good checksum.
func run(b []byte, first uint64) {
	old, _, _ := tail.Read(bytesOf(b), tail.Identity{Store: [16]byte(b[16:]), Boot: [16]byte(b[32:])})
	t, _ := tail.New(bytesOf(b), leastTailBytes/tailSlot, tailSlot, tail.Identity{Store: [16]byte(b[16:]), Boot: [16]byte(b[32:])})
	t.Begin(1, first, tailSlot).Append(0, old[len(old)-1].Records)
}

type bytesOf []byte

func (b bytesOf) Bytes() []byte { return b }
func (b bytesOf) Close() error  { return nil }

// Runs of entries leave what the last of them say, whatever they replace, or an error.
func TestLaterRunsReplaceEntries(t *testing.T) {
	runs := func(text string) (chunks []tail.Chunk) {
		for _, s := range strings.Fields(text) { // first:terms
			c := tail.Chunk{First: uint64(s[0] - '0')}
			for _, term := range s[2:] {
				c.Records = append(binary.LittleEndian.AppendUint32(c.Records, 2), byte(term-'0'), 0, 0, 0, 0, 0, 0, 0, 2, byte(term), '!')
			}
			chunks = append(chunks, c)
		}
		return chunks
	}
	for text, want := range map[string]string{
		"":                  "",
		"3:111":             "3:111",
		"3:111 6:11":        "3:11111",
		"3:111 5:2":         "3:112",
		"3:111 4:2 5:2":     "3:122",
		"3:111 2:2":         "2:2",
		"3:111 2:2 3:33":    "2:233",
		"3:1 1:2 1:3 2:333": "1:3333",
		"3:111 7:1":         "missing",
		"3:1 1:2 3:1":       "missing",
	} {
		got := ""
		entries, err := foldKept(runs(text))
		for i, e := range entries {
			if i == 0 {
				got = fmt.Sprintf("%d:", e.Index)
			}
			if got += fmt.Sprint(e.Term); e.Index != entries[0].Index+uint64(i) || e.Type != 2 || !bytes.Equal(e.Data, []byte{byte('0' + e.Term), '!'}) {
				t.Errorf("%s: %+v", text, e)
			}
		}
		if err != nil {
			got = "missing"
		}
		if got != want || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %s, want %s; %v", text, got, want, err)
		}
	}
	for cut := range 14 {
		bad := runs("3:1")
		bad[0].Records = bad[0].Records[:1+cut]
		if _, err := foldKept(bad); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d bytes of a run: %v", 1+cut, err)
		}
	}
}
