package persistence

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/files"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/tail"
	"github.com/vigildb/vigil/persistence/wal"
	"github.com/vigildb/vigil/structures/testscale"
)

var upgradedBoot = [16]byte{1}

const formerSlots = 32 // of the tail

// formerMember is the disk of a member in format 2, as the version before left it when its process was killed: entries, some in memory
// only, the state and where the log was cut are in Pebble.
type formerMember struct {
	testing.TB
	fs     *disktest.Disk
	memory *disktest.Memory
	first  uint64 // entry
	last   uint64 // entry in Pebble
	newest uint64 // and in memory
	state  grouplog.HardState
}

// formerValue is the value of a key. Of those that are in the tail it is long.
func formerValue(key string) string {
	if key == "new3" || key == "new4" {
		return strings.Repeat(key, 100_000)
	}
	return strings.Repeat(key, 3000)
}

func newFormerMember(t testing.TB) *formerMember {
	t.Helper()
	w := newWorld(t, 1, 10)
	n, other, _ := lead(t, w)
	add := func(key string) {
		n.put(key, formerValue(key))
		n.propose()
		n.send(other)
		n.count()
	}
	for i := range 5 {
		add(fmt.Sprint("old", i))
	}
	n.know()
	n.materialise() // which cuts the log
	for i := range 5 {
		add(fmt.Sprint("new", i))
	}
	n.know()
	n.must(n.log().SetBoot(grouplog.Boot{ID: upgradedBoot}))
	f := &formerMember{TB: t, memory: new(disktest.Memory), state: n.log().State()}
	f.first, f.newest = n.log().Bounds()
	f.last = f.newest - 2
	if f.first < 2 {
		t.Fatal("the log is not cut")
	}
	n.stop()
	f.fs = n.fs
	for _, o := range w.nodes[1:] {
		o.stop()
	}
	f.make()
	return f
}

func (f *formerMember) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func recordOf(fields []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, crc32.Checksum(fields, crc32.MakeTable(crc32.Castagnoli))), fields...)
}

// make writes the disk as the version before left it.
func (f *formerMember) make() {
	f.Helper()
	l, err := wal.Inspect(f.fs, "db", f.Logf)
	f.must(err)
	marked, err := l.GoOn(f.Logf)
	f.must(err)
	fenced := fence.New(marked, "db")
	db, err := lsm.Open("db", lsm.Options(fenced, quietLog(fenced)), fenced, func() bool { return false })
	f.must(err)
	meta, err := lsm.ReadMeta(db, format.Meta{})
	f.must(err)
	log, err := grouplog.View(db, format.Group, storelog.Config{FS: f.fs, Dir: "db", Secret: meta.Secret, Synced: marked.Mark.State().Segments()})
	f.must(err)
	entries, err := log.Entries(f.last+1, f.newest+1, 1<<20)
	f.must(err)
	r, err := log.Read(f.first, f.last+1)
	f.must(err)
	for more, err := r.Next(); more; more, err = r.Next() {
		f.must(err)
		value, err := r.Value()
		f.must(errors.Join(err, db.Set(format.AppendJournalKey(nil, r.Index()), value, pebble.Sync)))
	}
	f.must(errors.Join(r.Close(), log.Close()))
	cut := format.AppendGroup(nil, format.PrefixRecords)
	cut = append(cut, 'c')
	v, closer, err := db.Get(cut)
	f.must(err)
	fields := bytes.Clone(v[4:28])
	f.must(closer.Close())
	state := f.state
	state.Commit = min(state.Commit, f.last)
	s := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, state.Term), state.Vote), state.Commit)
	meta.Pebble = true
	marked.Mark.Segment(0, 0)
	f.must(errors.Join(db.Set(cut, recordOf(fields), pebble.Sync), db.Set(append(cut[:3:3], 's'), recordOf(s), pebble.Sync),
		db.Set(format.AppendMetaKey(nil), meta.Append(nil), pebble.Sync), db.Flush(), lsm.Close("db", db, fenced), marked.Mark.Close(), f.fs.RemoveAll("db/log")))
	f.keep(meta.Secret, entries)
}

// keep puts entries into the tail.
func (f *formerMember) keep(secret [16]byte, entries []grouplog.Entry) {
	f.Helper()
	m, err := f.memory.Map("db/"+tail.Name, tail.Size(formerSlots, files.TailSlot))
	f.must(err)
	t, err := tail.New(m, formerSlots, files.TailSlot, tail.Identity{Store: secret, Boot: upgradedBoot})
	f.must(err)
	for i, e := range entries {
		var prefix [13]byte
		binary.LittleEndian.PutUint32(prefix[:], uint32(len(e.Data)))
		binary.LittleEndian.PutUint64(prefix[4:], e.Term)
		prefix[12] = e.Type
		if !t.Begin(uint64(i+1), e.Index, len(prefix)+len(e.Data)).Append(0, prefix[:], e.Data) {
			f.Fatal("no room")
		}
	}
}

func (f *formerMember) options(fs vfs.FS) Options {
	return Options{FS: fs, Dir: "db", Databases: modelDBs, IdleAfter: -1, Sync: SyncNever, Replicator: wary{}, SegmentBytes: 16 << 10, Tail: 10,
		MapTail: f.memory.Clone().Map, Boot: upgradedBoot, Background: func(Task) {}}
}

