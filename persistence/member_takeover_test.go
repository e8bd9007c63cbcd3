package persistence

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/structures/testscale"
)

// stream returns all of an export.
func (n *node) stream() (*member.Export, []byte) {
	n.w.Helper()
	e, err := n.s.Member().Export()
	n.must(err)
	b, err := io.ReadAll(e)
	n.must(errors.Join(err, e.Close()))
	return e, b
}

// know makes a member write its commit index, before which the log is not cut off.
func (n *node) know() {
	state, m := n.log().State(), n.s.Member()
	state.Commit = m.Applied()
	n.must(m.Append(nil, &state))
}

// receive writes a stream in pieces of any size.
func (n *node) receive(b []byte) (*member.Import, error) {
	i, err := n.s.Member().Receive()
	n.must(err)
	for size := 0; len(b) > 0; b = b[size:] {
		size = min(len(b), 1+n.w.r.IntN(100_000))
		if _, err := i.Write(b[:size]); err != nil {
			return i, err
		}
	}
	return i, nil
}

// give sends the state of a leader to a member.
func (n *node) give(to *node) {
	n.w.Helper()
	e, b := n.stream()
	if e.Index <= to.s.Member().Applied() || to.termOf(e.Index) == e.Term {
		return
	}
	i, err := to.receive(b)
	to.must(err)
	state := to.log().State()
	if state.Term < n.elected {
		state.Term, state.Vote = n.elected, 0
	}
	state.Commit = e.Index
	to.must(to.s.Member().Restore(i, state))
	if to.last() != e.Index || to.s.Member().Applied() != e.Index || to.log().State() != state {
		n.w.Fatalf("member %d has %d entries, of which %d are applied, state %+v, want %d and %+v",
			to.id, to.last(), to.s.Member().Applied(), to.log().State(), e.Index, state)
	}
	to.same("after a state was taken in")
	n.w.effects["snapshot"]++
}

// ahead returns a leader that has cut off what another member, which has something of its own,
// lacks.
func ahead(t testing.TB) (w *world, leader, lags *node) {
	t.Helper()
	w = newWorld(t, 5, 1)
	leader, other, lags := lead(t, w)
	commit := func() {
		for leader.s.commits.Synced() < leader.s.commits.Journal.Newest() {
			leader.propose()
			leader.send(other)
			leader.count()
		}
	}
	leader.put("gone", "1")
	leader.put("kept", "old")
	leader.texts(func(tx *Tx) {
		tx.Texts(Users).Set("gone", "on")
		tx.Texts(Users).Set("kept", "old")
		tx.Texts(Libraries).Set("gone", "code")
		tx.Texts(Directives).Set("gone", "1")
		tx.Texts(Directives).Set("kept", "old")
	})
	commit()
	for range 4 {
		leader.send(lags)
	}
	lags.know()
	lags.materialise() // it has them on disk
	term := lags.log().State().Term
	w.elect(other, leader)
	leader, other = other, leader
	for !leader.leads {
		leader.send(other)
		leader.count()
	}
	for i := range 300 {
		leader.put(fmt.Sprintf("k%d", i), string(bytes.Repeat([]byte{byte(i)}, 1+i*10)))
		if i == 200 {
			leader.texts(func(tx *Tx) {
				tx.Texts(Users).Delete("gone")
				tx.Texts(Users).Set("kept", "new")
				tx.Texts(Libraries).Clear()
				tx.Texts(Libraries).Set("new", "code")
				tx.Texts(Directives).Delete("gone")
				tx.Texts(Directives).Set("kept", "new")
			})
			commit()
			leader.know()
			leader.materialise()
		}
	}
	var set Shards
	set.AddAll()
	tx := leader.s.NewTx()
	tx.Lock(&set, w.now)
	tx.Delete([]byte("gone"))
	tx.SetString([]byte("kept"), []byte("new"), NoExpiry)
	tx.Commit()
	tx.Unlock()
	commit()
	for range 30 {
		lags.must(lags.s.Member().Append([]grouplog.Entry{{Index: lags.last() + 1, Term: term, Type: 2, Data: []byte("never committed")}}, nil))
	}
	if first, _ := leader.log().Bounds(); first <= lags.s.Member().Applied()+1 || leader.last() >= lags.last() {
		t.Fatalf("the leader has entries from %d on, the other one up to %d", first, lags.last())
	}
	return w, leader, lags
}

// texts changes texts.
func (n *node) texts(change func(tx *Tx)) {
	var set Shards
	set.AddTexts()
	tx := n.s.NewTx()
	tx.Lock(&set, n.w.now)
	defer tx.Unlock()
	change(tx)
	tx.Commit()
}

