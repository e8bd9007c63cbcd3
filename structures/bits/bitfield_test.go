package bits

import (
	"math/big"
	"testing"

	"github.com/vigildb/vigil/structures/structurestest"
)

func TestFieldArithmeticAnswersAsRedis(t *testing.T) {
	const least, most = -1 << 63, 1<<63 - 1
	i8, u8, i64, u63 := FieldType{true, 8}, FieldType{false, 8}, FieldType{true, 64}, FieldType{false, 63}
	for _, c := range []struct {
		t          FieldType
		from, incr int64
		how        Overflow
		want       int64
		ok         bool
	}{
		{u8, 255, 1, OverflowWrap, 0, true}, {u8, 255, 1, OverflowSat, 255, true}, {u8, 255, 1, OverflowFail, 255, false},
		{u8, 0, -1, OverflowWrap, 255, true}, {u8, 0, -1, OverflowSat, 0, true}, {u8, 100, -101, OverflowFail, 100, false},
		// The limits themselves are no overflow.
		{u8, 254, 1, OverflowFail, 255, true}, {u8, 0, 255, OverflowFail, 255, true}, {u8, 1, -1, OverflowFail, 0, true},
		{i8, 126, 1, OverflowFail, 127, true}, {i8, -127, -1, OverflowFail, -128, true}, {i8, -128, 255, OverflowFail, 127, true},
		{i64, most - 1, 1, OverflowFail, most, true}, {i64, least + 1, -1, OverflowFail, least, true},
		{u63, 0, most, OverflowFail, most, true}, {u63, most - 1, 2, OverflowFail, most - 1, false},
		{i8, 127, 1, OverflowWrap, -128, true}, {i8, -128, -1, OverflowWrap, 127, true},
		{i8, 100, 100, OverflowSat, 127, true}, {i8, -100, -100, OverflowSat, -128, true},
		{i8, -1, most, OverflowSat, 127, true}, {i8, 0, least, OverflowSat, -128, true},
		{i64, most, 1, OverflowWrap, least, true}, {i64, most, 1, OverflowSat, most, true},
		{i64, least, -1, OverflowFail, least, false}, {i64, -1, least, OverflowSat, least, true}, {i64, -1, least, OverflowWrap, most, true},
		{u63, most, 1, OverflowWrap, 0, true}, {u63, most, most, OverflowSat, most, true}, {u63, 5, least, OverflowSat, 0, true},
	} {
		b := make([]byte, 9)
		SetField(b, c.t, 3, c.from, OverflowWrap)
		got, ok := IncrField(b, c.t, 3, c.incr, c.how)
		if got != c.want || ok != c.ok || GetField(b, c.t, 3) != c.want {
			t.Errorf("%+v: INCRBY: got %d %v, holds %d", c, got, ok, GetField(b, c.t, 3))
		}
	}
	for _, c := range []struct {
		t    FieldType
		v    int64
		how  Overflow
		want int64
		ok   bool
	}{
		{u8, 256, OverflowWrap, 0, true}, {u8, 256, OverflowSat, 255, true}, {u8, 256, OverflowFail, 0, false},
		{u8, 255, OverflowFail, 255, true}, {u8, 0, OverflowFail, 0, true}, {i8, 127, OverflowFail, 127, true},
		{i8, -128, OverflowFail, -128, true}, {i64, most, OverflowFail, most, true}, {i64, least, OverflowFail, least, true},
		{u63, most, OverflowFail, most, true},
		// A negative number is too large for an unsigned type.
		{u8, -1, OverflowWrap, 255, true}, {u8, -1, OverflowSat, 255, true},
		{i8, -129, OverflowSat, -128, true}, {i8, 128, OverflowWrap, -128, true}, {i8, -129, OverflowFail, 0, false},
		{i8, least, OverflowSat, 127, true}, {i8, least + 127, OverflowSat, 127, true}, {i8, least + 128, OverflowSat, -128, true},
		{i64, least, OverflowSat, least, true},
	} {
		b := make([]byte, 9)
		_, ok := SetField(b, c.t, 5, c.v, c.how)
		if got := GetField(b, c.t, 5); got != c.want || ok != c.ok {
			t.Errorf("%+v: SET: holds %d, %v", c, got, ok)
		}
	}
}

// The model keeps the whole string as one big number.
func TestFieldsEqualBigNumbers(t *testing.T) {
	r := structurestest.Seeded(t)
	const size = 24
	for range 3000 {
		b := structurestest.Bits(r, size)
		before := new(big.Int).SetBytes(b)
		ft := FieldType{r.IntN(2) == 0, 1 + r.IntN(63)}
		if ft.Signed && r.IntN(8) == 0 {
			ft.Bits = 64
		}
		off := uint64(r.IntN(size*8 - ft.Bits + 1))
		up := uint(size*8 - int(off) - ft.Bits)
		mask := new(big.Int).Lsh(big.NewInt(1), uint(ft.Bits))
		mask.Sub(mask, big.NewInt(1))
		read := new(big.Int).And(new(big.Int).Rsh(before, up), mask)
		if ft.Signed && read.Bit(ft.Bits-1) == 1 {
			read.Sub(read, new(big.Int).Lsh(big.NewInt(1), uint(ft.Bits)))
		}
		if got := GetField(b, ft, off); got != read.Int64() {
			t.Fatalf("GET %+v %d of %x: got %d, want %s", ft, off, before, got, read)
		}
		v := int64(r.Uint64()) >> r.IntN(64)
		if old, _ := SetField(b, ft, off, v, OverflowWrap); old != read.Int64() {
			t.Fatalf("SET %+v %d: old %d, want %s", ft, off, old, read)
		}
		want := new(big.Int).AndNot(before, new(big.Int).Lsh(mask, up))
		want.Or(want, new(big.Int).Lsh(new(big.Int).And(big.NewInt(v), mask), up))
		if got := new(big.Int).SetBytes(b); got.Cmp(want) != 0 {
			t.Fatalf("SET %+v %d %d: got %x, want %x", ft, off, v, got, want)
		}
		from, to := FieldBytes(ft, off)
		if from != off/8 || to != (off+uint64(ft.Bits)+7)/8 {
			t.Fatalf("FieldBytes %+v %d: got %d to %d", ft, off, from, to)
		}
	}
}

func TestFieldBehindEndReadsZeros(t *testing.T) {
	b := []byte{0xff, 0xff}
	for off, want := range map[uint64]int64{12: 0xf0, 16: 0, 1 << 40: 0, 8: 0xff} {
		if got := GetField(b, FieldType{false, 8}, off); got != want {
			t.Errorf("GET u8 %d of ffff: got %#x, want %#x", off, got, want)
		}
	}
}

func BenchmarkIncrField(b *testing.B) {
	buf := make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		IncrField(buf, FieldType{false, 32}, 100, 1, OverflowWrap)
	}
}
