package placement

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
)

// known is testdata/known.json: facts from the definitions.
type known struct {
	CutpasteLookup []struct {
		X       string
		N, Unit int
	} `json:"cutpaste_lookup"`
	CutpasteFixed [][3]any            `json:"cutpaste_fixed"`
	CutpasteLeave map[string][]string `json:"cutpaste_leave"`
	CutpasteSteps map[string]string   `json:"cutpaste_steps"`
	OptimalMoved  []struct {
		From, To []Capacity
		Moved    string
	} `json:"optimal_moved"`
	Slots []struct {
		W     []Capacity
		Slots []int
	}
	ShareCoverage [][3]any `json:"share_coverage"`
}

func readKnown(t *testing.T) known {
	t.Helper()
	b, err := os.ReadFile("testdata/known.json")
	if err != nil {
		t.Fatal(err)
	}
	var k known
	if err := json.Unmarshal(b, &k); err != nil {
		t.Fatal(err)
	}
	return k
}

func rational(t *testing.T, s string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("bad rational %q", s)
	}
	return r
}

// cutpasteOf makes n units whose numbers are their slots plus one.
func cutpasteOf(t testing.TB, n int) *cutpaste {
	t.Helper()
	c := &cutpaste{}
	setAll(t, c, capacities(specCutPaste(), n))
	return c
}

func TestCutPasteGivesTheKnownUnits(t *testing.T) {
	k := readKnown(t)
	for _, c := range k.CutpasteFixed {
		x, err := strconv.ParseUint(c[0].(string), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		n, want := int(c[1].(float64)), int(c[2].(float64))
		if got := cutpasteOf(t, n).Locate(x) + 1; got != want {
			t.Errorf("x = %d of 2^64, n = %d: got %d, want %d", x, n, got, want)
		}
	}
	for _, c := range k.CutpasteLookup {
		if got := exactCutPaste(rational(t, c.X), c.N); got != c.Unit {
			t.Errorf("exact x = %s, n = %d: got %d, want %d", c.X, c.N, got, c.Unit)
		}
	}
}

// exactCutPaste is the definition in rational arithmetic.
func exactCutPaste(x *big.Rat, n int) int {
	d := int64(1)
	x = new(big.Rat).Set(x)
	for x.Cmp(big.NewRat(1, int64(n))) >= 0 {
		inverse := new(big.Rat).Inv(x)
		y := new(big.Int).Div(new(big.Int).Add(inverse.Num(), new(big.Int).Sub(inverse.Denom(), big.NewInt(1))), inverse.Denom()).Int64()
		x.Sub(x, big.NewRat(d, y*(y-1)))
		d = y
	}
	return int(d)
}

func TestCutPasteAgreesWithRationalArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 7, 16, 49, 98, 100, 103, 1000, 65536} {
		c := cutpasteOf(t, n)
		for range 300 {
			h := r.Uint64()
			x := new(big.Rat).SetFrac(new(big.Int).SetUint64(h), new(big.Int).Lsh(big.NewInt(1), 64))
			if got, want := c.Locate(h)+1, exactCutPaste(x, n); got != want {
				t.Errorf("x = %d of 2^64, n = %d: got %d, want %d", h, n, got, want)
			}
		}
	}
}

// TestCutPasteSurvivesTheEdges places the hashes about i/n, where rounding
// could reach a unit that does not exist.
func TestCutPasteSurvivesTheEdges(t *testing.T) {
	for n := 1; n <= 600; n++ {
		c := cutpasteOf(t, n)
		for i := range min(n, 40) {
			e := equalEnd(i, n)
			for d := range uint64(4) {
				if u := c.Locate(e - 2 + d); u < 0 || u >= n {
					t.Fatalf("n = %d, hash %d: unit %d", n, e-2+d, u)
				}
			}
		}
		if u := c.Locate(math.MaxUint64); u < 0 || u >= n {
			t.Fatalf("n = %d, largest hash: unit %d", n, u)
		}
	}
}

// moved adds up the moves between two strategies.
func moved(from, to Strategy) float64 {
	sum := 0.0
	from.Moves(to, func(_, _ int, share Fraction) { sum += float64(share) })
	return sum
}

func TestTheorem84CutPasteMovesTheNetOnly(t *testing.T) {
	for text, want := range readKnown(t).CutpasteLeave {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		for i, unit := range []int{n - 1, 0} {
			c := cutpasteOf(t, n)
			old := c.Clone()
			if err := c.Remove(unit); err != nil {
				t.Fatal(err)
			}
			w, _ := rational(t, want[i]).Float64()
			if got := moved(old, c); math.Abs(got-w) > 1e-12 {
				t.Errorf("unit %d of %d leaves: moves %.15f, want %s", unit+1, n, got, want[i])
			}
			if got := moved(c, old); math.Abs(got-w) > 1e-12 {
				t.Errorf("unit %d of %d comes back: moves %.15f, want %s", unit+1, n, got, want[i])
			}
		}
	}
}

