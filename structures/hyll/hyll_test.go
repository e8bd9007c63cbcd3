package hyll

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/axiomhq/hyperloglog"

	"github.com/vigildb/vigil/structures/structurestest"
)

const sparseMax = 3000

func addHYLL(t testing.TB, value []byte, elems ...string) []byte {
	t.Helper()
	var touched Touched
	for _, e := range elems {
		var err error
		if value, _, err = Add(value, []byte(e), sparseMax, &touched); err != nil {
			t.Fatalf("PFADD %s: %v", e, err)
		}
	}
	return value
}

func numbered(n int) []string {
	elems := make([]string, n)
	for i := range elems {
		elems[i] = fmt.Sprintf("element:%d", i)
	}
	return elems
}

// The bytes and counts are those of redis-server 7.0.15.
func TestHYLLBytesAreThoseOfRedis(t *testing.T) {
	if got := hex.EncodeToString(New()); got != "48594c4c0100000000000000000000807fff" {
		t.Errorf("PFADD k: got %s", got)
	}
	v := addHYLL(t, New(), "a", "b", "c")
	if got := hex.EncodeToString(v); got != "48594c4c01000000000000000000008060f38050b1844bfb80425a" {
		t.Errorf("PFADD k a b c: got %s", got)
	}
	if got, err := Decode(v); got != "Z:8436 v:1,1 Z:4274 v:2,1 Z:3068 v:1,1 Z:603" || err != nil {
		t.Errorf("PFDEBUG DECODE: got %q, %v", got, err)
	}
	for _, c := range []struct {
		n        int
		encoding string
		count    uint64
		size     int
		crc      uint32
	}{
		{10, "sparse", 10, 47, 0xf93a673d},
		{100, "sparse", 99, 284, 0x50aa00e1},
		{1000, "sparse", 997, 1896, 0x0c2a7f48},
		{5000, "dense", 5005, 12304, 0xc44f0411},
		{20000, "dense", 19986, 12304, 0x387651d4},
		{100000, "dense", 100039, 12304, 0x433af986},
	} {
		v := addHYLL(t, New(), numbered(c.n)...)
		if got, err := Count(v, &Touched{}); got != c.count || err != nil {
			t.Errorf("PFCOUNT of %d elements: got %d, %v, want %d", c.n, got, err, c.count)
		}
		if got, _ := Encoding(v); got != c.encoding {
			t.Errorf("%d elements: got %s, want %s", c.n, got, c.encoding)
		}
		if got := crc32.ChecksumIEEE(v); got != c.crc {
			t.Errorf("%d elements: %d bytes of sum %#x, want %#x", c.n, len(v), got, c.crc)
		}
	}
}

// The bytes and counts are those of redis-server 7.0.15.
func TestUnionAnswersAsRedis(t *testing.T) {
	u := NewUnion()
	for _, n := range []int{10, 100, 1000} {
		mergeHYLL(t, u, addHYLL(t, New(), numbered(n)...))
	}
	if got, err := u.Count(); got != 997 || err != nil {
		t.Errorf("PFCOUNT of three sparse keys: got %d, %v, want 997", got, err)
	}
	u.Reset()
	for _, n := range []int{1000, 5000, 100000} {
		mergeHYLL(t, u, addHYLL(t, New(), numbered(n)...))
	}
	if got, err := u.Count(); got != 100039 || err != nil {
		t.Errorf("PFCOUNT with dense keys: got %d, %v, want 100039", got, err)
	}
	u.Reset()
	mergeHYLL(t, u, addHYLL(t, New(), "a", "b", "c"))
	mergeHYLL(t, u, addHYLL(t, New(), numbered(100)...))
	v, err := u.Store(nil, sparseMax)
	if got := crc32.ChecksumIEEE(v); err != nil || got != 0xd4132798 {
		t.Errorf("PFMERGE: %d bytes of sum %#x, %v, want 0xd4132798", len(v), got, err)
	}
}

func mergeHYLL(t testing.TB, u *Union, v []byte) {
	t.Helper()
	if err := u.Merge(v); err != nil {
		t.Fatal(err)
	}
}

