package geo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/zset"
)

func TestScoresAreThoseOfRedis(t *testing.T) {
	for score, p := range map[float64]point{
		3479099956230698: {13.361389, 38.115556}, 3479447370796909: {15.087269, 37.502669}, 0: {-180, -85.05112878},
	} {
		if got := scoreOf(p); got != score {
			t.Errorf("%v: got %.0f, want %.0f", p, got, score)
		}
		if back := pointOf(score); math.Abs(back.lon-p.lon) > 1e-5 || math.Abs(back.lat-p.lat) > 1e-5 {
			t.Errorf("%v comes back as %v", p, back)
		}
	}
}

func TestAScoreStaysTheSameThroughItsPoint(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		score := float64(r.Uint64() >> 12)
		if got := scoreOf(pointOf(score)); got != score {
			t.Fatalf("%.0f comes back as %.0f", score, got)
		}
	}
}

// Every member in the area is found, and no other, wherever on earth the area is, unless
// it has a pole in it.
func TestSearchFindsWhatIsInTheArea(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	found, missed := 0, 0
	for range 300 {
		q := search{area: area{centre: point{r.Float64()*360 - 180, r.Float64()*160 - 80}, unit: 1}}
		reach := math.Exp(r.Float64() * math.Log(3e6)) // to 3000 km
		if math.Abs(q.centre.lat)+degrees(reach/earthRadius) > 89 {
			continue
		}
		q.radius, q.box = reach, r.IntN(2) == 0
		q.width, q.height = 2*reach*r.Float64(), 2*reach*r.Float64()
		q.set = zset.New(new(structures.HashKeys))
		extent := 2 * reach / 111_000 // degrees
		var want []string
		for i := range 200 {
			p := point{q.centre.lon + (r.Float64()*2-1)*extent/math.Cos(radians(q.centre.lat)), q.centre.lat + (r.Float64()*2-1)*extent}
			p.lon = math.Remainder(p.lon, 360)
			if !p.valid() {
				continue
			}
			name := fmt.Sprint("m", i)
			q.set.Add(nil, []byte(name), scoreOf(p), 0)
			if inArea(&q.area, pointOf(scoreOf(p))) {
				want = append(want, name)
			}
		}
		var got []string
		hits := q.find()
		for i := range hits.len() {
			got = append(got, string(hits.at(i).member))
		}
		hits.release()
		slices.Sort(got)
		slices.Sort(want)
		if slices.Equal(got, want) {
			found += len(got)
			continue
		}
		missed++
		t.Errorf("%+v: found %d of %d", q.area, len(got), len(want))
	}
	if found == 0 || missed > 0 {
		t.Errorf("%d members were found, and %d searches were wrong", found, missed)
	}
}

// inArea is what within reports, by the plain formula.
func inArea(a *area, p point) bool {
	if a.box {
		return meridian(a.centre, p) <= a.height/2 && distance(p, point{a.centre.lon, p.lat}) <= a.width/2
	}
	return distance(a.centre, p) <= a.radius
}

// The short way to a distance gives what the formula does, to the last bits, at every
// latitude and beyond the differences that it is meant for.
func TestDistancesNearByAreThoseOfTheFormula(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 200_000 {
		from := point{r.Float64()*360 - 180, (r.Float64()*2 - 1) * maxLat}
		reach := math.Exp(r.Float64()*math.Log(1e7)) * 1e-6 // degrees, to 10
		to := point{from.lon + (r.Float64()*2-1)*reach, max(-90, min(90, from.lat+(r.Float64()*2-1)*reach))}
		if r.IntN(20) == 0 {
			to.lon = from.lon
		}
		want := distance(from, to)
		o := originAt(from, want*1.0000001)
		got, ok := o.distance(to)
		if !ok {
			t.Fatalf("%v to %v: farther than %v", from, to, want)
		}
		if o = originAt(from, want*0.999); want > 1 && reach < 5 {
			if _, ok := o.distance(to); ok {
				t.Fatalf("%v to %v: %v m are not beyond %v", from, to, want, want*0.999)
			}
		}
		// Coordinates are subtracted: 1e-15 of 360 degrees are some nanometers.
		if math.Abs(got-want) > want*1e-13+1e-8 {
			t.Fatalf("%v to %v: got %v, want %v", from, to, got, want)
		}
	}
}

// Members at one distance come in the order of their cells and scores, whichever way
// they are sorted, and a search with COUNT gives the first of them.
func TestSortingIsStable(t *testing.T) {
	all := []hit{{[]byte("a"), 1, 5}, {[]byte("b"), 2, 7}, {[]byte("c"), 3, 5}, {[]byte("d"), 4, 7}, {[]byte("e"), 5, 6}}
	names := func(d direction, count int) (s string) {
		h := hits{all: all}
		h.sort(d, count)
		for i := range h.len() {
			s += string(h.at(i).member)
		}
		return s
	}
	if got := names(descending, 0); got != "bdeac" {
		t.Errorf("downwards: %s", got)
	}
	if got := names(ascending, 3); got != "ace" {
		t.Errorf("upwards, three: %s", got)
	}
}

// The room of a search, which others use again, holds on to no members.
func TestReleasedHitsHoldNoMembers(t *testing.T) {
	h := &hits{all: []hit{{[]byte("a"), 1, 5}, {[]byte("b"), 2, 7}}}
	h.sort(ascending, 1)
	h.release()
	if h.len() != 0 {
		t.Errorf("%d hits are left", h.len())
	}
	for i, left := range h.all[:cap(h.all)] {
		if left.member != nil {
			t.Errorf("hit %d holds %q", i, left.member)
		}
	}
}

func TestGeoEventsAreThoseOfRedis(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Classes = commands.EventAll | commands.EventNew | commands.EventMissed
	for _, x := range []struct {
		call   string
		events []string
	}{
		{"GEOADD g 1 1 a 2 2 b", []string{"new g", "zadd g"}},
		{"GEOADD g 1 1 a", nil},
		{"GEOADD g XX 3 3 a", []string{"zadd g"}},
		{"GEOADD nosuch XX 3 3 a", nil},
		{"GEOSEARCHSTORE to g FROMLONLAT 3 3 BYRADIUS 1000 km", []string{"new to", "geosearchstore to"}},
		{"GEORADIUS g 3 3 1000 km STORE to", []string{"georadiusstore to"}},
		{"GEORADIUS g 50 50 1 km STORE to", []string{"del to"}},
		{"GEORADIUS g 50 50 1 km STORE to", nil},
		{"GEOPOS nosuch a", []string{"keymiss nosuch"}},
	} {
		if reply := r.Call(strings.Fields(x.call)...); strings.HasPrefix(reply, "-") {
			t.Fatalf("%s: %s", x.call, reply)
		}
		if r.WantEvents(x.events...); t.Failed() {
			t.Fatal(x.call)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	r, rng := commandtest.New(b, Group()), rand.New(rand.NewPCG(1, 2))
	for i := range 10_000 {
		r.Call("GEOADD", "g", fmt.Sprint(rng.Float64()*10), fmt.Sprint(rng.Float64()*10), fmt.Sprint("member", i))
	}
	for _, x := range []struct{ name, longitude, latitude string }{{"hits", "5", "5"}, {"none", "-70", "-40"}} {
		b.Run(x.name, func(b *testing.B) {
			call := commandtest.Argv("GEOSEARCH", "g", "FROMLONLAT", x.longitude, x.latitude, "BYRADIUS", "50", "km")
			b.ReportAllocs()
			for b.Loop() {
				r.Do(call)
			}
		})
	}
}
