package placement

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestPreviewTellsWhatAChangeMoves(t *testing.T) {
	each(t, func(t *testing.T, spec Spec) {
		m := newMap(t, spec.Name, 12)
		for name, c := range map[string]struct {
			preview func() (Preview, error)
			change  func(*Map) error
		}{
			"join": {
				func() (Preview, error) { return m.PreviewSet(Unit{Name: "new", Capacity: 10}) },
				func(m *Map) error { return m.Set(Unit{Name: "new", Capacity: 10}) },
			},
			"leave": {
				func() (Preview, error) { return m.PreviewRemove("u2", "u7") },
				func(m *Map) error { return m.Remove("u2", "u7") },
			},
		} {
			before := encoded(t, m)
			p, err := c.preview()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if string(encoded(t, m)) != string(before) {
				t.Fatalf("%s: the preview changed the map", name)
			}
			next := m.Clone()
			if err := c.change(next); err != nil {
				t.Fatal(err)
			}
			comparePreview(t, name, p, m, next)
			if exactShares(spec.Name) && p.Moved < p.Optimum-1.0/16384 {
				t.Errorf("%s: moved %.6f is below the optimum %.6f", name, p.Moved, p.Optimum)
			}
		}
	})
}

// comparePreview counts moves by name.
func comparePreview(t *testing.T, name string, p Preview, from, to *Map) {
	t.Helper()
	const objects = 200_000
	got := map[[2]string]float64{}
	r := rand.New(rand.NewPCG(6, 6))
	for range objects {
		h := r.Uint64()
		if a, b := from.Name(from.Locate(h)), to.Name(to.Locate(h)); a != b {
			got[[2]string{a, b}] += 1.0 / objects
		}
	}
	sum := 0.0
	for _, pair := range p.Pairs {
		sum += pair.Share
		g := got[[2]string{pair.From, pair.To}]
		if math.Abs(g-pair.Share) > 5*math.Sqrt(pair.Share/objects)+6.0/objects {
			t.Errorf("%s: %s to %s: counted %.5f, told %.5f", name, pair.From, pair.To, g, pair.Share)
		}
		delete(got, [2]string{pair.From, pair.To})
	}
	if len(got) > 0 {
		t.Errorf("%s: moves that were not told: %v", name, got)
	}
	if math.Abs(sum-p.Moved) > 1e-12 {
		t.Errorf("%s: pairs add up to %v, moved is %v", name, sum, p.Moved)
	}
}

func TestPreviewListsABoundedNumberOfPairs(t *testing.T) {
	m := newMap(t, "jump", 200)
	p, err := m.PreviewSet(manyUnits(false, 2000)...)
	if err != nil {
		t.Fatal(err)
	}
	sum := p.Rest
	for _, pair := range p.Pairs {
		sum += pair.Share
	}
	if len(p.Pairs) != MaxPairs || p.Rest <= 0 || math.Abs(sum-p.Moved) > 1e-10 || math.Abs(p.Moved-0.9) > 1e-10 {
		t.Errorf("200 to 2000 units: %d pairs, %g in them and the rest of %g, moved %g", len(p.Pairs), sum, p.Rest, p.Moved)
	}
}

// TestPreviewOfOneUnitIsTheClosedForm: what is known exactly, within 1e-9.
func TestPreviewOfOneUnitIsTheClosedForm(t *testing.T) {
	for _, strategy := range []string{"rendezvous", "sieve-abs"} {
		m := newMap(t, strategy, 50)
		p, err := m.PreviewSet(Unit{Name: "u7", Capacity: 33})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(p.Moved-p.Optimum) > 1e-9 {
			t.Errorf("%s: moved %.12f, want the optimum %.12f", strategy, p.Moved, p.Optimum)
		}
		for _, pair := range p.Pairs {
			if pair.From != "u7" && pair.To != "u7" {
				t.Errorf("%s: %s to %s moves %g, which the change does not concern", strategy, pair.From, pair.To, pair.Share)
			}
		}
	}
	for _, strategy := range []string{"cutpaste", "jump"} {
		p, err := newMap(t, strategy, 50).PreviewSet(Unit{Name: "new", Capacity: 10})
		if err != nil || math.Abs(p.Moved-1.0/51) > 1e-9 || math.Abs(p.Optimum-1.0/51) > 1e-9 {
			t.Errorf("%s: join moves %.12f (optimum %.12f, %v), want 1/51", strategy, p.Moved, p.Optimum, err)
		}
	}
	p, err := newMap(t, "static", 1).PreviewSet(Unit{Name: "new", Capacity: 10})
	if err != nil || p.Moved != 0.5 || len(p.Pairs) != 1 {
		t.Errorf("static: second unit: got %+v, %v", p, err)
	}
}

// TestMovesBalanceShares: what a unit gains minus what it loses is the change
// of its share, within 1e-9, for random changes of several units.
func TestMovesBalanceShares(t *testing.T) {
	each(t, func(t *testing.T, spec Spec) {
		if !exactShares(spec.Name) || spec.Name == "slots" || spec.Name == "maglev" {
			return
		}
		r := rand.New(rand.NewPCG(2, 7))
		m := newMap(t, spec.Name, 10)
		for range 30 {
			next := m.Clone()
			changeAtRandom(t, r, next, map[string]float64{"a": 1, "b": 1})
			gain := make([]float64, len(m.slots)+len(next.slots))
			m.strategy.Moves(next.strategy, func(a, b int, share Fraction) {
				gain[a] -= float64(share)
				gain[b] += float64(share)
			})
			was, is := float64(m.total()), float64(next.total())
			for i := range gain {
				want := 0.0
				if i < len(next.slots) {
					want += float64(next.slots[i].capacity) / is
				}
				if i < len(m.slots) {
					want -= float64(m.slots[i].capacity) / was
				}
				if math.Abs(gain[i]-want) > 1e-9 {
					t.Fatalf("slot %d gains %.12f, want %.12f", i, gain[i], want)
				}
			}
			m = next
		}
	})
}

