// Package structurestest has what the tests of several kinds of values need: a source
// of chance, a shelf that stores values as the store does, and the replay of records.
package structurestest

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/shapes"
)

// Seeded returns a source of chance and prints its seed if the test fails.
func Seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// Bits returns n bytes that are mostly ones, mostly zeros, or mixed: long runs are
// where searches go wrong.
func Bits(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	kind := r.IntN(3)
	for i := range b {
		switch kind {
		case 0:
			b[i] = 0xff
		case 1:
			b[i] = byte(r.Uint32())
		}
	}
	if n > 0 && r.IntN(2) == 0 {
		b[r.IntN(n)] ^= 1 << r.IntN(8)
	}
	return b
}

// Keys returns keys that differ by n.
func Keys(n uint64) *structures.HashKeys {
	key := func(second uint64) structures.HashKey {
		var b [16]byte
		binary.LittleEndian.PutUint64(b[:], n)
		binary.LittleEndian.PutUint64(b[8:], second)
		return structures.NewHashKey(b)
	}
	return &structures.HashKeys{Fields: key(1), Cursors: key(2), Shapes: new(shapes.Shapes)}
}

// Scan follows cursors from 0 until one is 0 again, and fails if one has more than 31
// bits or the scan does not end.
func Scan(t testing.TB, step func(cursor uint64) (next uint64)) {
	t.Helper()
	const most = 1 << 20
	cursor := uint64(0)
	for range most {
		if cursor = step(cursor); cursor == 0 {
			return
		}
		if cursor > math.MaxInt32 {
			t.Fatalf("cursor %d is not an int of 32 bits", cursor)
		}
	}
	t.Fatalf("a scan goes on after %d calls", most)
}

// Replay applies every operation of a record.
func Replay(t testing.TB, v structures.Value, record []byte) {
	t.Helper()
	if err := Apply(v, record); err != nil {
		t.Fatal(err)
	}
}

// Apply applies the operations of a record up to the first that is refused.
func Apply(v structures.Value, record []byte) error {
	for len(record) > 0 {
		op, args, rest, err := structures.NextOp(record)
		if err != nil {
			return err
		}
		if err := v.Apply(op, &args); err != nil {
			return fmt.Errorf("operation %d: %w", op, err)
		}
		record = rest
	}
	return nil
}

// Shelf keeps the pages of a value as the store does, by id.
type Shelf map[uint64]string

// StoreAll puts all pages of a value on the shelf, and nothing else.
func (s Shelf) StoreAll(v structures.Value) {
	clear(s)
	v.Pages(true, func(id uint64, page []byte) { s[id] = string(page) })
}

// Store brings the shelf up to date with the pages that changed, marks the value as
// stored, and checks that these are all of its pages then.
func (s Shelf) Store(t testing.TB, v structures.Value) {
	t.Helper()
	last, first := uint64(0), true
	v.Pages(false, func(id uint64, page []byte) {
		if !first && id <= last {
			t.Fatalf("page %d visited after %d", id, last)
		}
		last, first = id, false
		if page == nil {
			delete(s, id)
		} else {
			s[id] = string(page)
		}
	})
	all := Shelf{}
	all.StoreAll(v)
	if !maps.Equal(all, s) {
		t.Fatalf("%d pages stored by changes, %d pages in all, or they differ", len(s), len(all))
	}
	v.Clean()
}

// Load hands the pages to a value that was just made from its head.
func (s Shelf) Load(t testing.TB, v structures.Value) {
	t.Helper()
	for id, page := range s {
		if err := v.SetPage(id, []byte(page)); err != nil {
			t.Fatalf("page %d: %v", id, err)
		}
	}
}

// FuzzPages hands pages from fuzzed bytes to a value: 8 bytes of id, one of length, and
// so many bytes.
func FuzzPages(v structures.Value, pages []byte) {
	for len(pages) > 9 {
		var id uint64
		for _, x := range pages[:8] {
			id = id<<8 | uint64(x)
		}
		size := min(int(pages[8]), len(pages)-9)
		if v.SetPage(id, pages[9:9+size]) != nil {
			return
		}
		pages = pages[9+size:]
	}
}

// Again stores a value and returns what is read back, which must be accepted.
func Again[V structures.Value](t testing.TB, v V, decode func(head []byte) (V, error)) V {
	t.Helper()
	shelf := Shelf{}
	shelf.StoreAll(v)
	again, err := decode(v.AppendHead(nil))
	if err != nil {
		t.Fatal(err)
	}
	shelf.Load(t, again)
	if c, ok := any(again).(interface{ Complete() error }); ok {
		if err := c.Complete(); err != nil {
			t.Fatal(err)
		}
	}
	return again
}

// State is all that a value tells of itself: its head and its pages.
func State(v structures.Value) string {
	out := fmt.Sprintf("%d %v %x", v.Kind(), v.Empty(), v.AppendHead(nil))
	v.Pages(true, func(id uint64, page []byte) { out += fmt.Sprintf(" %x:%x", id, page) })
	return out
}