// has checks that a member shows the state of ahead, or the one before.
func (n *node) has(t testing.TB, now bool) {
	t.Helper()
	want := map[string]string{"gone": "1", "kept": "old", "k7": "", "k250": ""}
	texts := map[byte]string{format.OpUser: "map[gone:on kept:old]", format.OpConfiguration: "map[gone:1 kept:old]", format.OpLibrary: "map[gone:code]"}
	if now {
		texts = map[byte]string{format.OpUser: "map[kept:new]", format.OpConfiguration: "map[kept:new]", format.OpLibrary: "map[new:code]"}
		want = map[string]string{"gone": "", "kept": "new", "k7": string(bytes.Repeat([]byte{7}, 71)), "k250": string(bytes.Repeat([]byte{250}, 2501))}
	}
	for key, value := range want {
		if got, _ := n.get(key); got != value {
			t.Errorf("%s is %.20q, want %.20q", key, got, value)
		}
	}
	for op, want := range texts {
		got, told := fmt.Sprint(n.s.Texts(TextKind(op))), n.told[op]
		if got != want || told != nil && fmt.Sprint(told) != want {
			t.Errorf("texts of operation %d: got %s, told %v, want %s", op, got, told, want)
		}
	}
}

// A member that lacks what was cut off takes the whole state in, follows from there on, and starts
// with it again.
func TestAMemberTakesTheStateOfAnotherIn(t *testing.T) {
	w, leader, lags := ahead(t)
	lags.has(t, false)
	boot := grouplog.Boot{ID: [16]byte{7}, Closed: true}
	lags.must(lags.log().SetBoot(boot))
	lags.must(lags.log().SetIdentity([]byte("member 9")))
	lags.must(leader.log().SetIdentity([]byte("member 1")))
	lags.must(leader.log().SetMembership(grouplog.Membership{Index: 2, Members: []byte("members")}))
	leader.give(lags)
	lags.has(t, true)
	if got := lags.log().Membership(); got.Index != 2 || string(got.Members) != "members" || lags.log().Boot() != boot {
		t.Errorf("members %+v, boot %+v", got, lags.log().Boot())
	}
	if got := string(lags.log().Identity()); got != "member 9" {
		t.Errorf("with the state it has become %q", got)
	}
	for range 3 {
		leader.put("kept", "newer")
		leader.propose()
		leader.send(lags)
		leader.count()
		leader.send(lags)
	}
	if got, _ := lags.get("kept"); got != "newer" {
		t.Errorf("behind the state it has %q", got)
	}
	lags.replace(lags.fs.CrashClone(vfs.CrashCloneCfg{}))
	if got, _ := lags.get("kept"); got != "newer" {
		t.Errorf("after a start it has %q", got)
	}
	if got := string(lags.log().Identity()); got != "member 9" {
		t.Errorf("after a start it is %q", got)
	}
	w.close()
}

// breaking fails everything that changes the disk from some operation on, or keeps what the
// device had then.
type breaking struct {
	fs      *disktest.Disk
	fails   bool
	at, now atomic.Int64 // 0: not yet
	kept    *disktest.Disk
	unsaved int // percent of what was not synced that is kept
}

func (b *breaking) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileRead, errorfs.OpFileReadAt, errorfs.OpOpen, errorfs.OpStat, errorfs.OpFileStat, errorfs.OpList, errorfs.OpGetDiskUsage, errorfs.OpOpenDir:
		return nil
	}
	at := b.at.Load()
	if at == 0 {
		return nil
	}
	n := b.now.Add(1)
	if b.fails && n >= at {
		return syscall.EIO
	}
	if !b.fails && n == at {
		b.kept = b.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: b.unsaved, RNG: rand.New(rand.NewPCG(uint64(at), 3))})
	}
	return nil
}

func (b *breaking) String() string { return "breaking disk" }

// Wherever the disk fails while a state is received and taken in, or the power does, the member
// has the former state afterwards or the new one, and takes the new one in then.
func TestAStateIsTakenInAsAWholeOrNotAtAll(t *testing.T) {
	former, newer := takeInWithFaults(t)
	t.Logf("%d times the former state, %d times the new one", former, newer)
	if former < 20/testscale.By || newer < 5/testscale.By {
		t.Errorf("%d times the former state and %d times the new one: the faults do not meet it", former, newer)
	}
}

