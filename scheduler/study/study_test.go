package study

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"testing"
)

// known is what another program made of seed 1.
type known struct {
	Web struct {
		Seed  uint64
		Pages int
		First [][]*float64
		Sums  []float64
		Share map[string]json.RawMessage `json:"fresh_share"`
		Limit int                        `json:"limited"`
	}
	Splitmix [][4]float64
}

func readKnown(t *testing.T) (k known) {
	t.Helper()
	b, err := os.ReadFile("testdata/web.json")
	if err == nil {
		err = json.Unmarshal(b, &k)
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s: got %.12g, want %.12g", what, got, want)
	}
}

func columns(p *Page) []float64 {
	return []float64{float64(p.Host), p.Change, p.Importance, p.Precision, p.Recall, p.Requests, p.KiB}
}

func TestWebIsTheKnownOne(t *testing.T) {
	k := readKnown(t)
	for _, u := range k.Splitmix {
		near(t, "uniform", uniform(uint64(u[0]), int(u[1]), int(u[2])), u[3], 1e-14)
	}
	pages := Web(k.Web.Seed, k.Web.Pages)
	for i, row := range k.Web.First {
		for c, got := range columns(&pages[i]) {
			if row[c] == nil {
				if !math.IsInf(got, 1) {
					t.Errorf("page %d: %v requests a day", i, got)
				}
				continue
			}
			near(t, "page", got, *row[c], 1e-12)
		}
	}
	sums, limited := make([]float64, 7), 0
	for i := range pages {
		for c, v := range columns(&pages[i]) {
			if !math.IsInf(v, 1) {
				sums[c] += v
			}
		}
		if !math.IsInf(pages[i].Requests, 1) {
			limited++
		}
	}
	for c, want := range k.Web.Sums {
		near(t, "sum", sums[c], want, 1e-12)
	}
	if limited != k.Web.Limit {
		t.Errorf("%d pages with limits, want %d", limited, k.Web.Limit)
	}
}

func TestComputedSharesAreTheKnownOnes(t *testing.T) {
	k := readKnown(t)
	got := map[string]Row{}
	for _, r := range computed(Web(k.Web.Seed, k.Web.Pages), .2*float64(k.Web.Pages)) {
		got[r.Name] = r
	}
	for name, row := range map[string]string{"proportional": "proportional to change", "uniform": "uniform", "LambdaCrawl": "LambdaCrawl",
		"BinaryLambdaCrawl": "BinaryLambdaCrawl"} {
		var want struct {
			Poisson float64
			Equal   float64 `json:"equal_gaps"`
		}
		if err := json.Unmarshal(k.Web.Share[name], &want); err != nil {
			t.Fatal(err)
		}
		near(t, name, got[row].Drawn, want.Poisson, 1e-9)
		near(t, name, got[row].Equal, want.Equal, 1e-9)
	}
	var bound float64
	if err := json.Unmarshal(k.Web.Share["bound_without_signals"], &bound); err != nil {
		t.Fatal(err)
	}
	near(t, "bound", got["bound without signals"].Equal, bound, 1e-9)
	near(t, "hosts: PoliteBinaryLambdaCrawl", got["hosts: PoliteBinaryLambdaCrawl"].Drawn, .6145, 2e-3)
	near(t, "hosts: bound", got["hosts: bound without signals"].Equal, .6666, 2e-3)
}

// Policies of this project are not below published ones, and near their bounds.
func TestPlayedPoliciesAreNotBelowPublishedOnes(t *testing.T) {
	rows, err := Compare(t.Context(), Web(1, 2400), Plan{Warm: 20, Days: 20, Seed: 1,
		Rows: []string{"roundrobin", "freshness (GREEDY)", "freshness, signals (GREEDY-NCIS)", "hosts: freshness"}})
	if err != nil {
		t.Fatal(err)
	}
	share := map[string]float64{}
	for _, r := range rows {
		share[r.Name] = r.Equal
		t.Logf("%-45s %.4f %.4f", r.Name, r.Drawn, r.Equal)
	}
	for _, x := range []struct {
		name, over string
		least      float64
	}{
		{"freshness (GREEDY)", "BinaryLambdaCrawl", 1}, {"freshness (GREEDY)", "bound without signals", .993},
		{"freshness, signals (GREEDY-NCIS)", "bound with signals", .96}, {"hosts: freshness", "hosts: bound without signals", .97},
		{"roundrobin", "uniform", .98}, {"uniform", "roundrobin", .98},
	} {
		if !(share[x.name] >= x.least*share[x.over]) {
			t.Errorf("%s has %.4f, %s %.4f, want at least %v times that", x.name, share[x.name], x.over, share[x.over], x.least)
		}
	}
}

func TestComparisonsThatMakeNoSenseAreRefused(t *testing.T) {
	if _, err := Compare(t.Context(), Web(1, 1000), Plan{Days: 1}); !errors.Is(err, ErrSmall) {
		t.Errorf("1000 pages: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Compare(ctx, Web(1, 2400), Plan{Days: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("without time: %v", err)
	}
}
