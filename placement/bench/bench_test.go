package main

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// quick is too short for good figures.
func quick() effort {
	return effort{round: 50 * time.Microsecond, rounds: 1, sampled: time.Millisecond}
}

const objects = 2000

// A peer that its adapter misuses would give figures that mean nothing.
func TestPeersAreUsedAsMeant(t *testing.T) {
	const n = 12
	for _, c := range peers() {
		t.Run(strings.ReplaceAll(c.origin, "/", "_"), func(t *testing.T) {
			p, err := c.build(equalWeights(n))
			if err != nil {
				t.Fatal(err)
			}
			before := p.places(objects)
			used := map[int32]bool{}
			for _, u := range before {
				if u < 0 || u >= n {
					t.Fatalf("unit %d of %d", u, n)
				}
				used[u] = true
			}
			if len(used) != n {
				t.Errorf("%d of %d units are used", len(used), n)
			}
			if err := p.add(); err != nil {
				t.Fatal(err)
			}
			if after := p.places(objects); !has(after, n) {
				t.Error("the unit that joined has nothing")
			}
			if err := p.remove(n); err != nil {
				t.Fatal(err)
			}
			for i, u := range p.places(objects) {
				if u != before[i] {
					t.Fatalf("object %d is on %d, want %d as before the join", i, u, before[i])
				}
			}
			if err := p.remove(p.leaves); err != nil {
				t.Fatal(err)
			}
			if has(p.places(objects), int32(p.leaves)) {
				t.Error("the unit that left has objects")
			}
		})
	}
}

func has(places []int32, unit int32) bool {
	for _, u := range places {
		if u == unit {
			return true
		}
	}
	return false
}

func TestTablesShowWhatTheStrategiesGuarantee(t *testing.T) {
	const n = 10
	sections, err := study([]int{n}, quick())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]struct{ layout, join, leave float64 }{
		"sieve-abs": {0, 1, 1}, "rendezvous": {0, 1, 1},
		"cutpaste": {0, 1, 2 - 1.0/(n-1)}, "jump": {0, 1, 2 - 1.0/(n-1)},
	}
	for _, s := range sections {
		for _, r := range s.rows {
			if math.IsNaN(r.byKey) || r.byKey <= 0 {
				t.Errorf("%s %s: %v ns a key", r.name, r.origin, r.byKey)
			}
			if r.origin != "" {
				continue
			}
			if r.allocations != 0 {
				t.Errorf("%s: %v allocations a lookup", r.name, r.allocations)
			}
			w, known := want[r.name]
			if !known {
				continue
			}
			// 3e-7: shares of jump are off by 2^-31 a jump.
			if math.Abs(r.layout.value-w.layout) > 3e-7 || math.Abs(r.join.value-w.join) > 3e-7 ||
				math.Abs(r.leave.value-w.leave) > 3e-7 {
				t.Errorf("%s, capacities %s: got layout %v, join %v, leave %v, want %v",
					r.name, s.capacities, r.layout.value, r.join.value, r.leave.value, w)
			}
		}
	}
}

func TestTablesGoBetweenTheMarks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sections := []section{{n: 7, capacities: "equal", rows: []row{{candidate: candidate{name: "x"}, skipped: "why"}}}}
	write("before\n" + beginMark + "old\n" + endMark + "after\n")
	for range 2 {
		if err := insert(path, sections); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(got)
	if !strings.HasPrefix(text, "before\n"+beginMark) || !strings.HasSuffix(text, endMark+"after\n") ||
		strings.Contains(text, "old") || strings.Count(text, "### 7 units, capacities equal") != 1 {
		t.Errorf("got\n%s", text)
	}
	write("no marks\n")
	if err := insert(path, sections); !errors.Is(err, errMarks) {
		t.Errorf("without marks: got %v, want %v", err, errMarks)
	}
}

func TestSizesOutOfRangeAreRefused(t *testing.T) {
	for _, list := range []string{"", "3", "50001", "ten", "10,", "-10"} {
		if sizes, err := parseSizes(list); err == nil {
			t.Errorf("%q: got %v, want an error", list, sizes)
		}
	}
}

func TestFiguresDependOnTheSeedAlone(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if err := draw(dir, false); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"placement-share.svg", "placement-moves.svg"} {
		a, err := os.ReadFile(filepath.Join(first, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(second, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) || len(a) > 40<<10 {
			t.Errorf("%s: %d and %d bytes, want the same ones, below 40 KiB", name, len(a), len(b))
		}
	}
}

// A sample of a map that is level must not show an imbalance, and one of a map
// that is not must show it.
func TestSamplesTakeTheirOwnNoiseOff(t *testing.T) {
	places := make([]int32, 100000)
	rng := uint64(1)
	next := func() uint64 { // xorshift
		rng ^= rng << 13
		rng ^= rng >> 7
		rng ^= rng << 17
		return rng >> 11
	}
	for i := range places {
		places[i] = int32(next() % 50)
	}
	if f := layoutOf(places, equalWeights(50)); f.value != 0 || f.err > 0.02 {
		t.Errorf("level places: CV %v, error %v", f.value, f.err)
	}
	for i := range places {
		if places[i]%2 == 0 && next()%5 == 0 {
			places[i]++ // evens have 0.8, odds 1.2: CV 0.2
		}
	}
	if f := layoutOf(places, equalWeights(50)); math.Abs(f.value-0.2) > 0.01 {
		t.Errorf("places with CV 0.2: got %v, error %v", f.value, f.err)
	}
}
