package bloom

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

const noLimit = math.MaxUint64

func reserved(t testing.TB, rate float64, capacity uint64, expansion uint32) *Filter {
	t.Helper()
	f := New()
	if err := f.Reserve(nil, Shape{Error: rate, Capacity: capacity, Expansion: expansion}, noLimit); err != nil {
		t.Fatal(err)
	}
	return f
}

func addBloom(t testing.TB, ch *structures.Change, f *Filter, item string) bool {
	t.Helper()
	added, err := f.Add(ch, []byte(item), noLimit)
	if err != nil {
		t.Fatalf("BF.ADD %s: %v", item, err)
	}
	return added
}

func dumpBloom(f *Filter) (header, rest []byte) {
	iter, header := f.DumpChunk(nil, 0)
	for iter > 0 {
		iter, rest = f.DumpChunk(rest, iter)
	}
	return header, rest
}

func layerSizes(f *Filter) []uint64 {
	var sizes []uint64
	for _, l := range f.layers {
		sizes = append(sizes, l.bytes)
	}
	return sizes
}

// The reference values of this file were computed by a second implementation
// of RedisBloom's rules, in another language.
func TestHashesAreThoseOfAppleby(t *testing.T) {
	if got := structures.Murmur64A([]byte("hello"), seed64); got != 0x5ba5b8a59803e699 {
		t.Errorf("64 bits of hello: got %#x", got)
	}
	if got := structures.Murmur64A([]byte("12345678"), 0xadc83b19); got != 0x95ebb86389132953 {
		t.Errorf("64 bits of 12345678: got %#x", got)
	}
	if got := structures.Murmur32([]byte("hello"), seed32); got != 0x7f1ddbbd {
		t.Errorf("32 bits of hello: got %#x", got)
	}
}

func TestDefaultFilterIsThatOfRedisBloom(t *testing.T) {
	f := reserved(t, DefaultError, DefaultCapacity, DefaultExpansion)
	want := Info{Capacity: 100, Bytes: 240, Layers: 1, Expansion: 2}
	if got := f.Info(); got != want {
		t.Errorf("BF.INFO: got %+v, want %+v", got, want)
	}
	for _, item := range []string{"a", "b", "redis", "a longer item of thirty bytes."} {
		addBloom(t, nil, f, item)
	}
	header, chunk := dumpBloom(f)
	if got := hex.EncodeToString(header); got != "04000000000000000100000005000000020000009000000000000000"+
		"800400000000000004000000000000007b14ae47e17a743fe9862fb2350e264008000000640000000000000000" {
		t.Errorf("header: got %s", got)
	}
	if got := hex.EncodeToString(chunk); got != "000000000000000008002000004000000000000800100000000000040200000002000000000000000000000000000000"+
		"000000000000044000402000000200000000000800000800000000000000000000080000000000000000000018000101"+
		"000000088000002800000000000000000000080000000000000000800008080110040000000000000000008000000000" {
		t.Errorf("bits: got %s", got)
	}
}

func TestGrowingFilterIsThatOfRedisBloom(t *testing.T) {
	for _, c := range []struct {
		rate      float64
		capacity  uint64
		expansion uint32
		n, added  int
		sizes     []uint64
		header    uint32
		bits      uint32
	}{
		{0.001, 4, 4, 50, 49, []uint64{8, 40, 152}, 0xd31a74d2, 0xd0bbdcd0},
		{0.01, 100, 2, 5000, 4961, []uint64{144, 312, 696, 1536, 3360, 7304}, 0xb6a08986, 0x5685cdbd},
		{0.0001, 1000, 3, 20000, 20000, []uint64{2584, 8272, 26440, 84176}, 0x0c478924, 0x6e27ae85},
	} {
		f := reserved(t, c.rate, c.capacity, c.expansion)
		added := 0
		for i := range c.n {
			if addBloom(t, nil, f, fmt.Sprintf("item:%d", i)) {
				added++
			}
		}
		header, bits := dumpBloom(f)
		if got := fmt.Sprint(layerSizes(f)); got != fmt.Sprint(c.sizes) || added != c.added || f.Card() != uint64(c.added) {
			t.Errorf("%g %d: layers %s, %d added, want %v, %d", c.rate, c.capacity, got, added, c.sizes, c.added)
		}
		if a, b := crc32.ChecksumIEEE(header), crc32.ChecksumIEEE(bits); a != c.header || b != c.bits {
			t.Errorf("%g %d: sums %#x %#x, want %#x %#x", c.rate, c.capacity, a, b, c.header, c.bits)
		}
		for i := range c.n {
			if !f.Exists(fmt.Appendf(nil, "item:%d", i)) {
				t.Fatalf("%g %d: item %d is lost", c.rate, c.capacity, i)
			}
		}
	}
	f := reserved(t, 0.001, 4, 4)
	for i := range 50 {
		addBloom(t, nil, f, fmt.Sprintf("item:%d", i))
	}
	if got := f.Info().Bytes; got != 424 {
		t.Errorf("BF.INFO Size of three layers: got %d, want 424", got)
	}
}

