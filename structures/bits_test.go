package structures

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// seeded returns a source of chance and prints its seed if the test fails.
func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// randomBits returns n bytes that are mostly ones, mostly zeros, or mixed: long
// runs are where searches go wrong.
func randomBits(r *rand.Rand, n int) []byte {
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

// The answers are those of redis-server 7.0.15.
func TestCountBitsInAnswersAsRedis(t *testing.T) {
	b := []byte("foobar")
	for _, c := range []struct {
		start, end int64
		unit       RangeUnit
		want       int64
	}{
		{0, -1, InBytes, 26}, {0, 0, InBytes, 4}, {1, 1, InBytes, 6}, {5, 30, InBits, 17}, {-2, -1, InBytes, 7},
		{-100, -90, InBytes, 4}, {2, 1, InBytes, 0}, {-1, -2, InBytes, 0}, {-200, -300, InBits, 0},
		{-7, -2, InBits, 4}, {6, 9, InBytes, 0},
	} {
		if got := CountBitsIn(b, c.start, c.end, c.unit); got != c.want {
			t.Errorf("BITCOUNT %d %d unit %d: got %d, want %d", c.start, c.end, c.unit, got, c.want)
		}
	}
	if got := CountBitsIn(nil, 0, -1, InBytes); got != 0 {
		t.Errorf("BITCOUNT of an empty string: got %d, want 0", got)
	}
}

// The answers are those of redis-server 7.0.15.
func TestFindBitAnswersAsRedis(t *testing.T) {
	short, padded, ones := "\xff\xf0", "\xff\xf0\x00", "\xff\xff\xff"
	for _, c := range []struct {
		value string
		bit   int
		r     BitSearch
		want  int64
	}{
		{short, 0, BitSearch{}, 12},
		{short, 0, BitSearch{Start: 2}, -1},
		{short, 0, BitSearch{End: 0, HasEnd: true}, -1},
		{short, 0, BitSearch{Start: 7, End: 15, Unit: InBits, HasEnd: true}, 12},
		{short, 1, BitSearch{Start: 13, End: -1, Unit: InBits, HasEnd: true}, -1},
		{short, 1, BitSearch{Start: -1, End: -3, HasEnd: true}, -1},
		{padded, 0, BitSearch{Start: 2}, 16},
		{padded, 0, BitSearch{Start: 8, End: 11, Unit: InBits, HasEnd: true}, -1},
		{padded, 1, BitSearch{Start: 2}, -1},
		{ones, 0, BitSearch{}, 24},
		{ones, 0, BitSearch{End: -1, HasEnd: true}, -1},
		{ones, 0, BitSearch{Start: 2}, 24},
		{ones, 0, BitSearch{Start: 3}, -1},
		{"", 0, BitSearch{}, -1},
	} {
		if got := FindBit([]byte(c.value), c.bit, c.r); got != c.want {
			t.Errorf("BITPOS %x %d %+v: got %d, want %d", c.value, c.bit, c.r, got, c.want)
		}
	}
}

func TestBitRangesEqualBitByBit(t *testing.T) {
	r := seeded(t)
	for range 5000 {
		b := randomBits(r, r.IntN(70))
		total := int64(len(b))
		unit := RangeUnit(r.IntN(2))
		if unit == InBits {
			total *= 8
		}
		start, end := r.Int64N(total+1), r.Int64N(total+1)
		bit := r.IntN(2)
		count, pos := int64(0), int64(-1)
		for i := int64(0); i < int64(len(b))*8; i++ {
			at := i
			if unit == InBytes {
				at /= 8
			}
			if at < start || at > end {
				continue
			}
			got := BitAt(b, uint64(i))
			count += int64(got)
			if got == bit && pos < 0 {
				pos = i
			}
		}
		if got := CountBitsIn(b, start, end, unit); got != count {
			t.Fatalf("BITCOUNT %x %d %d unit %d: got %d, want %d", b, start, end, unit, got, count)
		}
		if got := FindBit(b, bit, BitSearch{start, end, unit, true}); got != pos {
			t.Fatalf("BITPOS %x %d %d %d unit %d: got %d, want %d", b, bit, start, end, unit, got, pos)
		}
	}
}

func TestCombineBitsEqualsByteByByte(t *testing.T) {
	r := seeded(t)
	for range 3000 {
		srcs := make([][]byte, 1+r.IntN(4))
		longest := 0
		for i := range srcs {
			srcs[i] = randomBits(r, r.IntN(50))
			longest = max(longest, len(srcs[i]))
		}
		op := BitOperator(r.IntN(4))
		if op == BitNot {
			longest = len(srcs[0])
		}
		want := make([]byte, longest)
		for i := range want {
			want[i] = combineOne(op, srcs, i)
		}
		if got := CombineBits([]byte("pre"), op, srcs); string(got) != "pre"+string(want) {
			t.Fatalf("BITOP %d of %x: got %x, want %x", op, srcs, got[3:], want)
		}
	}
}

func combineOne(op BitOperator, srcs [][]byte, i int) byte {
	at := func(s []byte) byte {
		if i < len(s) {
			return s[i]
		}
		return 0
	}
	x := at(srcs[0])
	if op == BitNot {
		return ^x
	}
	for _, s := range srcs[1:] {
		switch op {
		case BitAnd:
			x &= at(s)
		case BitOr:
			x |= at(s)
		case BitXor:
			x ^= at(s)
		}
	}
	return x
}

func TestPutBitReturnsOldBit(t *testing.T) {
	b := make([]byte, 2)
	if old := PutBit(b, 9, 1); old != 0 || !bytes.Equal(b, []byte{0, 0x40}) {
		t.Errorf("SETBIT 9 1: got %d and %x, want 0 and 0040", old, b)
	}
	if old := PutBit(b, 9, 0); old != 1 || !bytes.Equal(b, []byte{0, 0}) {
		t.Errorf("SETBIT 9 0: got %d and %x, want 1 and 0000", old, b)
	}
	if got := BitAt(b, 1<<40); got != 0 {
		t.Errorf("GETBIT behind the end: got %d, want 0", got)
	}
}

func BenchmarkCountBits(b *testing.B) {
	for _, n := range []int{16, 4096, 1 << 20} {
		b.Run(fmt.Sprintf("bytes=%d", n), func(b *testing.B) {
			buf := bytes.Repeat([]byte{0xa5}, n)
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				CountBits(buf)
			}
		})
	}
}

