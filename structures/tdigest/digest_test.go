package tdigest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

func made(t testing.TB, ch *structures.Change, compression float64) *Digest {
	t.Helper()
	d := New()
	if err := d.Init(ch, compression, 1<<30); err != nil {
		t.Fatal(err)
	}
	return d
}

// answers are all that a digest says of its values.
func answers(t testing.TB, d *Digest) string {
	t.Helper()
	s, ok := d.Look()
	if !ok {
		t.Fatal("not read")
	}
	out := fmt.Sprint(s.Range())
	for i := range 21 {
		q := float64(i) / 20
		out += fmt.Sprint(" ", s.Quantile(q), s.TrimmedMean(q/2, q), s.ByRank(int64(i*7)), s.ByRevRank(int64(i*7)))
	}
	for v := -3.0; v < 3; v += 0.25 {
		out += fmt.Sprint(" ", s.CDF(v), s.Rank(v), s.RevRank(v))
	}
	return out
}

// A digest that is replayed, stored and read, or made a record says the same, and goes on the same.
func TestDigestEqualsItselfThroughReplayDiskAndRecords(t *testing.T) {
	r := structurestest.Seeded(t)
	for range 30 {
		var ch structures.Change
		d := made(t, &ch, float64(1+r.IntN(200)))
		shelf := structurestest.Shelf{}
		for range 30 {
			values := make([]float64, r.IntN(100))
			for i := range values {
				values[i] = []float64{r.NormFloat64(), float64(r.IntN(4)), 1}[r.IntN(3)]
			}
			if err := d.Add(&ch, values); err != nil {
				t.Fatal(err)
			}
			if r.IntN(40) == 0 {
				d.Clear(&ch)
			}
			if r.IntN(4) == 0 {
				shelf.Store(t, d)
			}
			if r.IntN(4) == 0 {
				before := d.Info()
				answers(t, d)
				if d.Info() != before {
					t.Fatal("reading changed the digest")
				}
			}
		}
		same := func(what string, o *Digest) {
			t.Helper()
			if structurestest.State(o) != structurestest.State(d) || o.Info() != d.Info() || answers(t, o) != answers(t, d) {
				t.Fatalf("%s differs", what)
			}
		}
		again := New()
		structurestest.Replay(t, again, ch.Encoded())
		same("replayed", again)
		same("stored", structurestest.Again(t, d, Decode))
		if d.IsCompact(1 << 20) {
			again.LoadCompact(d.AppendCompact(nil))
			same("record", again)
		}
	}
}

// Ranks of quantiles are off by no more than the formulas gave, on distributions of all sorts.
func TestQuantilesAreWithinBounds(t *testing.T) {
	r := structurestest.Seeded(t)
	const n = 100_000
	bounds := map[float64]float64{.001: .0005, .01: .003, .1: .008, .25: .015, .5: .015, .75: .015, .9: .008, .99: .003, .999: .0005}
	for name, draw := range map[string]func(i int) float64{
		"uniform": func(int) float64 { return r.Float64() }, "normal": func(int) float64 { return r.NormFloat64() },
		"exponential": func(int) float64 { return r.ExpFloat64() }, "sorted": func(i int) float64 { return float64(i) },
		"constant": func(int) float64 { return 7 }, "two values": func(int) float64 { return float64(r.IntN(2)) },
	} {
		d, values := made(t, nil, DefaultCompression), make([]float64, n)
		for i := range values {
			values[i] = draw(i)
		}
		for part := range slices.Chunk(values, 1000) {
			if err := d.Add(nil, part); err != nil {
				t.Fatal(err)
			}
		}
		sort.Float64s(values)
		s, _ := d.Look()
		worst := 0.0
		for q, bound := range bounds {
			v := s.Quantile(q)
			low := float64(sort.SearchFloat64s(values, v)) / n
			high := float64(sort.Search(n, func(i int) bool { return values[i] > v })) / n
			off := max(low-q, q-high, 0)
			if name == "two values" {
				off = max(0, min(math.Abs(low-q), math.Abs(high-q), off)) // a mean of both is neither
			}
			if off > bound {
				t.Errorf("%s: quantile %g is that of [%g, %g]", name, q, low, high)
			}
			worst = max(worst, off)
		}
		if s.Quantile(0) != values[0] || s.Quantile(1) != values[n-1] {
			t.Errorf("%s: from %g to %g, want %g to %g", name, s.Quantile(0), s.Quantile(1), values[0], values[n-1])
		}
		t.Logf("%s: rank error up to %.3f %%, %d centroids", name, worst*100, len(s.centroids))
	}
}

func TestOneValueIsItself(t *testing.T) {
	d := made(t, nil, 100)
	if err := d.Add(nil, []float64{5}); err != nil {
		t.Fatal(err)
	}
	s, _ := d.Look()
	if s.Quantile(.3) != 5 || s.CDF(5) != .5 || s.Rank(5) != 0 || s.RevRank(5) != 0 || s.TrimmedMean(.1, .9) != 5 || s.ByRank(0) != 5 {
		t.Errorf("quantile %g, CDF %g, ranks %d and %d, mean %g", s.Quantile(.3), s.CDF(5), s.Rank(5), s.RevRank(5), s.TrimmedMean(.1, .9))
	}
	empty, _ := made(t, nil, 100).Look()
	if !math.IsNaN(empty.Quantile(.5)) || !math.IsNaN(empty.CDF(1)) || empty.Rank(1) != -2 || empty.RevRank(1) != -2 || !math.IsNaN(empty.ByRank(0)) {
		t.Error("an empty digest knows something")
	}
}