// check opens a disk and checks that everything up to an entry is there, and what the member knows of itself.
func (f *formerMember) check(fs vfs.FS, last uint64, change func(o *Options), whole bool) *Store {
	f.Helper()
	o := f.options(fs)
	change(&o)
	s := openMemory(f, o)
	m := s.Member()
	if first, got := m.Log().Bounds(); first != f.first || got != last || m.Whole() != whole {
		f.Errorf("entries %d to %d are there, whole %v, want %d to %d and %v", first, got, m.Whole(), f.first, last, whole)
	}
	if state := m.Log().State(); state.Term != f.state.Term || state.Vote != f.state.Vote {
		f.Errorf("state %+v, want %+v", state, f.state)
	}
	entries, err := m.Log().Entries(m.Applied()+1, last+1, 1<<20)
	f.must(errors.Join(err, m.Commit(entries)))
	missing := 0
	all(s, 1000, func(tx *Tx) {
		for i := range 5 {
			for _, key := range []string{fmt.Sprint("old", i), fmt.Sprint("new", i)} {
				if b, _, _ := tx.String([]byte(key)); string(b) != formerValue(key) {
					missing++
				}
			}
		}
	})
	if want := int(f.newest - last); missing != want {
		f.Errorf("%d keys are missing, want %d", missing, want)
	}
	return s
}

func (f *formerMember) close(s *Store) {
	f.Helper()
	s.Member().Resign()
	closeStore(f, s)
}

func unchanged(*Options) {}

// A member in format 2 is in format 3 once it was opened, with everything that a process which was killed has left, and Pebble loses
// its entries when they are cut off. The version before refuses it by the number of the format.
func TestMemberOfFormat2BecomesOneOfFormat3(t *testing.T) {
	f := newFormerMember(t)
	if !format2(t, f.fs) {
		t.Fatal("the store has a log already")
	}
	for range 2 {
		s := f.check(f.fs, f.newest, unchanged, true)
		if b, closer, err := s.files.Disk.DB.Get(format.AppendMetaKey(nil)); err != nil || b[0] != 3 || closer.Close() != nil {
			t.Errorf("format %v: %v", b, err)
		}
		f.close(s)
		if format2(t, f.fs) {
			t.Error("there is no log")
		}
	}
	s := f.check(f.fs, f.newest, unchanged, true)
	m := s.Member()
	state := f.state
	state.Commit = f.newest
	f.must(m.Append(nil, &state))
	materialise(t, s)
	if first, _ := m.Log().Bounds(); first <= f.last {
		t.Errorf("entries from %d on are left", first)
	}
	if some, err := lsm.Any(s.files.Disk.DB, format.AppendGroup(nil, format.PrefixJournal), format.AppendGroupEnd(nil, format.PrefixJournal)); some || err != nil {
		t.Errorf("entries are in Pebble: %v, %v", some, err)
	}
	f.first, _ = m.Log().Bounds()
	f.close(s)
	f.close(f.check(f.fs, f.newest, unchanged, true))
}

// Where the machine has failed, or the tail is gone, the member knows that it may lack something, now and at the next start.
func TestMemberOfFormat2KnowsWhatItMayLack(t *testing.T) {
	for what, change := range map[string]func(o *Options){
		"another boot":               func(o *Options) { o.Boot = [16]byte{8} },
		"no tail":                    func(o *Options) { o.MapTail = new(disktest.Memory).Map },
		"boots that are not told":    func(o *Options) { o.Boot = [16]byte{} },
		"a system that maps nothing": func(o *Options) { o.MapTail = nil },
	} {
		t.Run(what, func(t *testing.T) {
			f := newFormerMember(t)
			for range 2 {
				f.close(f.check(f.fs, f.last, change, false))
			}
			f.close(f.check(f.fs, f.last, unchanged, false))
		})
	}
}

// A crash at any moment of that, or a disk that fails, leaves a store in one of the two formats, with everything.
func TestCrashWhileAMemberLeavesFormat2(t *testing.T) {
	f := newFormerMember(t)
	for k := 1; ; k += testscale.By {
		mem := f.fs.CrashClone(vfs.CrashCloneCfg{})
		disk := newFailingDisk(mem, faultEIO, k, k%3 == 0)
		s, err := Open(f.options(disk))
		if err == nil {
			s.Member().Resign()
			_ = s.Close()
		}
		_, hits := disk.count()
		crashed := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: k % 2 * 100, RNG: rand.New(rand.NewPCG(uint64(k), 1))})
		f.close(f.check(crashed, f.newest, unchanged, true))
		if t.Failed() {
			t.Fatalf("operation %d: %v", k, err)
		}
		if hits == 0 {
			return
		}
	}
}

// Without room for what the tail has a member stays in format 2, and says why it cannot be opened. So it does with a tail that is
// damaged.
func TestMemberThatCannotLeaveFormat2StaysAsItIs(t *testing.T) {
	f := newFormerMember(t)
	db, err := pebble.Open("db", &pebble.Options{FS: f.fs, Logger: disktest.Silent{}, FormatMajorVersion: pebble.FormatNewest})
	f.must(err)
	f.must(db.Close())
	disk := &smallDisk{FS: f.fs, total: smallTotal}
	disk.fill(512 << 10)
	for range 2 {
		if _, err := Open(f.options(disk)); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "format 2") {
			t.Errorf("on a full disk: %v", err)
		}
		if !format2(t, f.fs) {
			t.Error("a log is left")
		}
	}
	o := f.options(f.fs)
	damaged := f.memory.Clone()
	damaged.Each(func(b []byte) { b[len(b)-formerSlots*files.TailSlot+20]++ })
	o.MapTail = damaged.Map
	if _, err := Open(o); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "db/vigil-tail: ") {
		t.Errorf("with a damaged tail: %v", err)
	}
	f.close(f.check(f.fs, f.newest, unchanged, true))
}