// Long results are made a part at a time: sources end before, at and behind the ends
// of parts.
func TestCombineBitsOfLongSourcesEqualsByteByByte(t *testing.T) {
	r := seeded(t)
	for range 40 {
		srcs := make([][]byte, 1+r.IntN(5))
		longest := 0
		for i := range srcs {
			srcs[i] = randomBits(r, max(r.IntN(4)*combinedBytes+r.IntN(19)-9, 0))
			longest = max(longest, len(srcs[i]))
		}
		given := slices.Clone(srcs)
		op := BitOperator(r.IntN(4))
		if op == BitNot {
			longest = len(srcs[0])
		}
		got := CombineBits(nil, op, srcs)
		if len(got) != longest {
			t.Fatalf("BITOP %d: got %d bytes, want %d", op, len(got), longest)
		}
		for i := range got {
			if want := combineOne(op, given, i); got[i] != want {
				t.Fatalf("BITOP %d of %d sources, byte %d of %d: got %x, want %x", op, len(srcs), i, longest, got[i], want)
			}
		}
	}
}

func BenchmarkFindBit(b *testing.B) {
	buf := make([]byte, 1<<20)
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	for b.Loop() {
		FindBit(buf, 1, BitSearch{})
	}
}

func BenchmarkCombineBits(b *testing.B) {
	srcs := [][]byte{make([]byte, 1<<20), make([]byte, 1<<20)}
	dst := make([]byte, 0, 1<<20)
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	for b.Loop() {
		CombineBits(dst, BitXor, srcs)
	}
}