func takeInWithFaults(t testing.TB) (former, newer int) {
	w, leader, lags := ahead(t)
	defer w.close()
	e, b := leader.stream()
	before := lags.s.Member().Applied()
	disk := lags.fs.CrashClone(vfs.CrashCloneCfg{})
	for mode := range 3 {
		for at := int64(1); ; at += testscale.By {
			n := &node{w: w, id: lags.id, fs: disk.CrashClone(vfs.CrashCloneCfg{})}
			br := &breaking{fs: n.fs, fails: mode == 0, unsaved: (mode - 1) * 50}
			open := func(fsys vfs.FS) {
				n.s = openMemory(t, Options{FS: fsys, Databases: modelDBs, Seed: n.id, IdleAfter: -1, Sync: SyncAlways, Replicator: n, Tail: 1,
					Background: func(task Task) { n.commit = task }})
			}
			open(errorfs.Wrap(n.fs, br))
			br.at.Store(at)
			state := n.log().State()
			state.Term, state.Commit = max(state.Term, e.Term), e.Index
			i, err := n.s.Member().Receive()
			if err == nil {
				_, err = i.Write(b)
			}
			if err == nil {
				err = n.s.Member().Restore(i, state)
			}
			over := br.now.Load() < at
			br.at.Store(0)
			if mode > 0 {
				if err != nil {
					t.Fatal(err)
				}
				if br.kept == nil {
					br.kept = n.fs.CrashClone(vfs.CrashCloneCfg{})
				}
			} else {
				br.kept = n.fs.CrashClone(vfs.CrashCloneCfg{})
			}
			_ = n.s.Close()
			n.fs = br.kept
			open(n.fs)
			switch applied := n.s.Member().Applied(); applied {
			case before:
				if n.has(t, false); err == nil && mode == 0 {
					t.Errorf("mode %d, operation %d: it has the former state without an error", mode, at)
				}
				former++
				i, err := n.receive(b)
				n.must(err)
				n.must(n.s.Member().Restore(i, state))
			case e.Index:
				if newer++; n.last() != e.Index {
					t.Errorf("mode %d, operation %d: it has entries up to %d, want %d", mode, at, n.last(), e.Index)
				}
			default:
				t.Errorf("mode %d, operation %d: entry %d is applied", mode, at, applied)
			}
			n.has(t, true)
			closeStore(t, n.s)
			if t.Failed() {
				t.Fatalf("mode %d, operation %d: %v", mode, at, err)
			}
			if over {
				break
			}
		}
	}
	return former, newer
}

// forged is what a member would send, made by hand.
type forged struct {
	bytes []byte
	sum   uint32
}

func (s *forged) block(payload []byte) *forged {
	if s.bytes == nil {
		s.bytes = []byte("VIGS\x01")
	}
	s.sum = format.Checksum(s.sum, payload)
	s.bytes = binary.LittleEndian.AppendUint32(s.bytes, uint32(len(payload)))
	s.bytes = append(binary.LittleEndian.AppendUint32(s.bytes, s.sum), payload...)
	return s
}

// blockBytes is about how long the blocks of a stream are.
const blockBytes = 256 << 10

// What is not the stream of a member of the group is refused, and the store goes on as before.
func TestStreamsThatAreNoneAreRefused(t *testing.T) {
	w, leader, lags := ahead(t)
	defer w.close()
	_, whole := leader.stream()
	try := func(what string, b []byte, want error) {
		t.Helper()
		i, err := lags.receive(b)
		if err == nil {
			err = i.Finish()
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
		if err := i.Close(); err != nil {
			t.Error(err)
		}
		if _, err := i.Write(nil); err == nil {
			t.Errorf("%s: bytes are taken after the end", what)
		}
	}
	for range 60 {
		bad := slices.Clone(whole)
		at := w.r.IntN(len(bad))
		if w.r.IntN(2) == 0 {
			at = w.r.IntN(400)
		}
		bad[at] ^= 1 << w.r.IntN(8)
		if at == 4 {
			try("another format", bad, ErrVersion)
		} else if bad[at] != whole[at] {
			try(fmt.Sprintf("byte %d is damaged", at), bad, ErrCorrupt)
		}
		try("it is cut off", whole[:at], ErrCorrupt)
	}
	try("something behind the end", append(slices.Clone(whole), 0, 0, 0, 0, 0, 0, 0, 0), ErrCorrupt)
	try("nothing", nil, ErrCorrupt)
	begin := func(change func(fixed []byte, m *format.Meta)) []byte {
		n := int(binary.LittleEndian.Uint32(whole[5:]))
		first := slices.Clone(whole[5+8 : 5+8+n])
		members := 4 + int(binary.LittleEndian.Uint32(first[6*8:]))
		m, err := format.DecodeMeta(first[6*8+members+4:])
		leader.must(err)
		change(first, &m)
		raw := m.Append(nil)
		first = append(binary.LittleEndian.AppendUint32(first[:6*8+members], uint32(len(raw))), raw...)
		return new(forged).block(first).bytes
	}
	try("another secret", begin(func(_ []byte, m *format.Meta) { m.Secret[3]++ }), ErrMember)
	try("a database more", begin(func(_ []byte, m *format.Meta) { m.Extend(modelDBs + 1) }), ErrMember)
	try("of a store that is alone", begin(func(_ []byte, m *format.Meta) { m.Grouped = false }), ErrMember)
	try("as of no entry", begin(func(b []byte, _ *format.Meta) { clear(b[:8]) }), ErrCorrupt)
	for what, keys := range map[string][]string{"keys out of order": {"o\x00\x00b", "o\x00\x00a"}, "a key twice": {"o\x00\x00a", "o\x00\x00a"},
		"records of the log": {"r\x00\x00s"}, "another group": {"o\x00\x01a"}, "no key": {""}} {
		e := forged{bytes: begin(func([]byte, *format.Meta) {})}
		e.sum = binary.LittleEndian.Uint32(e.bytes[9:])
		var b []byte
		for _, k := range keys {
			b = append(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, uint32(len(k))), 0), k...)
		}
		try(what, e.block(b).block(nil).bytes, ErrCorrupt)
	}
	lags.has(t, false)
	leader.give(lags)
	lags.has(t, true)
}