// The string, the union and a sketch that was fed reversed hashes hold the same
// registers.
func TestRegistersAreThoseOfSketch(t *testing.T) {
	r := structurestest.Seeded(t)
	for _, n := range []int{1, 50, 2000, 30000} {
		sketch, union := hyperloglog.NewNoSparse(), NewUnion()
		want := make([]uint8, registers)
		v := New()
		for range n {
			elem := fmt.Appendf(nil, "%d", r.Uint64())
			i, count := Place(elem)
			want[i] = max(want[i], count)
			v = addHYLL(t, v, string(elem))
			union.Add(elem)
		}
		mergeInto := NewUnion()
		mergeHYLL(t, mergeInto, v)
		got, err := Registers(v)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d elements: registers of the string differ, %v", n, err)
		}
		for _, u := range []*Union{union, mergeInto} {
			regs, err := u.registers()
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if regs[sketchIndex(i)] != want[i] {
					t.Fatalf("%d elements: register %d of the sketch is %d, want %d", n, i, regs[sketchIndex(i)], want[i])
				}
			}
		}
		if err := sketch.Merge(union.sketch); err != nil {
			t.Fatal(err)
		}
		// Two estimators of one set of registers: their own errors differ.
		own, _ := Count(v, &Touched{})
		if lib := sketch.Estimate(); !within(float64(own), float64(lib), 0.02*float64(n)+2) {
			t.Errorf("%d elements: estimates %d and %d", n, own, lib)
		}
	}
}

func within(a, b, tol float64) bool { return a-b <= tol && b-a <= tol }

func TestTouchedBytesGiveNewValue(t *testing.T) {
	r := structurestest.Seeded(t)
	for _, limit := range []int{sparseMax, 0, 100, 16000} {
		v := New()
		for range 3000 {
			old := bytes.Clone(v)
			var touched Touched
			var changed bool
			for range 1 + r.IntN(4) {
				var one bool
				var err error
				v, one, err = Add(v, fmt.Appendf(nil, "%d", r.IntN(4000)), limit, &touched)
				if err != nil {
					t.Fatal(err)
				}
				changed = changed || one
			}
			if r.IntN(5) == 0 {
				if _, err := Count(v, &touched); err != nil {
					t.Fatal(err)
				}
			} else if changed != touched.Any() {
				t.Fatalf("changed %v, but touched %+v", changed, touched)
			}
			if touched.Whole {
				continue
			}
			got := append(bytes.Clone(old), make([]byte, max(len(v)-len(old), 0))...)
			for _, g := range touched.Ranges() {
				copy(got[g.Off:g.End], v[g.Off:g.End])
			}
			if !bytes.Equal(got, v) {
				t.Fatalf("ranges %v do not give the new value", touched.Ranges())
			}
		}
	}
}

func TestDenseAddTouchesFewBytes(t *testing.T) {
	v, _, err := ToDense(New())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Count(v, &Touched{}); err != nil {
		t.Fatal(err)
	}
	var touched Touched
	if _, changed, err := Add(v, []byte("a"), sparseMax, &touched); !changed || err != nil {
		t.Fatalf("PFADD: %v, %v", changed, err)
	}
	n := 0
	for _, g := range touched.Ranges() {
		n += g.End - g.Off
	}
	if touched.Whole || n == 0 || n > 3 {
		t.Errorf("touched %+v, want at most three bytes", touched)
	}
}

func TestCountIsKeptUntilRegisterChanges(t *testing.T) {
	v := addHYLL(t, New(), "a", "b")
	if _, ok := Cached(v); ok {
		t.Error("a changed value has a valid cached count")
	}
	if n, err := Count(v, &Touched{}); n != 2 || err != nil {
		t.Errorf("PFCOUNT: got %d, %v, want 2", n, err)
	}
	v[cacheAt] = 77 // a valid cache is believed
	var touched Touched
	if n, err := Count(v, &touched); n != 77 || err != nil || touched.Any() {
		t.Errorf("PFCOUNT of a cached 77: got %d, %v, touched %+v", n, err, touched)
	}
	v = addHYLL(t, v, "a")
	if n, _ := Cached(v); n != 77 {
		t.Errorf("adding a known element spoilt the cache: %d", n)
	}
	v = addHYLL(t, v, "c")
	if n, err := Count(v, &Touched{}); n != 3 || err != nil {
		t.Errorf("PFCOUNT after a change: got %d, %v, want 3", n, err)
	}
}