func TestFixedFilterIsFull(t *testing.T) {
	f := New()
	if err := f.Reserve(nil, Shape{Error: 0.001, Capacity: 10, Expansion: 2, Fixed: true}, noLimit); err != nil {
		t.Fatal(err)
	}
	if info := f.Info(); !info.Fixed || f.options != 13 || f.layers[0].rate != 0.001 {
		t.Errorf("fixed filter: %+v, options %d, error %g", info, f.options, f.layers[0].rate)
	}
	n := 0
	for ; f.Card() < 10; n++ {
		addBloom(t, nil, f, fmt.Sprint(n))
	}
	var ch structures.Change
	if added, err := f.Add(&ch, []byte("another"), noLimit); added || !errors.Is(err, ErrFull) || ch.Len() > 0 {
		t.Errorf("BF.ADD to a full filter: got %v, %v", added, err)
	}
	// An item that is there is no reason to fail.
	if added, err := f.Add(&ch, []byte("0"), noLimit); added || err != nil {
		t.Errorf("BF.ADD of a known item to a full filter: got %v, %v", added, err)
	}
}

func TestReserveChecksShapeAndLimit(t *testing.T) {
	for _, s := range []Shape{
		{Error: 0, Capacity: 1}, {Error: 1, Capacity: 1}, {Error: -1, Capacity: 1}, {Error: math.NaN(), Capacity: 1},
		{Error: 0.1, Capacity: 0}, {Error: 0.1, Capacity: MaxCapacity + 1}, {Error: 0.1, Capacity: 1, Expansion: MaxExpansion + 1},
	} {
		if err := New().Reserve(nil, s, noLimit); !errors.Is(err, ErrParams) {
			t.Errorf("BF.RESERVE %+v: got %v", s, err)
		}
	}
	f := New()
	if err := f.Reserve(nil, Shape{Error: 0.01, Capacity: 100, Expansion: 2}, 143); !errors.Is(err, ErrMemory) {
		t.Errorf("144 bytes where 143 are allowed: got %v", err)
	}
	if err := f.Reserve(nil, Shape{Error: 0.01, Capacity: 100, Expansion: 2}, 144); err != nil {
		t.Errorf("144 bytes where 144 are allowed: got %v", err)
	}
	if err := f.Reserve(nil, Shape{Error: 1e-300, Capacity: MaxCapacity, Expansion: 2}, noLimit); !errors.Is(err, ErrMemory) {
		t.Errorf("180 GB: got %v", err)
	}
	var err error
	for i := 0; err == nil && i < 10000; i++ {
		_, err = f.Add(nil, fmt.Append(nil, i), 144+312)
	}
	if !errors.Is(err, ErrMemory) || len(f.layers) != 2 {
		t.Errorf("growing beyond the limit: got %v with %d layers", err, len(f.layers))
	}
	half := reserved(t, 0.9, 100, 2)
	if got := half.layers[0].rate; got != 0.125 {
		t.Errorf("error 0.9: first layer has %g, want 0.125", got)
	}
}

