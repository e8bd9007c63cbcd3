package bits

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures/structurestest"
)

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
		if got := Count(b, c.start, c.end, c.unit); got != c.want {
			t.Errorf("BITCOUNT %d %d unit %d: got %d, want %d", c.start, c.end, c.unit, got, c.want)
		}
	}
	if got := Count(nil, 0, -1, InBytes); got != 0 {
		t.Errorf("BITCOUNT of an empty string: got %d, want 0", got)
	}
}

// The answers are those of redis-server 7.0.15.
func TestFindBitAnswersAsRedis(t *testing.T) {
	short, padded, ones := "\xff\xf0", "\xff\xf0\x00", "\xff\xff\xff"
	for _, c := range []struct {
		value string
		bit   int
		r     Search
		want  int64
	}{
		{short, 0, Search{}, 12},
		{short, 0, Search{Start: 2}, -1},
		{short, 0, Search{End: 0, HasEnd: true}, -1},
		{short, 0, Search{Start: 7, End: 15, Unit: InBits, HasEnd: true}, 12},
		{short, 1, Search{Start: 13, End: -1, Unit: InBits, HasEnd: true}, -1},
		{short, 1, Search{Start: -1, End: -3, HasEnd: true}, -1},
		{padded, 0, Search{Start: 2}, 16},
		{padded, 0, Search{Start: 8, End: 11, Unit: InBits, HasEnd: true}, -1},
		{padded, 1, Search{Start: 2}, -1},
		{ones, 0, Search{}, 24},
		{ones, 0, Search{End: -1, HasEnd: true}, -1},
		{ones, 0, Search{Start: 2}, 24},
		{ones, 0, Search{Start: 3}, -1},
		{"", 0, Search{}, -1},
	} {
		if got := Find([]byte(c.value), c.bit, c.r); got != c.want {
			t.Errorf("BITPOS %x %d %+v: got %d, want %d", c.value, c.bit, c.r, got, c.want)
		}
	}
}

func TestBitRangesEqualBitByBit(t *testing.T) {
	r := structurestest.Seeded(t)
	for range 5000 {
		b := structurestest.Bits(r, r.IntN(70))
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
			got := At(b, uint64(i))
			count += int64(got)
			if got == bit && pos < 0 {
				pos = i
			}
		}
		if got := Count(b, start, end, unit); got != count {
			t.Fatalf("BITCOUNT %x %d %d unit %d: got %d, want %d", b, start, end, unit, got, count)
		}
		if got := Find(b, bit, Search{start, end, unit, true}); got != pos {
			t.Fatalf("BITPOS %x %d %d %d unit %d: got %d, want %d", b, bit, start, end, unit, got, pos)
		}
	}
}

func TestCombineBitsEqualsByteByByte(t *testing.T) {
	r := structurestest.Seeded(t)
	for range 3000 {
		srcs := make([][]byte, 1+r.IntN(4))
		longest := 0
		for i := range srcs {
			srcs[i] = structurestest.Bits(r, r.IntN(50))
			longest = max(longest, len(srcs[i]))
		}
		op := Operator(r.IntN(int(One) + 1))
		if op == Not {
			longest = len(srcs[0])
		}
		want := make([]byte, longest)
		for i := range want {
			want[i] = combineOne(op, srcs, i)
		}
		if got := Combine([]byte("pre"), op, srcs); string(got) != "pre"+string(want) {
			t.Fatalf("BITOP %d of %x: got %x, want %x", op, srcs, got[3:], want)
		}
	}
}

func combineOne(op Operator, srcs [][]byte, i int) byte {
	at := func(s []byte) byte {
		if i < len(s) {
			return s[i]
		}
		return 0
	}
	x, others, once, repeated := at(srcs[0]), byte(0), at(srcs[0]), byte(0)
	both, differ := x, x
	for _, s := range srcs[1:] {
		y := at(s)
		both &= y
		differ ^= y
		others |= y
		repeated |= once & y
		once |= y
	}
	switch op {
	case And:
		return both
	case Or:
		return x | others
	case Xor:
		return differ
	case Not:
		return ^x
	case Diff:
		return x &^ others
	case Diff1:
		return others &^ x
	case AndOr:
		return x & others
	default:
		return once &^ repeated
	}
}

func TestPutBitReturnsOldBit(t *testing.T) {
	b := make([]byte, 2)
	if old := Put(b, 9, 1); old != 0 || !bytes.Equal(b, []byte{0, 0x40}) {
		t.Errorf("SETBIT 9 1: got %d and %x, want 0 and 0040", old, b)
	}
	if old := Put(b, 9, 0); old != 1 || !bytes.Equal(b, []byte{0, 0}) {
		t.Errorf("SETBIT 9 0: got %d and %x, want 1 and 0000", old, b)
	}
	if got := At(b, 1<<40); got != 0 {
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
	r := structurestest.Seeded(t)
	for range 40 {
		srcs := make([][]byte, 1+r.IntN(5))
		longest := 0
		for i := range srcs {
			srcs[i] = structurestest.Bits(r, max(r.IntN(4)*combinedBytes+r.IntN(19)-9, 0))
			longest = max(longest, len(srcs[i]))
		}
		given := slices.Clone(srcs)
		op := Operator(r.IntN(int(One) + 1))
		if op == Not {
			longest = len(srcs[0])
		}
		got := Combine(nil, op, srcs)
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
		Find(buf, 1, Search{})
	}
}

func BenchmarkCombineBits(b *testing.B) {
	srcs := [][]byte{make([]byte, 1<<20), make([]byte, 1<<20)}
	dst := make([]byte, 0, 1<<20)
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	for b.Loop() {
		Combine(dst, Xor, srcs)
	}
}