// A state is refused that the log has already: entries behind it may be acknowledged.
func TestAStateThatIsThereIsNotTakenIn(t *testing.T) {
	w, leader, lags := ahead(t)
	defer w.close()
	e, b := leader.stream()
	leader.give(lags)
	i, err := lags.receive(b)
	lags.must(err)
	state := lags.log().State()
	if err := lags.s.Member().Restore(i, state); !errors.Is(err, grouplog.ErrCorrupt) || state.Commit != e.Index {
		t.Errorf("the same state again: %v", err)
	}
	i, err = leader.receive(b)
	leader.must(err)
	if err := leader.s.Member().Restore(i, state); !errors.Is(err, grouplog.ErrCorrupt) {
		t.Errorf("the leader: %v", err)
	}
}

// Blocks end anywhere in keys and values, and both may be longer than blocks.
func TestAStateTravelsInBlocksOfAnySize(t *testing.T) {
	w, leader, lags := ahead(t)
	defer w.close()
	long, large := string(bytes.Repeat([]byte("k"), 1<<20)), string(bytes.Repeat([]byte("v"), 3*blockBytes))
	leader.put(long, large)
	for leader.s.commits.Synced() < leader.s.commits.Journal.Newest() {
		leader.propose()
		leader.send(w.nodes[0])
		leader.count()
	}
	for _, size := range []int{7, 64, 1000, blockBytes} {
		e, err := leader.s.Member().Export()
		leader.must(err)
		e.Block = size
		b, err := io.ReadAll(e)
		leader.must(errors.Join(err, e.Close()))
		i, err := lags.receive(b)
		lags.must(errors.Join(err, i.Finish()))
		if size < blockBytes {
			lags.must(i.Close())
			continue
		}
		lags.must(lags.s.Member().Restore(i, grouplog.HardState{Term: e.Term, Commit: e.Index}))
	}
	lags.has(t, true)
	if got, _ := lags.get(long); got != large {
		t.Errorf("a large value under a long key has %d bytes, want %d", len(got), len(large))
	}
}

// What is read is the state of one moment, whatever is written and cut off meanwhile; and the
// log keeps what is behind it as long as it is asked to.
func TestAnExportIsOfOneMoment(t *testing.T) {
	w, leader, lags := ahead(t)
	defer w.close()
	e, err := leader.s.Member().Export()
	leader.must(err)
	var b []byte
	buf := make([]byte, 1000)
	leader.s.Member().Keep(e.Index)
	for k := 0; ; k++ {
		n, err := e.Read(buf)
		if b = append(b, buf[:n]...); errors.Is(err, io.EOF) {
			break
		}
		leader.must(err)
		if k%20 == 0 {
			leader.put("kept", "newer")
			leader.propose()
			leader.send(w.nodes[0])
			leader.count()
			leader.know()
			leader.materialise()
		}
	}
	leader.must(e.Close())
	if first, _ := leader.log().Bounds(); first > e.Index+1 {
		t.Errorf("entries from %d on are there, want those behind %d", first, e.Index)
	}
	i, err := lags.receive(b)
	lags.must(err)
	lags.must(lags.s.Member().Restore(i, grouplog.HardState{Term: e.Term, Commit: e.Index}))
	lags.has(t, true)
	leader.s.Member().Keep(0)
	leader.put("kept", "x")
	leader.propose()
	leader.send(w.nodes[0])
	leader.count()
	leader.know()
	leader.materialise()
	if first, _ := leader.log().Bounds(); first <= e.Index {
		t.Errorf("entries from %d on are kept, which no member lacks", first)
	}
	e, err = leader.s.Member().Export()
	leader.must(err)
	leader.stop() // with an export that was not closed
	if _, err := e.Read(buf); !errors.Is(err, ErrClosed) {
		t.Errorf("read of a store that is closed: %v", err)
	}
	leader.open()
}
