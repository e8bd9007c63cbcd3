package tail

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

var us = Identity{Store: [16]byte{1}, Boot: [16]byte{2}}

// machine is memory that outlives what writes to it.
type machine []byte

func (m machine) Bytes() []byte { return m }
func (m machine) Close() error  { return nil }

const (
	slots, slotBytes = 8, 256
)

func open(t testing.TB) (*Tail, machine) {
	t.Helper()
	m := make(machine, Size(slots, slotBytes))
	x, err := New(m, slots, slotBytes, us)
	if err != nil {
		t.Fatal(err)
	}
	return x, m
}

func read(t testing.TB, m Memory, id Identity) []Chunk {
	t.Helper()
	chunks, ours, err := Read(m, id)
	if err != nil || !ours && len(chunks) > 0 {
		t.Fatal(ours, chunks, err)
	}
	return chunks
}

// After any number of operations the next process reads what was appended to rooms that were not
// freed. Sizes are drawn so that chunks of several slots find room, and do not.
func TestNextProcessReadsWhatWasAppended(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	x, m := open(t)
	type chunk struct {
		Chunk
		room *Room
		most int
	}
	var live []*chunk
	index, full := uint64(0), 0
	for range 20_000 {
		switch n := r.IntN(10); {
		case n < 3:
			index++
			c := &chunk{Chunk: Chunk{Index: index, First: 7 * index}, most: 1 + r.IntN(3*slotBytes)}
			if c.room = x.Begin(c.Index, c.First, c.most); c.room == nil {
				full++
				continue
			}
			live = append(live, c)
		case n < 8 && len(live) > 0:
			c := live[r.IntN(len(live))]
			rec := make([]byte, r.IntN(c.most-len(c.Records)+1))
			for i := range rec {
				rec[i] = byte(r.Uint32())
			}
			half := len(rec) / 2
			if c.Flags |= byte(r.IntN(4)); !c.room.Append(c.Flags, rec[:half], rec[half:]) {
				t.Fatal("not appended")
			}
			c.Records = append(c.Records, rec...)
		case len(live) > 0:
			live[0].room.Free()
			live = live[1:]
		}
		if r.IntN(20) > 0 {
			continue
		}
		var want []Chunk
		for _, c := range live {
			if len(c.Records) > 0 {
				want = append(want, c.Chunk)
			}
		}
		if got := read(t, m, us); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	if full == 0 {
		t.Error("there was always room")
	}
}

func TestTailOfAnotherStoreOrBootHasNothing(t *testing.T) {
	x, m := open(t)
	x.Begin(1, 1, 10).Append(0, []byte("a"))
	for _, id := range []Identity{{Store: us.Store}, {Boot: us.Boot}, {}} {
		if got, ours, err := Read(m, id); len(got) > 0 || ours || err != nil {
			t.Errorf("%v: %v, ours: %v, %v", id, got, ours, err)
		}
	}
	if got := read(t, m, us); len(got) != 1 {
		t.Errorf("its own: %v", got)
	}
	if _, err := New(m, slots, slotBytes, us); err != nil {
		t.Fatal(err)
	}
	if got, ours, err := Read(m, us); len(got) > 0 || !ours || err != nil {
		t.Errorf("a new tail has %v, is ours: %v, %v", got, ours, err)
	}
}

// resting is memory that notes what was given back.
type resting struct {
	machine
	from, to int
}

func (m *resting) Release(from, to int) { m.from, m.to = from, to }

// Only what is behind the last chunk, and was used, is given back, and once.
func TestRestGivesFreeSlotsBack(t *testing.T) {
	m := &resting{machine: make(machine, Size(slots, slotBytes))}
	x, err := New(m, slots, slotBytes, us)
	if err != nil {
		t.Fatal(err)
	}
	data := dataAt(slots)
	expect := func(what string, from, to int) {
		t.Helper()
		if x.Rest(); m.from != data+from*slotBytes || m.to != data+to*slotBytes {
			t.Errorf("%s: slots %d to %d were given back, want %d to %d", what, (m.from-data)/slotBytes, (m.to-data)/slotBytes, from, to)
		}
	}
	expect("nothing was used", 0, 0)
	var rooms []*Room
	for i := range 5 {
		rooms = append(rooms, x.Begin(uint64(i+1), 1, 1))
	}
	rooms[0].Free()
	rooms[3].Free()
	expect("the last chunk is in slot 4", 5, 5)
	rooms[4].Free()
	expect("the last chunk is in slot 2", 3, 5)
	expect("again", 3, 3)
	rooms[1].Append(0, []byte("kept"))
	if got := read(t, m, us); len(got) != 1 || string(got[0].Records) != "kept" {
		t.Errorf("the file has %v", got)
	}
}

// Whatever the file has, Read returns chunks that lie in it or none.
func FuzzRead(f *testing.F) {
	x, m := open(f)
	x.Begin(1, 1, 10).Append(1, []byte("abc"))
	x.Begin(2, 2, 2*slotBytes).Append(0, make([]byte, 2*slotBytes))
	f.Add([]byte(m[:page+slots*entry]), 0, uint64(0))
	f.Add([]byte(m), page, uint64(1<<63))
	f.Add([]byte{}, 3, uint64(1))
	f.Fuzz(func(t *testing.T, b []byte, at int, v uint64) {
		bad := machine(append([]byte(nil), m...))
		copy(bad, b)
		if at >= 0 && at+8 <= len(bad) {
			binary.LittleEndian.PutUint64(bad[at:], v)
		}
		for _, memory := range []machine{bad, bad[:min(len(b), len(bad))]} {
			for _, c := range read(t, memory, us) {
				if len(c.Records) == 0 || len(c.Records) > slots*slotBytes {
					t.Fatalf("%d bytes", len(c.Records))
				}
			}
		}
	})
}

// The bytes of a chunk are there before what says that they are.
func TestNoByteCountsBeforeItIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tail")
	m, err := Map(path, Size(slots, slotBytes))
	if err != nil {
		t.Fatal(err)
	}
	x, err := New(m, slots, slotBytes, us)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Map(path, 0) // as another process has it
	if err != nil {
		t.Fatal(err)
	}
	room := x.Begin(1, 1, slotBytes)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range slotBytes / 8 {
			room.Append(0, []byte("12345678"))
		}
	}()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
			runtime.Gosched()
		}
		for _, c := range read(t, other, us) {
			if !bytes.Equal(c.Records, bytes.Repeat([]byte("12345678"), len(c.Records)/8)) {
				t.Fatalf("%q", c.Records)
			}
		}
	}
}