func TestHYLLRefusesOtherStrings(t *testing.T) {
	good := string(New())
	for _, value := range []string{
		"", "HYLL", good[:15], "hyll" + good[4:], good[:4] + "\x02" + good[5:], good[:4] + "\x00" + good[5:],
		good[:4] + "\x00" + good[5:16] + strings.Repeat("\x00", 12289),
	} {
		if _, _, err := Add([]byte(value), []byte("a"), sparseMax, &Touched{}); !errors.Is(err, ErrNotHYLL) {
			t.Errorf("PFADD to %.20x: got %v", value, err)
		}
		if _, err := Count([]byte(value), &Touched{}); !errors.Is(err, ErrNotHYLL) {
			t.Errorf("PFCOUNT of %.20x: got %v", value, err)
		}
		if err := NewUnion().Merge([]byte(value)); !errors.Is(err, ErrNotHYLL) {
			t.Errorf("PFMERGE of %.20x: got %v", value, err)
		}
	}
	for _, runs := range []string{"", "\x7f", "\x7f\xfe", "\x7f\xff\x00", "\x7f\xff\x80", "\x7f\xfe\x81"} {
		value := []byte(good[:16] + runs)
		if _, err := Count(value, &Touched{}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("PFCOUNT of runs %x: got %v", runs, err)
		}
		if err := NewUnion().Merge(value); !errors.Is(err, ErrCorrupt) {
			t.Errorf("PFMERGE of runs %x: got %v", runs, err)
		}
		if _, _, err := ToDense(value); !errors.Is(err, ErrCorrupt) {
			t.Errorf("TODENSE of runs %x: got %v", runs, err)
		}
	}
	dense, _, _ := ToDense(New())
	if _, err := Decode(dense); !errors.Is(err, ErrDense) {
		t.Errorf("DECODE of a dense string: got %v", err)
	}
}

func FuzzHYLL(f *testing.F) {
	sparse := addHYLL(f, New(), numbered(30)...)
	f.Add(sparse, []byte("x"), 3000)
	f.Add(sparse, []byte("element:1"), 0)
	f.Add(append(bytes.Clone(sparse[:16]), 0x7f, 0xff, 0x83), []byte("y"), 100)
	dense := addHYLL(f, New(), numbered(3000)...)
	f.Add(dense, []byte("x"), 3000)
	f.Fuzz(func(t *testing.T, value, elem []byte, limit int) {
		whole := readableHYLL(value)
		var touched Touched
		out, _, err := Add(bytes.Clone(value), elem, limit, &touched)
		if err == nil && Check(out) != nil {
			t.Fatalf("PFADD left %x", out)
		}
		if whole != nil {
			return
		}
		if err != nil {
			t.Fatalf("PFADD to a good value: %v", err)
		}
		if err := readableHYLL(out); err != nil {
			t.Fatalf("PFADD broke the value: %v", err)
		}
		if _, err := Count(out, &touched); err != nil {
			t.Fatal(err)
		}
		u := NewUnion()
		mergeHYLL(t, u, value)
		u.Add(elem)
		merged, err := u.Store(bytes.Clone(value), limit)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := Registers(out)
		b, _ := Registers(merged)
		if !bytes.Equal(a, b) {
			t.Fatal("adding and merging give different registers")
		}
	})
}

// readableHYLL tells whether value is wholly readable.
func readableHYLL(value []byte) error {
	_, err := Registers(value)
	return err
}

func BenchmarkHYLLAdd(b *testing.B) {
	for _, n := range []int{100, 1000, 100000} {
		b.Run(fmt.Sprintf("elements=%d", n), func(b *testing.B) {
			v := addHYLL(b, New(), numbered(n)...)
			elems := make([][]byte, 1024)
			for i := range elems {
				elems[i] = fmt.Appendf(nil, "element:%d", i%n)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				var t Touched
				Add(v, elems[i&1023], sparseMax, &t)
			}
		})
	}
}

func BenchmarkHYLLCount(b *testing.B) {
	for _, n := range []int{1000, 100000} {
		b.Run(fmt.Sprintf("elements=%d", n), func(b *testing.B) {
			v := addHYLL(b, New(), numbered(n)...)
			b.ReportAllocs()
			for b.Loop() {
				v[staleAt] |= stale
				Count(v, &Touched{})
			}
		})
	}
}

func BenchmarkHYLLUnion(b *testing.B) {
	v := addHYLL(b, New(), numbered(100000)...)
	u := NewUnion()
	b.Run("merge", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			u.Merge(v)
		}
	})
	b.Run("count", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			u.Count()
		}
	})
	b.Run("sketch-estimate", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			u.sketch.Estimate()
		}
	})
}

func TestUnionOfDenseStringsHasTheLargestRegisters(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, seed))
	u, want := NewUnion(), make([]uint8, registers)
	for range 5 {
		v, _, err := ToDense(New())
		if err != nil {
			t.Fatal(err)
		}
		for i := range registers {
			count := uint8(rng.IntN(64) * rng.IntN(2))
			densePut(v[header:], i, count)
			want[i] = max(want[i], count)
		}
		mergeHYLL(t, u, v)
	}
	got, err := u.Store(nil, 3000)
	if err != nil {
		t.Fatal(err)
	}
	for i, count := range want {
		if have := denseGet(got[header:], i); have != count {
			t.Fatalf("seed %d: register %d is %d, want %d", seed, i, have, count)
		}
	}
}
