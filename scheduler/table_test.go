package scheduler

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

func TestTableNumbersSlotsAsAModelDoes(t *testing.T) {
	const seed = 19
	rng := rand.New(rand.NewPCG(seed, 0))
	table, model := new(Table), map[int]float64{}
	for step := range 20000 {
		fill := step/2000%2 == 0
		if rng.IntN(10) < 7 == fill {
			want := 0
			for _, taken := model[want]; taken; _, taken = model[want] {
				want++
			}
			slot := table.Free()
			if slot != want {
				t.Fatalf("seed %d step %d: free slot %d, want %d", seed, step, slot, want)
			}
			v := rng.Float64()
			table.Put(slot, Node{Items: v})
			model[slot] = v
		} else if table.Len() > 0 {
			slot := rng.IntN(table.Len())
			table.Remove(slot)
			delete(model, slot)
		}
		if step%97 == 0 {
			compareTable(t, table, model)
		}
	}
}

func compareTable(t *testing.T, table *Table, model map[int]float64) {
	t.Helper()
	high, seen := 0, 0
	for slot := range model {
		high = max(high, slot+1)
	}
	for slot := table.After(0); slot >= 0; slot = table.After(slot + 1) {
		if v, ok := model[slot]; !ok || table.At(slot).Items != v {
			t.Fatalf("slot %d: %v, model %v %v", slot, table.At(slot), v, ok)
		}
		seen++
	}
	if seen != len(model) || table.Live() != len(model) || table.Len() != high {
		t.Fatalf("%d nodes seen, %d live, length %d; model has %d, length %d", seen, table.Live(), table.Len(), len(model), high)
	}
}

func TestSlotsBeyondTheTableAreFree(t *testing.T) {
	table := new(Table)
	table.Put(3, Node{})
	for _, slot := range []int{-1, 0, 4, 64, 1 << 40} {
		if table.At(slot) != nil {
			t.Errorf("slot %d has a node", slot)
		}
		table.Remove(slot)
	}
	if got := table.After(-5); got != 3 {
		t.Errorf("After(-5) = %d", got)
	}
	if got := table.After(4); got != -1 {
		t.Errorf("After(4) = %d", got)
	}
}

func TestParamsOutOfRangeAreRefused(t *testing.T) {
	bad := []float64{-2, math.NaN(), math.Inf(1), math.Inf(-1), 2 * MaxNumber}
	fields := map[string]func(*Params) *float64{
		"rate":    func(p *Params) *float64 { return &p.Rate },
		"weight":  func(p *Params) *float64 { return &p.Weight },
		"decay":   func(p *Params) *float64 { return &p.Decay },
		"arrival": func(p *Params) *float64 { return &p.Arrival },
		"cost":    func(p *Params) *float64 { return &p.Cost },
	}
	for name, field := range fields {
		for _, v := range bad {
			p := DefaultParams()
			*field(&p) = v
			want := ErrNumber
			if name == "cost" {
				want = ErrCost
			}
			if err := p.Check(); !errors.Is(err, want) {
				t.Errorf("%s %g: got %v, want %v", name, v, err, want)
			}
		}
	}
	for _, age := range []int64{-1, MaxStep + 1} {
		p := DefaultParams()
		p.MaxAge = age
		if err := p.Check(); !errors.Is(err, ErrMaxAge) {
			t.Errorf("maximal age %d: %v", age, err)
		}
	}
	p := DefaultParams()
	p.Cost = 0
	if err := p.Check(); !errors.Is(err, ErrCost) {
		t.Errorf("cost 0: %v", err)
	}
	p = DefaultParams()
	if err := p.Check(); err != nil {
		t.Errorf("defaults: %v", err)
	}
}