func TestFileOutlivesItsMapping(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tail")
	if _, err := Map(path, 0); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
	for _, n := range []int{slots, 2 * slots} {
		m, err := Map(path, Size(n, slotBytes))
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != int64(Size(n, slotBytes)) || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		x, err := New(m, n, slotBytes, us)
		if err != nil {
			t.Fatal(err)
		}
		x.Begin(3, 9, 10).Append(0, []byte("a"))
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		if m, err = Map(path, 0); err != nil {
			t.Fatal(err)
		}
		if got := read(t, m, us); len(got) != 1 || got[0].Index != 3 || got[0].First != 9 || string(got[0].Records) != "a" {
			t.Errorf("%d slots: %v", n, got)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	m, err := Map(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, m, us); len(got) > 0 {
		t.Errorf("an empty file has %v", got)
	}
}

// Another process cuts the file: the tail breaks, and the process goes on.
func TestTailWhoseFileIsCutBreaks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tail")
	m, err := Map(path, Size(64, page))
	if err != nil {
		t.Fatal(err)
	}
	x, err := New(m, 64, page, us)
	if err != nil {
		t.Fatal(err)
	}
	room := x.Begin(1, 1, 100)
	if !room.Append(0, []byte("a")) || x.Broken() {
		t.Fatal("broken from the beginning")
	}
	if err := os.Truncate(path, page); err != nil {
		t.Fatal(err)
	}
	if room.Append(0, []byte("b")) || !x.Broken() {
		t.Error("appended to a file that is gone")
	}
	if room.Append(0, []byte("c")) || x.Begin(2, 2, 100) != nil {
		t.Error("a broken tail takes chunks")
	}
	room.Free()
	if _, _, err := Read(m, us); err == nil {
		t.Error("a file that is gone can be read")
	}
}

func TestTailOfBadSizesIsRefused(t *testing.T) {
	for _, c := range [][3]int{{0, slotBytes, Size(1, slotBytes)}, {-1, slotBytes, page}, {slots, 8, Size(slots, 8)},
		{slots, slotBytes, Size(slots, slotBytes) - 1}, {maxSlots + 1, slotBytes, 0}} {
		if _, err := New(make(machine, c[2]), c[0], c[1], us); err == nil {
			t.Errorf("%d slots of %d in %d bytes", c[0], c[1], c[2])
		}
	}
	ids := map[Identity]bool{}
	for range 2 {
		boot, err := BootID()
		if err != nil && runtime.GOOS == "linux" {
			t.Error(err)
		}
		ids[Identity{Boot: boot}] = true
	}
	if len(maps.Collect(maps.All(ids))) != 1 {
		t.Error("a boot has two names")
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			m, err := Map(filepath.Join(b.TempDir(), "tail"), Size(256, 64<<10))
			if err != nil {
				b.Fatal(err)
			}
			x, err := New(m, 256, 64<<10, us)
			if err != nil {
				b.Fatal(err)
			}
			rec := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			var room *Room
			left := 0
			for b.Loop() {
				if left < size {
					if room != nil {
						room.Free()
					}
					room, left = x.Begin(1, 1, 64<<10), 64<<10
				}
				room.Append(0, rec)
				left -= size
			}
		})
	}
}

// One changed bit of what counts is noticed, or the chunk is not there.
func TestChangedBitIsNoticed(t *testing.T) {
	x, m := open(t)
	x.Begin(5, 50, 100).Append(1, []byte("some bytes of a record"))
	want := fmt.Sprint(read(t, m, us))
	seen := 0
	for _, at := range []int{0, 8, 20, 50, page, page + 4, page + 8, page + 16, page + 24, page + 28, len(m) - slots*slotBytes, len(m) - slots*slotBytes + 21} {
		for bit := range 8 {
			m[at] ^= 1 << bit
			for _, c := range read(t, m, us) {
				if c.Damaged {
					seen++
				} else if got := fmt.Sprint(read(t, m, us)); got != want {
					t.Errorf("bit %d of byte %d: %v", bit, at, got)
				}
			}
			m[at] ^= 1 << bit
		}
	}
	if seen < 30 {
		t.Errorf("%d changes were noticed", seen)
	}
}
