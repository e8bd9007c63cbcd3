package scheduler

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestKnownTellsTheEstimatesInOrderOfSlots(t *testing.T) {
	draws := rand.New(rand.NewPCG(1, 1))
	table := new(Table)
	for slot := range 1000 {
		if slot/PageSize == 3 {
			continue
		}
		p := DefaultParams()
		if slot/PageSize%2 == 0 && draws.IntN(2) == 0 {
			p = Params{Rate: draws.Float64(), Weight: draws.Float64(), Decay: draws.Float64(), Arrival: draws.Float64(),
				Cost: 1 + draws.Float64(), MaxAge: draws.Int64N(9)}
		}
		n := NewNode(p, 5)
		n.Estimate = draws.Float64()
		table.Put(slot, n)
		if draws.IntN(4) == 0 {
			table.Remove(slot)
		}
	}
	var want []Params
	for slot := table.After(0); slot >= 0; slot = table.After(slot + 1) {
		n := table.Node(slot)
		n.Params.Rate = n.Estimate
		want = append(want, n.Params)
	}
	if got := table.Known(nil); !slices.Equal(got, want) {
		t.Errorf("Known: got %v, want %v", got, want)
	}
}

func BenchmarkKnown(b *testing.B) {
	table := new(Table)
	for slot := range 1000000 {
		n := NewNode(DefaultParams(), 5)
		n.Estimate, n.Probes, n.Count = float64(slot), 3, 4
		table.Put(slot, n)
	}
	b.ReportAllocs()
	for b.Loop() {
		table.Known(make([]Params, 0, table.Live()))
	}
}
