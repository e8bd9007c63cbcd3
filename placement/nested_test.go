package placement

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// halls are three rooms of capacities 4, 2 and 1 with racks of hosts.
func halls() (units []Unit) {
	for _, x := range []struct {
		domain   string
		capacity float64
	}{
		{"a/1", 1}, {"a/1", .5}, {"a/2", 1}, {"a/3", 1.5}, {"b/1", .5}, {"b/2", .5}, {"b/2", 1}, {"c", .25}, {"c", .75},
	} {
		units = append(units, Unit{Name: fmt.Sprint("h", len(units)), Capacity: x.capacity, Domain: x.domain})
	}
	return units
}

func TestExpectedCopiesAreTheKnownOnes(t *testing.T) {
	for _, k := range readScheduler2(t).Placement.Nested {
		got, err := ExpectedCopies(k.Capacities, k.Copies, k.Most)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range k.Expected {
			if math.Abs(got[i]-want) > 1e-12 {
				t.Errorf("capacities %v, at most %d: got %v, want %v", k.Capacities, k.Most, got, k.Expected)
			}
		}
	}
	for _, bad := range []struct{ copies, most int }{{0, 1}, {3, 0}, {4, 1}, {MaxCopies + 1, 64}} {
		if _, err := ExpectedCopies([]float64{1, 1, 1}, bad.copies, bad.most); !errors.Is(err, ErrCopies) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if _, err := ExpectedCopies([]float64{1, math.NaN()}, 1, 1); !errors.Is(err, ErrCapacity) {
		t.Errorf("NaN: %v", err)
	}
}

// Domains of each level hold as many copies as capacities ask for, at most what
// they may, and copies within one are as far apart as they can be.
func TestNestedDomainsHoldTheirCopies(t *testing.T) {
	const objects = 60_000
	for _, c := range []struct {
		spread, copies int
		rooms          []float64
	}{
		{1, 3, []float64{1, 1, 1}}, {1, 2, []float64{1, 2. / 3, 1. / 3}}, {2, 3, []float64{12. / 7, 6. / 7, 3. / 7}},
		{2, 4, []float64{2, 4. / 3, 2. / 3}}, {3, 5, []float64{20. / 7, 10. / 7, 5. / 7}},
	} {
		m := mapOf(t, Options{Seed: 3, Spread: c.spread}, halls()...)
		rooms, racks := map[string]float64{}, map[string]float64{}
		var dst []int
		var err error
		for i := range uint64(objects) {
			if dst, err = m.LocateCopies(Mix(i), c.copies, dst[:0]); err != nil || len(dst) != c.copies || dst[0] != m.Locate(Mix(i)) {
				t.Fatalf("%+v: copies %v, %v", c, dst, err)
			}
			inRoom, inRack, units := map[string]int{}, map[string]int{}, map[int]bool{}
			for _, at := range dst {
				path := m.slots[at].domain
				units[at] = true
				inRoom[path[:1]]++
				inRack[path]++
				rooms[path[:1]] += 1.0 / objects
				racks[path] += 1.0 / objects
			}
			if len(units) != c.copies {
				t.Fatalf("%+v: copies %v", c, dst)
			}
			for path, n := range inRack {
				room := path[:1]
				if apart := map[string]int{"a": 3, "b": 2}[room]; inRoom[room] > c.spread || room != "c" && n > (inRoom[room]+apart-1)/apart {
					t.Fatalf("%+v: %d copies in %s, %d in %s", c, inRoom[room], room, n, path)
				}
			}
		}
		for i, want := range c.rooms {
			got := rooms[string(rune('a'+i))]
			if math.Abs(got-want) > .01*want+4*math.Sqrt(want/objects) {
				t.Errorf("%+v: room %c holds %.4f, want %.4f", c, 'a'+i, got, want)
			}
		}
		if c.spread == 2 && c.copies == 3 { // 12/7 copies in three racks of capacities 1.5, 1, 1.5
			if got, want := racks["a/2"], 12./7/4; math.Abs(got-want) > .02*want {
				t.Errorf("rack a/2 holds %.4f, want %.4f", got, want)
			}
		}
	}
}

// The first copy goes where Locate says, and a domain that gets it gives up what it had
// else: that costs as much with domains that are not nested, 1.5 times the optimum here.
func TestNestedDomainsMoveLittle(t *testing.T) {
	var units []Unit
	for i := range 60 {
		units = append(units, Unit{Name: fmt.Sprint("h", i), Capacity: 1 + float64(i%3), Domain: fmt.Sprintf("r%d/%d", i%12, i%36)})
	}
	m := mapOf(t, Options{Seed: 3, Spread: 2}, units...)
	held := func(m *Map) map[string]float64 {
		out := map[string]float64{}
		for i, n := range inclusions(t, m, 3, 60_000) {
			out[m.Name(i)] += n / 60_000
		}
		return out
	}
	change := func(m *Map) error {
		return m.Set(Unit{Name: "h7", Capacity: 6}, Unit{Name: "new", Capacity: 4, Domain: "r0/0"})
	}
	next := m.Clone()
	if err := change(next); err != nil {
		t.Fatal(err)
	}
	optimum, after := 0.0, held(next)
	for name, share := range held(m) {
		optimum += max(share-after[name], 0)
	}
	moved, _ := copyMoves(t, m, 3, change)
	t.Logf("moved %.4f of copies, optimum %.4f", moved, optimum)
	if moved > 1.7*optimum {
		t.Errorf("moved %.4f of copies, the optimum is %.4f", moved, optimum)
	}
}

func TestNestedDomainsThatAreTooFewAreRefused(t *testing.T) {
	m := mapOf(t, Options{Seed: 3, Spread: 2}, halls()...)
	if _, err := m.LocateCopies(1, 7, nil); !errors.Is(err, ErrCopies) || m.Domains() != 6 {
		t.Errorf("7 copies, 2 a room: %v; %d domains", err, m.Domains())
	}
	deep := Unit{Name: "deep", Capacity: 1, Domain: strings.Repeat("x/", 255)}
	if err := m.Set(deep, Unit{Name: "deeper", Capacity: 1, Domain: deep.Domain + "y"}); err != nil {
		t.Fatal(err)
	}
	if dst, err := m.LocateCopies(1, 8, nil); err != nil || len(dst) != 8 {
		t.Errorf("a deep path: %v, %v", dst, err)
	}
}

func BenchmarkLocateNested(b *testing.B) {
	var units []Unit
	for i := range 1000 {
		units = append(units, Unit{Name: fmt.Sprint("h", i), Capacity: 1 + float64(i%3), Domain: fmt.Sprintf("r%d/%d", i%4, i%100)})
	}
	m := mapOf(b, Options{Seed: 3, Spread: 2}, units...)
	var dst []int
	b.ReportAllocs()
	for hash := uint64(1); b.Loop(); hash += phi64 {
		var err error
		if dst, err = m.LocateCopies(Mix(hash), 3, dst[:0]); err != nil {
			b.Fatal(err)
		}
	}
}