// TestTheorem85CutPasteStepsAreFew counts steps: H_n - 1 on average, and the
// second next number is at least 4d-1.
func TestTheorem85CutPasteStepsAreFew(t *testing.T) {
	for text, want := range readKnown(t).CutpasteSteps {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		c, r, steps := cutpasteOf(t, n), rand.New(rand.NewPCG(1, 1)), 0
		const sample = 100_000
		for range sample {
			path := []uint64{1}
			for x, d := r.Uint64(), uint64(1); x > c.top; steps++ {
				y := ^uint64(0)/x + 1
				x -= c.cuts[y].of(d)
				d = y
				path = append(path, d)
			}
			for i := 2; i < len(path); i++ {
				if path[i] < 4*path[i-2]-1 {
					t.Fatalf("path %v: the second next of %d is below %d", path, path[i-2], 4*path[i-2]-1)
				}
			}
		}
		w, _ := rational(t, want).Float64()
		if got := float64(steps) / sample; math.Abs(got-w) > 0.02 {
			t.Errorf("n = %d: %.3f steps on average, want %.3f", n, got, w)
		}
	}
}

func TestOptimumIsTheKnownOne(t *testing.T) {
	for _, c := range readKnown(t).OptimalMoved {
		want, _ := rational(t, c.Moved).Float64()
		if got := optimum(c.From, c.To); math.Abs(got-want) > 1e-15 {
			t.Errorf("optimum of %v to %v: got %v, want %s", c.From, c.To, got, c.Moved)
		}
	}
}

func TestApportionGivesTheKnownSlots(t *testing.T) {
	for _, c := range readKnown(t).Slots {
		if got := Apportion(defaultSlots, c.W); !slices.Equal(got, c.Slots) {
			t.Errorf("weights %v: got %v, want %v", c.W, got, c.Slots)
		}
	}
	// One full owner and 200 new ones: nobody keeps more than 82.
	s := newStrategy(t, specSlots(), 1)
	setAll(t, s, []Change{{0, 1}})
	for i := 1; i <= 200; i++ {
		if err := s.Set(i, 1); err != nil {
			t.Fatal(err)
		}
	}
	counts := map[uint16]int{}
	for _, u := range s.(*slots).owner {
		counts[u]++
	}
	for u, n := range counts {
		if n != 81 && n != 82 {
			t.Errorf("unit %d of 201 has %d slots, want 81 or 82", u, n)
		}
	}
}

func TestSlotsMoveTheOptimumOfWholeSlots(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	s := newStrategy(t, specSlots(), 1)
	setAll(t, s, capacities(specSlots(), 20))
	for range 100 {
		old := s.Clone().(*slots)
		if err := s.Set(r.IntN(25), Capacity(1+r.IntN(100))<<24); err != nil {
			t.Fatal(err)
		}
		before, after := map[uint16]int{}, map[uint16]int{}
		for i, u := range old.owner {
			before[u]++
			after[s.(*slots).owner[i]]++
		}
		want := 0
		for u, n := range before {
			want += max(0, n-after[u])
		}
		if got := moved(old, s) * defaultSlots; math.Abs(got-float64(want)) > 1e-6 {
			t.Fatalf("moved %.3f slots, the optimum is %d", got, want)
		}
	}
}

// TestShareCoversTheRingAsOftenAsStevensSays compares the chance that equal
// arcs cover everything with the exact one.
func TestShareCoversTheRingAsOftenAsStevensSays(t *testing.T) {
	for _, c := range readKnown(t).ShareCoverage {
		n, want := int(c[0].(float64)), c[2].(float64)
		stretch, _ := rational(t, c[1].(string)).Float64()
		if n > 10 || want == 0 {
			continue // too seldom uncovered to count
		}
		covered := 0
		const rings = 3000
		for seed := range uint64(rings) {
			s := specShare().New(Options{Stretch: stretch, Seed: Mix(seed + 1)}).(*share)
			setAll(t, s, capacities(specStatic(), n))
			all := true
			for f := range s.ends {
				all = all && len(s.cover(f)) > 0
			}
			if all {
				covered++
			}
			if len(s.ends) > 2*(n+int(stretch)) {
				t.Fatalf("n = %d: %d frames, more than 2(n+s)", n, len(s.ends))
			}
		}
		if got, noise := float64(covered)/rings, 4*math.Sqrt(want*(1-want)/rings); math.Abs(got-want) > noise {
			t.Errorf("n = %d, s = %v: covered in %.4f of the rings, want %.4f", n, stretch, got, want)
		}
	}
}

