package countmin

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

func initialised(t testing.TB, ch *structures.Change, width, depth uint64) *Sketch {
	t.Helper()
	s := New()
	if err := s.Init(ch, width, depth, 1<<30); err != nil {
		t.Fatal(err)
	}
	return s
}

// Cells are those of a plain table, through replay, disk and records.
func TestSketchDoesWhatATableDoes(t *testing.T) {
	r := structurestest.Seeded(t)
	for range 40 {
		var ch structures.Change
		width, depth := 1+r.Uint64N(900), 1+r.Uint64N(8)
		s, table, count := initialised(t, &ch, width, depth), make([]uint64, width*depth), uint64(0)
		shelf := structurestest.Shelf{}
		for range 500 {
			item, n := fmt.Append(nil, r.IntN(300)), []uint64{0, 1, 7, 1 << 31, math.MaxInt64}[r.IntN(5)]
			least := uint64(math.MaxUint32)
			for row := range depth {
				c := &table[row*width+uint64(structures.Murmur32(item, uint32(row)))%width]
				*c = min(*c+n, math.MaxUint32)
				least = min(least, *c)
			}
			count += n
			if got := s.Add(&ch, item, n); uint64(got) != least || s.Estimate(item) != got || s.Count() != count {
				t.Fatalf("Add: got %d, want %d", got, least)
			}
			if r.IntN(50) == 0 {
				shelf.Store(t, s)
			}
		}
		same := func(what string, o *Sketch) {
			t.Helper()
			if structurestest.State(o) != structurestest.State(s) {
				t.Fatalf("%s differs", what)
			}
		}
		again := New()
		structurestest.Replay(t, again, ch.Encoded())
		same("replayed", again)
		same("stored", structurestest.Again(t, s, Decode))
		if s.IsCompact(1 << 20) {
			again.LoadCompact(s.AppendCompact(nil))
			same("record", again)
		}
	}
}

// A sketch never counts too little, and too much only for few items.
func TestEstimatesAreNeverBelowAndSeldomFarAbove(t *testing.T) {
	r := structurestest.Seeded(t)
	const rate, probability = 0.001, 0.01
	width, depth := ShapeFor(rate, probability)
	s, truth, count := initialised(t, nil, uint64(width), uint64(depth)), map[uint64]uint64{}, 0
	z := rand.NewZipf(r, 1.1, 1, 1<<20)
	for range 1_000_000 {
		x := z.Uint64()
		truth[x]++
		count++
		s.Add(nil, fmt.Append(nil, x), 1)
	}
	far := 0
	for x, n := range truth {
		got := uint64(s.Estimate(fmt.Append(nil, x)))
		if got < n {
			t.Fatalf("%d was counted %d times, estimate %d", x, n, got)
		}
		if float64(got-n) > rate*float64(count) {
			far++
		}
	}
	if float64(far) > probability*float64(len(truth)) {
		t.Errorf("%d of %d estimates are too high by more than %g", far, len(truth), rate)
	}
	t.Logf("%d x %d: %d of %d estimates too high", int(width), int(depth), far, len(truth))
}

func TestShapeIsThatOfRedisBloom(t *testing.T) {
	for p, want := range map[float64]float64{.5: 1, .25: 2, .125: 3, .0625: 4, .03125: 5, .1: 4, .01: 7, .001: 10, 1e-6: 20, 1e-9: 30, .9: 1, .999: 1, .3: 2} {
		if width, depth := ShapeFor(.01, p); depth != want || width != 200 {
			t.Errorf("probability %g: %g x %g, want depth %g", p, width, depth, want)
		}
	}
}

func TestMergeAddsWeightedCells(t *testing.T) {
	a, b := initialised(t, nil, 5000, 3), initialised(t, nil, 5000, 3)
	a.Add(nil, []byte("x"), 10)
	a.Add(nil, []byte("y"), 1)
	b.Add(nil, []byte("x"), 3)
	sum, err := Merge([]*Sketch{a, b, a}, []int64{2, -5, 1})
	if err != nil || sum.Estimate([]byte("x")) != 15 || sum.Estimate([]byte("y")) != 3 || sum.Count() != 18 {
		t.Errorf("got %v, %v", sum, err)
	}
	big := initialised(t, nil, 5000, 3)
	big.Add(nil, []byte("x"), math.MaxInt64)
	for name, c := range map[string]struct {
		sketches []*Sketch
		weights  []int64
		want     error
	}{
		"negative": {[]*Sketch{a, b}, []int64{1, -4}, ErrOverflow}, "cell": {[]*Sketch{big, a}, []int64{1, 1}, ErrOverflow},
		"count": {[]*Sketch{big}, []int64{2}, ErrOverflow}, "product": {[]*Sketch{a}, []int64{math.MinInt64}, ErrOverflow},
		"width": {[]*Sketch{a, initialised(t, nil, 5001, 3)}, []int64{1, 1}, ErrShape}, "depth": {[]*Sketch{a, initialised(t, nil, 5000, 2)}, []int64{1, 1}, ErrShape},
	} {
		if _, err := Merge(c.sketches, c.weights); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestInitRefusesWhatIsTooLarge(t *testing.T) {
	for _, c := range [][2]uint64{{0, 1}, {1, 0}, {1 << 28, 2}, {math.MaxUint64, math.MaxUint64}, {1 << 63, 2}} {
		if err := New().Init(nil, c[0], c[1], 1<<30); !errors.Is(err, ErrMemory) {
			t.Errorf("%d x %d: got %v", c[0], c[1], err)
		}
	}
	if s := initialised(t, nil, 1<<28, 1); s.Size() > 1000 {
		t.Errorf("an empty sketch of 1 GB takes %d bytes", s.Size())
	}
}

func TestEncodingIsFrozen(t *testing.T) {
	var ch structures.Change
	s := initialised(t, &ch, 2, 1)
	s.Add(&ch, []byte("a"), 300)
	if got, want := string(ch.Encoded()), "\x10\x02\x01\x02\x01\x01\x11\x02\x01a\x02\x2c\x01"; got != want {
		t.Errorf("record: got %q, want %q", got, want)
	}
	if got, want := string(s.AppendHead(nil)), "\x02\x01\xac\x02\x00\x01\x00\x02\x2c\x01"; got != want {
		t.Errorf("head: got %q, want %q", got, want)
	}
}

func FuzzDecodeCountMin(f *testing.F) {
	s := initialised(f, nil, 100, 3)
	s.Add(nil, []byte("a"), 5)
	f.Add(s.AppendHead(nil), []byte("\x11\x02\x01a\x02\x2c\x01"))
	f.Add(New().AppendHead(nil), []byte("\x10\x02\x01\x02\x01\x01\x11\x02\x01a\x02\x2c\x01"))
	f.Fuzz(func(t *testing.T, head, record []byte) {
		s, err := Decode(head)
		if err != nil {
			if !errors.Is(err, structures.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if s.Size() > 1<<20+200*len(head) {
			t.Fatalf("%d bytes of a head of %d", s.Size(), len(head))
		}
		if pages, _ := s.Evicted(); pages > 0 || s.depth > 1000 {
			return
		}
		_ = structurestest.Apply(s, record)
		if s.depth > 1000 {
			return
		}
		s.Estimate([]byte("x"))
		structurestest.Again(t, s, Decode)
	})
}