func TestLargeReservationHoldsNoMemory(t *testing.T) {
	f := reserved(t, 0.01, 1<<30, 2)
	if f.Size() > 10_000 {
		t.Errorf("an empty filter of 1.4 GB holds %d bytes", f.Size())
	}
	addBloom(t, nil, f, "a")
	if f.Size() > 4<<20 || !f.Exists([]byte("a")) {
		t.Errorf("a filter of one item holds %d bytes", f.Size())
	}
	n := 0
	f.Pages(false, func(uint64, []byte) { n++ })
	if n > 8 {
		t.Errorf("one item changes %d pages, want at most one for each hash", n)
	}
}

// A filter that is replayed, stored and loaded, or dumped and loaded equals the
// one that was changed.
func TestBloomEqualsItselfThroughReplayStoreAndDump(t *testing.T) {
	r := structurestest.Seeded(t)
	for range 20 {
		var ch structures.Change
		f := New()
		// Each layer has half the rate of the one before: a filter of single items is
		// full before it has held them all.
		shape := Shape{
			Error: []float64{0.3, 0.01, 1e-6}[r.IntN(3)], Capacity: 20 + r.Uint64N(3000), Expansion: uint32(1 + r.IntN(3)),
		}
		if err := f.Reserve(&ch, shape, noLimit); err != nil {
			t.Fatal(err)
		}
		disk := structurestest.Shelf{}
		disk.Store(t, f)
		for range 5 {
			for range r.IntN(1500) {
				addBloom(t, &ch, f, fmt.Sprint(r.IntN(20000)))
			}
			disk.Store(t, f)
			stored, err := Decode(f.AppendHead(nil))
			if err != nil {
				t.Fatal(err)
			}
			disk.Load(t, stored)
			sameBloom(t, "stored", stored, f)
		}
		replayed := New()
		structurestest.Replay(t, replayed, ch.Encoded())
		sameBloom(t, "replayed", replayed, f)

		ch.Reset(0)
		loaded := New()
		_, header := f.DumpChunk(nil, 0)
		if err := loaded.LoadHeader(&ch, header, noLimit); err != nil {
			t.Fatal(err)
		}
		for iter := int64(1); ; {
			next, chunk := f.DumpChunk(nil, iter)
			if next == 0 {
				break
			}
			if err := loaded.LoadChunk(&ch, next, chunk); err != nil {
				t.Fatal(err)
			}
			iter = next
		}
		sameBloom(t, "loaded", loaded, f)
		replayed = New()
		structurestest.Replay(t, replayed, ch.Encoded())
		sameBloom(t, "load replayed", replayed, f)
	}
}

func sameBloom(t *testing.T, what string, got, want *Filter) {
	t.Helper()
	h1, b1 := dumpBloom(got)
	h2, b2 := dumpBloom(want)
	if !bytes.Equal(h1, h2) || !bytes.Equal(b1, b2) {
		t.Fatalf("%s filter differs: headers %x and %x, %d and %d bytes", what, h1, h2, len(b1), len(b2))
	}
	if !bytes.Equal(got.AppendHead(nil), want.AppendHead(nil)) {
		t.Fatalf("%s filter has another head", what)
	}
}

func TestDumpCutsChunksAtLayersAndAt16MiB(t *testing.T) {
	f := reserved(t, 0.01, 15_000_000, 2) // 20 MB
	size := int64(f.layers[0].bytes)
	addBloom(t, nil, f, "a")
	next, chunk := f.DumpChunk(nil, 1)
	if len(chunk) != Chunk || next != 1+Chunk {
		t.Errorf("first chunk: %d bytes, next %d", len(chunk), next)
	}
	next, chunk = f.DumpChunk(nil, next)
	if int64(len(chunk)) != size-Chunk || next != 1+size {
		t.Errorf("second chunk: %d bytes, next %d", len(chunk), next)
	}
	for _, iter := range []int64{next, next + 1, math.MaxInt64, -1, math.MinInt64} {
		if next, chunk := f.DumpChunk(nil, iter); next != 0 || len(chunk) != 0 {
			t.Errorf("iterator %d: got %d and %d bytes", iter, next, len(chunk))
		}
	}
	small := reserved(t, 0.001, 4, 4)
	for i := range 50 {
		addBloom(t, nil, small, fmt.Sprintf("item:%d", i))
	}
	var sizes []int
	for iter := int64(1); ; {
		next, chunk := small.DumpChunk(nil, iter)
		if next == 0 {
			break
		}
		sizes, iter = append(sizes, len(chunk)), next
	}
	if fmt.Sprint(sizes) != "[8 40 152]" {
		t.Errorf("chunks of three small layers: got %v", sizes)
	}
}