// TestShareHasMeanContentionS adds up the arcs: their total length is s.
func TestShareHasMeanContentionS(t *testing.T) {
	for _, pieces := range []int{1, 3, 8} {
		for _, stretch := range []float64{0.5, 3, 20.25} {
			s := specShare().New(Options{Stretch: stretch, Points: pieces}).(*share)
			setAll(t, s, capacities(specShare(), 17))
			mean, from := 0.0, uint64(0)
			for f, end := range s.ends {
				mean += float64(width(from, end)) * float64(len(s.cover(f)))
				from = end + 1
			}
			if math.Abs(mean-stretch) > 1e-9 {
				t.Errorf("stretch %v in %d pieces: mean contention %v", stretch, pieces, mean)
			}
		}
	}
}

// TestNearestIsNearest compares with the definition.
func TestNearestIsNearest(t *testing.T) {
	s := specNearest().New(Options{Points: 5, Seed: 3}).(*nearest)
	setAll(t, s, capacities(specStatic(), 9))
	distance := func(a, b uint64) uint64 { return min(a-b, b-a) }
	r := rand.New(rand.NewPCG(4, 4))
	for range 5000 {
		h := r.Uint64()
		best := s.ring[0]
		for _, p := range s.ring {
			if distance(h, p.at) < distance(h, best.at) {
				best = p
			}
		}
		if got := s.Locate(h); got != int(best.unit) {
			t.Fatalf("hash %d: got %d, nearest is %d", h, got, best.unit)
		}
	}
}

// TestTheorem83NearestVariesAsItsPoints measures the coefficient of variation
// of shares: about 1/sqrt(2k).
func TestTheorem83NearestVariesAsItsPoints(t *testing.T) {
	for _, k := range []int{20, 160} {
		s := specNearest().New(Options{Points: k, Seed: 1}).(*nearest)
		const n = 1000
		setAll(t, s, capacities(specStatic(), n))
		shares := make([]float64, n)
		ends, units := s.arcs()
		from := uint64(0)
		for i, e := range ends {
			if e >= from {
				shares[units[i]] += float64(width(from, e))
			}
			from = e + 1
		}
		got, want := variation(shares), 1/math.Sqrt(2*float64(k))
		if math.Abs(got/want-1) > 0.1 {
			t.Errorf("k = %d: coefficient of variation %.4f, want about %.4f", k, got, want)
		}
	}
}

func variation(shares []float64) float64 {
	mean := 1 / float64(len(shares))
	sum := 0.0
	for _, v := range shares {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum/float64(len(shares))) / mean
}

func TestTheorems81And82OneAndTwoChoices(t *testing.T) {
	for _, n := range []int{10, 100, 1000} {
		s := newStrategy(t, specTwoChoice(), 1).(*twochoice)
		setAll(t, s, capacities(specTwoChoice(), n))
		two, one := make([]int, n), make([]int, n)
		const each = 100
		for i := range n * each {
			first, second := s.Choices(Mix(uint64(i)))
			two[Lighter(first, second, func(u int) int { return two[u] })]++
			one[first]++
		}
		if excess := slices.Max(two) - each; excess > 4 {
			t.Errorf("n = %d: the fullest unit has %d more than the mean, want 4 at most", n, excess)
		}
		m, ln := float64(each), math.Log(float64(n)) // Theorem 8.1
		bound := math.Sqrt(m*ln) + ln/math.Log(ln)
		if r := float64(slices.Max(one)-each) / bound; r < 0.4 || r > 1.6 {
			t.Errorf("n = %d, one choice: excess is %.2f of the bound of Theorem 8.1", n, r)
		}
	}
}

func TestNegLogIsTheLogarithm(t *testing.T) {
	for i := range 2000 {
		rest := Mix(uint64(i))>>(i%64) | 1
		x := new(big.Float).Quo(new(big.Float).SetUint64(rest), new(big.Float).SetMantExp(big.NewFloat(1), 64))
		f, _ := x.Float64()
		want := -math.Log1p(-f)
		if rest > 1<<63 { // 1-x is exact where x is near 1
			want = -math.Log(float64(-rest) / (1 << 64))
		}
		if got := float64(negLog(rest)) / (1 << logBits); math.Abs(got-want) > 1e-15+3e-16*want {
			t.Fatalf("-ln(1 - %d/2^64): got %.18f, want %.18f", rest, got, want)
		}
	}
}
