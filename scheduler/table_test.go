package scheduler

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
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
		if v, ok := model[slot]; !ok || table.Node(slot).Items != v {
			t.Fatalf("slot %d: %v, model %v %v", slot, table.Node(slot), v, ok)
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
		if table.Has(slot) {
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

func TestPagesKeepEveryColumnAndMemo(t *testing.T) {
	const seed = 23
	rng := rand.New(rand.NewPCG(seed, 0))
	table, model := new(Table), map[int]Node{}
	random := func() Node {
		n := NewNode(DefaultParams(), 0)
		for _, v := range []*float64{&n.Rate, &n.Weight, &n.Decay, &n.Arrival, &n.Cost, &n.Items, &n.Estimate,
			&n.Count, &n.Exposure, &n.Up, &n.Down} {
			if rng.IntN(12) == 0 {
				*v = rng.Float64()
			}
		}
		for _, v := range []*int64{&n.MaxAge, &n.Born, &n.Last, &n.Probes} {
			if rng.IntN(12) == 0 {
				*v = rng.Int64N(MaxStep + 1)
			}
		}
		if rng.IntN(12) == 0 {
			n.Memo = []float64{rng.Float64(), rng.Float64()}
		}
		return n
	}
	for step := range 5000 {
		slot, n := rng.IntN(200), random()
		switch rng.IntN(4) {
		case 0:
			table.Remove(slot)
			delete(model, slot)
		case 1:
			if table.Load(slot, &n) { // a loaded node keeps its own memo
				n.Down = rng.Float64()
				table.Store(slot, &n)
				n.Memo = slices.Clone(n.Memo)
				model[slot] = n
			}
		case 2:
			if table.Has(slot) {
				table.SetMemo(slot, 2)[1] = float64(step)
				old := model[slot]
				old.Memo = []float64{0, float64(step)}
				model[slot] = old
			}
		default:
			table.Put(slot, n)
			model[slot] = n
		}
		for slot, want := range model {
			if got := table.Node(slot); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d step %d slot %d: got %+v, want %+v", seed, step, slot, got, want)
			}
		}
	}
	for slot := range model {
		table.Remove(slot)
	}
	if table.bytes != 0 {
		t.Errorf("an empty table says it holds %d bytes of pages", table.bytes)
	}
}

func TestHidingEndsWithTheNode(t *testing.T) {
	table := new(Table)
	table.Put(5, Node{})
	table.Hide(5, true)
	if !table.Hidden(5) || !table.Hidden(6) {
		t.Error("hidden and free slots must count as hidden")
	}
	table.Remove(5)
	table.Put(5, Node{})
	if table.Hidden(5) {
		t.Error("a new node inherits that the old one was hidden")
	}
}
