package grouplog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/storelog"
)

var errDisk = errors.New("the disk fails")

// memory is a disk in memory.
type memory struct {
	fs    *disktest.Disk
	files vfs.FS // fs as the log and Pebble have it
	db    *pebble.DB
	noted map[uint64]int64
	opens int   // of files of the log
	fail  error // of Apply

	mu        sync.Mutex // guards below
	onWrite   func()     // before what changes the disk
	failFiles error      // of what changes files of the log
	left      int        // until one operation of the log fails
}

func openMemory(t testing.TB, fs *disktest.Disk) *memory {
	t.Helper()
	m := &memory{fs: fs, noted: map[uint64]int64{}}
	m.files = errorfs.Wrap(fs, m)
	db, err := pebble.Open("db", &pebble.Options{FS: m.files, Logger: disktest.Silent{}})
	if err != nil {
		t.Fatal(err)
	}
	m.db = db
	t.Cleanup(m.close)
	return m
}

// MaybeError is called before each operation of the disk.
func (m *memory) MaybeError(op errorfs.Op) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	write := op.Kind.ReadOrWrite() == errorfs.OpIsWrite
	if write && m.onWrite != nil {
		m.onWrite()
	}
	if !strings.Contains(op.Path, "/log") {
		return nil
	}
	if op.Kind == errorfs.OpOpen {
		m.opens++
	}
	if m.left--; write && m.left == 0 {
		return errDisk
	}
	if write {
		return m.failFiles
	}
	return nil
}

func (m *memory) String() string { return "counting" }

func (m *memory) close() {
	if m.db != nil {
		m.db.Close()
		m.db = nil
	}
}

// crashed returns the disk as it is after the power has failed, or for 100 percent after the process has died.
func (m *memory) crashed(t testing.TB, percent int, r *rand.Rand) *memory {
	c := openMemory(t, m.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: r}))
	c.noted = maps.Clone(m.noted)
	return c
}

func (m *memory) config() storelog.Config {
	return storelog.Config{FS: m.files, Dir: "db", Secret: [16]byte{1}, Synced: maps.Clone(m.noted), SegmentBytes: 10 << 10, Recycle: true,
		Note: func(segment uint64, bytes int64) {
			clear(m.noted)
			m.noted[segment] = bytes
		}}
}

func (m *memory) Reader() *pebble.DB { return m.db }

func (m *memory) Apply(b *pebble.Batch) error {
	if m.fail != nil {
		return errors.Join(m.fail, b.Close())
	}
	return errors.Join(b.Commit(pebble.Sync), b.Close())
}

type testDisk interface {
	Disk
	config() storelog.Config
}