func TestLoadChunkRefusals(t *testing.T) {
	f := reserved(t, 0.001, 4, 4)
	for i := range 50 {
		addBloom(t, nil, f, fmt.Sprintf("item:%d", i))
	}
	before, bitsBefore := dumpBloom(f)
	var ch structures.Change
	for _, c := range []struct {
		iter int64
		n    int
		want error
	}{
		{0, 0, ErrBadData}, {-5, 1, ErrBadData}, {7, 8, ErrBadData}, {math.MinInt64, 0, ErrBadData},
		{8, 8, ErrNoLayer}, {201, 0, ErrNoLayer}, {209, 8, ErrNoLayer}, {math.MaxInt64, 3, ErrNoLayer},
		{10, 9, ErrChunkTooBig}, {50, 41, ErrChunkTooBig}, {202, 153, ErrChunkTooBig},
	} {
		if err := f.LoadChunk(&ch, c.iter, make([]byte, c.n)); !errors.Is(err, c.want) {
			t.Errorf("BF.LOADCHUNK %d of %d bytes: got %v, want %v", c.iter, c.n, err, c.want)
		}
	}
	header, bits := dumpBloom(f)
	if ch.Len() > 0 || !bytes.Equal(before, header) || !bytes.Equal(bits, bitsBefore) {
		t.Error("a refused chunk changed the filter")
	}
}

func TestReserveOfADamagedRecordIsRefused(t *testing.T) {
	for name, r := range map[string]struct{ options, growth uint64 }{
		"unknown option": {allOptions + 1, 2}, "large option": {1 << 40, 2}, "large expansion": {0, 1 << 40},
	} {
		var ch structures.Change
		ch.Op(opBloomReserve, 4)
		ch.Uint(math.Float64bits(.01))
		ch.Uint(100)
		ch.Uint(r.options)
		ch.Uint(r.growth)
		if err := structurestest.Apply(New(), ch.Encoded()); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestLoadHeaderRefusals(t *testing.T) {
	good := reserved(t, 0.01, 100, 2).appendHeader(nil)
	if err := New().LoadHeader(nil, good, noLimit); err != nil {
		t.Fatalf("good header: %v", err)
	}
	if err := New().LoadHeader(nil, good, 143); !errors.Is(err, ErrMemory) {
		t.Errorf("144 bytes where 143 are allowed: got %v", err)
	}
	with := func(off int, b ...byte) []byte {
		out := bytes.Clone(good)
		copy(out[off:], b)
		return out
	}
	float := func(x float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)) }
	for name, header := range map[string][]byte{
		"empty": nil, "short": good[:72], "long": append(bytes.Clone(good), 0), "no layers": good[:20],
		"two layers, one there": with(8, 2), "no layer, one there": with(8, 0), "unknown option": with(12, 16),
		"items": with(0, 1), "layer items": with(20+16, 1),
		"error 0": with(20+24, float(0)...), "error 1": with(20+24, float(1)...), "error NaN": with(20+24, float(math.NaN())...),
		"n2 of 64": with(20+52, 64), "n2 above bits": with(20+52, 11),
		"no bits": with(20, make([]byte, 16)...), "bits not bytes": with(20+8, 0x81),
		"bytes overflow": with(20, 0, 0, 0, 0, 0, 0, 0, 0x80),
		"hashes":         with(20+40, 9), "no hashes": with(20+32, append(float(0), 0, 0, 0, 0)...),
		"bits an entry": with(20+32, float(1e9)...), "bits an entry NaN": with(20+32, float(math.NaN())...),
	} {
		f := New()
		if err := f.LoadHeader(nil, header, noLimit); !errors.Is(err, ErrBadData) || len(f.layers) != 0 {
			t.Errorf("%s: got %v", name, err)
		}
	}
	// 2^60 bytes, 2^63 bits.
	huge := with(20, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x80)
	if err := New().LoadHeader(nil, huge, noLimit); !errors.Is(err, ErrMemory) {
		t.Errorf("2^60 bytes: got %v", err)
	}
}

