package scheduler

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// believedScan is what a scan of the table picks.
func believedScan(table *Table, step int64, count int) []int {
	var list []candidate
	for slot := table.After(0); slot >= 0; slot = table.After(slot + 1) {
		n := table.Node(slot)
		l := learnt{n.Probes, n.MaxAge, n.Worth(), n.Cost, n.Memo}
		m := l.interest(n.Age(step))
		if c := (candidate{m.Index(n.Age(step)), slot}); c.value > 0 && !table.Hidden(slot) {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, candidate.compare)
	var slots []int
	for _, c := range list[:min(count, len(list))] {
		slots = append(slots, c.slot)
	}
	return slots
}

func TestThompsonPicksWhatAScanPicks(t *testing.T) {
	for seed := uint64(1); seed <= 12; seed++ {
		rng := rand.New(rand.NewPCG(seed, 8))
		models := scattered(5+int(seed)*int(seed), seed)
		table, p := new(Table), thompsonPolicy.New()
		p.Attach(table)
		enter := func(slot int, step int64) {
			params := DefaultParams()
			params.MaxAge = []int64{0, 0, 0, 5, 40}[rng.IntN(5)]
			params.Cost = []float64{1, 1, 1, 2}[rng.IntN(4)]
			Enter(table, fixed{}, slot, params, step)
			p.Touch(slot)
		}
		for slot := range models {
			enter(slot, 0)
		}
		step := int64(0)
		for range 1500 {
			step += []int64{1, 1, 1, 1, 2, 1, 1, 90}[rng.IntN(8)]
			count := 1 + rng.IntN(3)
			picks := p.Pick(nil, step, count, nil)
			if want := believedScan(table, step, count); !slices.Equal(picks, want) {
				t.Fatalf("seed %d step %d: picks %v, a scan %v", seed, step, picks, want)
			}
			for _, slot := range picks {
				m := models[slot]
				switch n := table.Node(slot); rng.IntN(12) {
				case 0: // the probe fails
				case 1:
					table.Hide(slot, !table.Hidden(slot))
					p.Touch(slot)
				case 2:
					n.Last, n.Probes = step, n.Probes+1 // done, nothing observed
					table.Store(slot, &n)
					p.Touch(slot)
				default:
					w := season{noisy: rng.IntN(2) == 0}
					Observe(table, p, fixed{}, slot, w.reward(m, min(n.Age(step), 200), rng), step)
				}
			}
			switch at := rng.IntN(len(models)); rng.IntN(40) {
			case 0:
				table.Hide(at, false)
				p.Touch(at)
			case 1:
				table.Remove(at)
				p.Touch(at)
			case 2:
				if !table.Has(at) {
					enter(at, step)
				}
			}
		}
	}
}