// TestCompetitiveRatioOverRandomChanges adds up moves and optimum over joins,
// leaves and changes of capacity.
func TestCompetitiveRatioOverRandomChanges(t *testing.T) {
	limits := map[string]float64{
		"nearest": 2, "cutpaste": 2, "share": 2.6, "slots": 1.05, "jump": 2, "rendezvous": 1 + 1e-9, "sieve-abs": 1.05,
	}
	each(t, func(t *testing.T, spec Spec) {
		limit, ok := limits[spec.Name]
		if !ok {
			return
		}
		r := rand.New(rand.NewPCG(5, 8))
		m := newMap(t, spec.Name, 30)
		var moved, optimum float64
		for i := range 60 {
			p, err := randomStep(r, m, i)
			if err != nil {
				t.Fatal(err)
			}
			moved, optimum = moved+p.Moved, optimum+p.Optimum
		}
		t.Logf("moved %.3f, optimum %.3f: ratio %.3f", moved, optimum, moved/optimum)
		if moved > limit*optimum {
			t.Errorf("moved %.3f, more than %.2f times the optimum %.3f", moved, limit, optimum)
		}
	})
}

// randomStep changes one unit and returns the preview.
func randomStep(r *rand.Rand, m *Map, i int) (Preview, error) {
	if r.IntN(3) == 0 {
		name := m.Units()[r.IntN(m.Len())].Name
		p, err := m.PreviewRemove(name)
		if err != nil {
			return p, err
		}
		return p, m.Remove(name)
	}
	u := Unit{Name: fmt.Sprintf("n%d", i), Capacity: 10}
	if m.spec.Weighted {
		u.Capacity = 1 + 99*r.Float64()
		if r.IntN(2) == 0 {
			u.Name = m.Units()[r.IntN(m.Len())].Name
		}
	}
	p, err := m.PreviewSet(u)
	if err != nil {
		return p, err
	}
	return p, m.Set(u)
}

// TestTheorem86ShareIsRoughlyFaithful measures what SHARE promises.
func TestTheorem86ShareIsRoughlyFaithful(t *testing.T) {
	m := newMap(t, "share", 1000)
	shares := m.strategy.(*share).marginal(shareTries)
	sum := 0.0
	for i, u := range m.Units() {
		d := shares[i]/u.Share - 1
		sum += d * d / float64(len(shares))
	}
	if got := math.Sqrt(sum); got > 0.25 {
		t.Errorf("relative deviation of shares: %.3f, want about .16", got)
	}
}

// TestLongPreviewsAreRefused: dropping half of ten thousand units cuts fifty
// million pieces, a minute of work.
func TestLongPreviewsAreRefused(t *testing.T) {
	for strategy, n := range map[string]int{"cutpaste": 5000, "rendezvous": 5000} {
		m := newMap(t, strategy, 10000)
		names := make([]string, n)
		for i := range names {
			names[i] = m.Name(2 * i)
		}
		if _, err := m.PreviewRemove(names...); !errors.Is(err, ErrPreview) {
			t.Errorf("%s without %d of 10000 units: got %v, want ErrPreview", strategy, n, err)
		}
		if p, err := m.PreviewRemove(names[:300]...); err != nil || p.Moved < p.Optimum-1e-9 {
			t.Errorf("%s without 300 units: %+v, %v", strategy, p.Moved, err)
		}
	}
}

// TestPreviewsOfManyPairsAreSums: a change of one unit moves objects between all
// pairs of a sieve's units, and what it moves in all is still told.
func TestPreviewsOfManyPairsAreSums(t *testing.T) {
	for _, n := range []int{1023, 1500} {
		m := newMap(t, "sieve", n)
		next := m.Clone()
		if err := next.Remove("u5"); err != nil {
			t.Fatal(err)
		}
		want := 0.0
		m.strategy.Moves(next.strategy, func(_, _ int, share Fraction) { want += float64(share) })
		p, err := m.PreviewRemove("u5")
		if err != nil || math.Abs(p.Moved-want) > 1e-9*want || p.Optimum <= 0 {
			t.Errorf("%d units: moved %v of %v, optimum %v, %v", n, p.Moved, want, p.Optimum, err)
		}
		if listed := len(p.Pairs) > 0; listed != (n == 1023) || p.Rest <= 0 {
			t.Errorf("%d units: %d pairs listed, rest %v", n, len(p.Pairs), p.Rest)
		}
	}
	m := newMap(t, "sieve-abs", 10000)
	names := make([]string, 5000)
	for i := range names {
		names[i] = m.Name(2 * i)
	}
	if p, err := m.PreviewRemove(names...); err != nil || len(p.Pairs) > 0 || p.Moved < p.Optimum-1e-9 {
		t.Errorf("half of 10000 units leave sieve-abs: %d pairs, moved %v of %v, %v", len(p.Pairs), p.Moved, p.Optimum, err)
	}
}