// Filters of other tools: a modulus of a power of two, 32-bit hashes.
func TestRoundedAndOldFiltersWork(t *testing.T) {
	for _, options := range []uint32{0, force64} {
		f := New()
		if err := f.reserve(0.01, 100, options, 2, noLimit); err != nil {
			t.Fatal(err)
		}
		if l := f.layers[0]; l.n2 != 11 || l.bits != 2048 || l.entries <= 100 {
			t.Errorf("rounded layer: n2 %d, %d bits, %d entries", l.n2, l.bits, l.entries)
		}
		for i := range 1000 {
			addBloom(t, nil, f, fmt.Sprint(i))
		}
		g := New()
		header, bits := dumpBloom(f)
		if err := g.LoadHeader(nil, header, noLimit); err != nil {
			t.Fatal(err)
		}
		if g.LoadChunk(nil, 1+int64(g.layers[0].bytes), bits[:g.layers[0].bytes]) != nil || !g.Exists([]byte("1")) {
			t.Error("rounded filter lost an item")
		}
	}
}

func TestErrorRateHolds(t *testing.T) {
	f := reserved(t, 0.01, 1000, 2)
	for i := range 20000 {
		addBloom(t, nil, f, fmt.Sprintf("in:%d", i))
	}
	wrong := 0
	for i := range 20000 {
		if f.Exists(fmt.Appendf(nil, "out:%d", i)) {
			wrong++
		}
	}
	if wrong > 200 {
		t.Errorf("%d of 20000 wrong answers, want at most one in 100", wrong)
	}
}

func TestLogIsRoundedToNearest(t *testing.T) {
	for x, want := range map[float64]float64{
		0.5: -math.Ln2, 0.25: -2 * math.Ln2, 0.005: -0x1.5317a1b949c53p+2, math.SmallestNonzeroFloat64: -0x1.74385446d71c3p+9,
	} {
		if got := structures.LogRounded(x); got != want {
			t.Errorf("ln %g: got %x, want %x", x, got, want)
		}
	}
	r := structurestest.Seeded(t)
	for range 300 {
		x := math.Ldexp(r.Float64(), -r.IntN(40))
		if got, lib := structures.LogRounded(x), math.Log(x); math.Abs(got-lib) > 2*math.Abs(lib)*0x1p-52 {
			t.Fatalf("ln %g: got %g, library has %g", x, got, lib)
		}
	}
}

func TestBloomEncodingIsFrozen(t *testing.T) {
	var ch structures.Change
	f := New()
	if err := f.Reserve(&ch, Shape{Error: 0.5, Capacity: 3, Expansion: 2}, noLimit); err != nil {
		t.Fatal(err)
	}
	addBloom(t, &ch, f, "a")
	if err := f.LoadChunk(&ch, 4, []byte("xy")); err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(ch.Encoded()); got != "100408000000000000e03f0103010501021101016113020101027879" {
		t.Errorf("record: got %s", got)
	}
	if got := f.AppendHead(nil); len(got) != 20+53+8 || string(got[73:76]) != string(got[73])+"xy" {
		t.Errorf("head: got %x", got)
	}
	big := reserved(t, 0.01, 100_000, 2)
	addBloom(t, nil, big, "a")
	head := big.AppendHead(nil)
	if want := "01026d01000000000000"; hex.EncodeToString(head[73:]) != want {
		t.Errorf("pages in the head of a big filter: got %x, want %s", head[73:], want)
	}
	var ids []uint64
	big.Pages(false, func(id uint64, page []byte) { ids = append(ids, id) })
	if len(ids) == 0 || ids[len(ids)-1] >= 9 {
		t.Errorf("pages: got %v", ids)
	}
}