func TestInitRefusesWhatIsTooLarge(t *testing.T) {
	for _, c := range []float64{0, -1, math.NaN(), math.Inf(1), 1e9, 357913940} {
		if err := New().Init(nil, c, 1<<30); !errors.Is(err, ErrMemory) {
			t.Errorf("compression %g: got %v", c, err)
		}
	}
	if d := made(t, nil, 10_000_000); d.Size() > 1000 {
		t.Errorf("an empty digest takes %d bytes", d.Size())
	}
	d := made(t, nil, 100)
	d.mergedWeight = math.MaxInt64 - 1
	if err := d.Add(nil, []float64{1, 2}); !errors.Is(err, ErrOverflow) {
		t.Errorf("2^63 values: got %v", err)
	}
}

func TestJoinHasTheValuesOfAll(t *testing.T) {
	a, b := made(t, nil, 100), made(t, nil, 50)
	for i := range 5000 {
		if err := errors.Join(a.Add(nil, []float64{float64(i)}), b.Add(nil, []float64{float64(-i)})); err != nil {
			t.Fatal(err)
		}
	}
	j, err := Join(100, []*Digest{a, b, b}, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := j.Look()
	if least, greatest := s.Range(); least != -4999 || greatest != 4999 || s.total != 15000 || math.Abs(s.CDF(0)-2./3) > .01 {
		t.Errorf("from %g to %g, %d values, %g below 0", least, greatest, s.total, s.CDF(0))
	}
}

func TestEncodingIsFrozen(t *testing.T) {
	var ch structures.Change
	d := made(t, &ch, 1)
	if err := d.Add(&ch, []float64{1, -0.5}); err != nil {
		t.Fatal(err)
	}
	want := "\x10\x01\x08\x00\x00\x00\x00\x00\x00\xf0\x3f\x11\x02\x08\x00\x00\x00\x00\x00\x00\xf0\x3f\x08\x00\x00\x00\x00\x00\x00\xe0\xbf"
	if got := string(ch.Encoded()); got != want {
		t.Errorf("record: got %q, want %q", got, want)
	}
	const one, half, weight = "\x00\x00\x00\x00\x00\x00\xf0\x3f", "\x00\x00\x00\x00\x00\x00\xe0\xbf", "\x01\x00\x00\x00\x00\x00\x00\x00"
	want = one + half + one + "\x00\x02\x00\x02\x00" + "\x00\x01\x00\x19" + one + weight + half + "\x01"
	if got := string(d.AppendHead(nil)); got != want {
		t.Errorf("head: got %q, want %q", got, want)
	}
}

func FuzzDecodeTDigest(f *testing.F) {
	d := made(f, nil, 10)
	for i := range 200 {
		_ = d.Add(nil, []float64{rand.New(rand.NewPCG(1, uint64(i))).Float64()})
	}
	f.Add(d.AppendHead(nil), []byte("\x11\x01\x08\x00\x00\x00\x00\x00\x00\xf0\x3f"))
	f.Add(New().AppendHead(nil), []byte("\x10\x01\x08\x00\x00\x00\x00\x00\x00\xf0\x3f\x11\x01\x08\x00\x00\x00\x00\x00\x00\xf0\x3f"))
	f.Fuzz(func(t *testing.T, head, record []byte) {
		d, err := Decode(head)
		if err != nil {
			if !errors.Is(err, structures.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if pages, _ := d.Evicted(); pages > 0 || d.merged+d.unmerged > 10_000 {
			return
		}
		_ = structurestest.Apply(d, record)
		if d.Arrays() > 0 {
			answers(t, d)
		}
		structurestest.Again(t, d, Decode)
	})
}

// Centroids are in the order of a stable sort, whatever part of them was sorted.
func TestCentroidsAreSortedStably(t *testing.T) {
	r := structurestest.Seeded(t)
	for range 500 {
		all := make([]centroid, r.IntN(200))
		for i := range all {
			all[i] = centroid{float64(r.IntN(1 + r.IntN(300))), int64(i + 1)}
		}
		sorted := r.IntN(len(all) + 1)
		byMean := func(a, b centroid) int { return cmp.Compare(a.mean, b.mean) }
		slices.SortStableFunc(all[:sorted], byMean)
		want := slices.Clone(all)
		slices.SortStableFunc(want, byMean)
		spare := make([]centroid, len(all)-sorted)
		sortStable(all[sorted:], spare)
		join(all, sorted, spare)
		if !slices.Equal(all, want) {
			t.Fatalf("%d of %d were sorted: got %v, want %v", sorted, len(all), all, want)
		}
	}
}