func mustOpen(t testing.TB, d testDisk) *Log {
	t.Helper()
	l, err := Open(d, 3, d.config())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// chunk is the data of an entry with n records behind record last.
func chunk(last uint64, n, size int) []byte {
	b := make([]byte, header)
	b[termBytes-1] = Records
	binary.LittleEndian.PutUint64(b[termBytes:], last+1)
	b[header-2] = format
	for i := range n {
		b = binary.AppendUvarint(b, uint64(size))
		b = append(b, bytes.Repeat([]byte{byte(i)}, size)...)
	}
	seal(b, nil)
	return b[termBytes:]
}

// A call that only demands a sync has one, of everything before it.
func TestSyncOfNothingSyncsWhatWasWritten(t *testing.T) {
	d := openMemory(t, disktest.New())
	l := mustOpen(t, d)
	if err := errors.Join(l.Append([]Entry{{Index: 1, Term: 1, Type: 2}}, nil, false), l.Append(nil, nil, true)); err != nil {
		t.Fatal(err)
	}
	if _, last := mustOpen(t, d.crashed(t, 0, nil)).Bounds(); last != 1 {
		t.Errorf("after a crash the log ends with entry %d, want 1", last)
	}
}

// filled is a log of ten entries of two records each, of terms 1, 1, 2, 2..., six of
// them committed.
func filled(t testing.TB) (*memory, *Log) {
	t.Helper()
	d := openMemory(t, disktest.New())
	l := mustOpen(t, d)
	for i := range uint64(10) {
		e := Entry{Index: i + 1, Term: 1 + i/2, Type: Records, Data: chunk(2*i, 2, 100)}
		if err := l.Append([]Entry{e}, nil, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Append(nil, &HardState{Term: 5, Vote: 2, Commit: 6}, false); err != nil {
		t.Fatal(err)
	}
	return d, l
}

func TestWhatDoesNotFollowIsRefused(t *testing.T) {
	_, l := filled(t)
	before := describe(t, l)
	damaged := chunk(20, 1, 10)
	damaged[len(damaged)-1] ^= 1
	cut := chunk(20, 1, 10)
	entry := func(index, term uint64, data []byte) []Entry {
		return []Entry{{Index: index, Term: term, Type: Records, Data: data}}
	}
	good := entry(11, 5, chunk(20, 1, 10))
	for what, try := range map[string]func() error{
		"a gap":                        func() error { return l.Append(entry(12, 5, chunk(20, 1, 10)), nil, true) },
		"a gap within":                 func() error { return l.Append(append(good, entry(13, 5, chunk(21, 1, 10))...), nil, true) },
		"a committed entry":            func() error { return l.Append(entry(6, 5, chunk(10, 1, 10)), nil, true) },
		"a lower term":                 func() error { return l.Append(entry(11, 4, chunk(20, 1, 10)), nil, true) },
		"no term":                      func() error { return l.Append(entry(11, 0, chunk(20, 1, 10)), nil, true) },
		"no type":                      func() error { return l.Append([]Entry{{Index: 11, Term: 5}}, nil, true) },
		"a damaged chunk":              func() error { return l.Append(entry(11, 5, damaged), nil, true) },
		"a chunk that was cut":         func() error { return l.Append(entry(11, 5, cut[:len(cut)-1]), nil, true) },
		"no chunk":                     func() error { return l.Append(entry(11, 5, nil), nil, true) },
		"records twice":                func() error { return l.Append(entry(11, 5, chunk(19, 1, 10)), nil, true) },
		"records with a gap":           func() error { return l.Append(entry(11, 5, chunk(21, 1, 10)), nil, true) },
		"a lower term of the state":    func() error { return l.Append(nil, &HardState{Term: 4, Vote: 2, Commit: 6}, true) },
		"a second vote":                func() error { return l.Append(nil, &HardState{Term: 5, Vote: 3, Commit: 6}, true) },
		"a vote taken back":            func() error { return l.Append(nil, &HardState{Term: 5, Commit: 6}, true) },
		"a commit taken back":          func() error { return l.Append(nil, &HardState{Term: 5, Vote: 2, Commit: 5}, true) },
		"a commit of what is not here": func() error { return l.Append(good, &HardState{Term: 5, Vote: 2, Commit: 12}, true) },
		"a cut beyond the commit":      func() error { return l.Cut(7) },
	} {
		if err := try(); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %v", what, err)
		}
		if got := describe(t, l); got != before {
			t.Errorf("%s: the log changed to\n%s", what, got)
		}
	}
	if err := l.Append(good, nil, true); err != nil {
		t.Errorf("the entry that follows: %v", err)
	}
}

// A call that the disk fails leaves what is in memory as it was. After one that has written entries nothing more is taken,
// as the files may have them.
func TestFailedDiskChangesNothing(t *testing.T) {
	d, l := filled(t)
	before, broken := describe(t, l), errors.New("broken")
	add := func() error {
		return l.Append([]Entry{{Index: 8, Term: 6, Type: 2}}, &HardState{Term: 6, Commit: 7}, true)
	}
	d.fail = broken
	for what, err := range map[string]error{
		"cut":        l.Cut(3),
		"membership": l.SetMembership(Membership{Index: 1, Members: []byte("a")}),
		"boot":       l.SetBoot(Boot{Closed: true}),
		"identity":   l.SetIdentity([]byte("me")),
	} {
		if !errors.Is(err, broken) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	d.fail, d.failFiles = nil, broken
	for range 2 {
		if err := add(); !errors.Is(err, broken) || !strings.Contains(err.Error(), "0000000001") {
			t.Errorf("append: got %v", err)
		}
		d.failFiles = nil
	}
	if got := describe(t, l); got != before {
		t.Errorf("the log changed to\n%s", got)
	}
	if got := describe(t, mustOpen(t, d)); got != before {
		t.Errorf("the log on disk changed to\n%s", got)
	}
}

func TestEntriesAreBoundedAndWhereTheyAre(t *testing.T) {
	_, l := filled(t)
	if err := l.Cut(4); err != nil {
		t.Fatal(err)
	}
	if err := l.Cut(2); err != nil {
		t.Errorf("cut what is gone: %v", err)
	}
	size := uint64(len(chunk(0, 2, 100)) + termBytes)
	for _, c := range []struct {
		committed uint64
		bytes     int64
		entries   int
		want      uint64
	}{
		{6, int64(2 * size), 9, 0}, {6, int64(2*size) - 1, 9, 5}, {6, 0, 9, 6}, {6, 1 << 20, 2, 0}, {6, 1 << 20, 1, 5},
		{9, 0, 9, 6}, {2, 0, 0, 0},
	} {
		if got := l.Excess(c.committed, c.bytes, c.entries); got != c.want {
			t.Errorf("to keep %d bytes and %d entries up to %d, the log is to be cut up to %d, want %d",
				c.bytes, c.entries, c.committed, got, c.want)
		}
	}
	for record, want := range map[uint64]uint64{0: 4, 8: 4, 9: 5, 10: 5, 20: 10} {
		if got := l.Holding(record); got != want {
			t.Errorf("record %d is in the log up to entry %d, want %d", record, got, want)
		}
	}
	for _, c := range []struct {
		lo, hi, max uint64
		n           int
		err         error
	}{
		{5, 11, 1 << 20, 6, nil}, {5, 11, 0, 1, nil}, {5, 11, 3 * size, 3, nil}, {5, 11, 3*size - 1, 2, nil}, {7, 7, 1, 0, nil},
		{4, 6, 1, 0, ErrCompacted}, {10, 12, 1, 0, ErrUnavailable},
	} {
		got, err := l.Entries(c.lo, c.hi, c.max)
		if len(got) != c.n || !errors.Is(err, c.err) {
			t.Errorf("entries %d to %d in %d bytes: %d, %v, want %d, %v", c.lo, c.hi, c.max, len(got), err, c.n, c.err)
		}
	}
	for index, want := range map[uint64]error{3: ErrCompacted, 4: nil, 10: nil, 11: ErrUnavailable} {
		if _, err := l.Term(index); !errors.Is(err, want) {
			t.Errorf("term of entry %d: %v, want %v", index, err, want)
		}
	}
}
