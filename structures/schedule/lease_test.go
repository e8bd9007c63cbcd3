package schedule

import (
	"math/rand/v2"
	"testing"
)

// modelLease is a lease of the model: over says that end took it.
type modelLease struct {
	until, step int64
	over        bool
}

func TestLeasesAreThoseOfAMap(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 21))
		l, model := newLeases(), map[int]modelLease{}
		seen, recorded := int64(0), int64(0)
		for op := range 6000 {
			slot := rng.IntN(200)
			switch k := rng.IntN(10); {
			case k < 5:
				if _, ok := model[slot]; !ok {
					until := seen + 1 + int64(rng.IntN(100))
					l.add(lease{slot: int32(slot), until: until, step: int64(op)})
					model[slot] = modelLease{until, int64(op), false}
				}
			case k < 7:
				_, want := model[slot]
				if got := l.drop(slot); got != want {
					t.Fatalf("seed %d, operation %d: drop %d: %v, want %v", seed, op, slot, got, want)
				}
				delete(model, slot)
			case k < 9:
				seen += int64(rng.IntN(20))
				checkEnds(t, &l, model, seen)
			default:
				recorded = recorded + int64(rng.IntN(int(seen-recorded)+1))
				l.settle(recorded, func(lease) {})
				for slot, m := range model {
					if m.over && m.until <= recorded {
						delete(model, slot)
					}
				}
			}
			checkLeases(t, &l, model)
		}
	}
}

// checkEnds takes all leases that end by a time, in order.
func checkEnds(t *testing.T, l *leases, model map[int]modelLease, now int64) {
	t.Helper()
	last := int64(0)
	for {
		slot, ok := l.end(now)
		if !ok {
			break
		}
		m := model[slot]
		if m.over || m.until > now || m.until < last {
			t.Fatalf("slot %d ended at %d, after one at %d: %+v", slot, now, last, m)
		}
		last, m.over = m.until, true
		model[slot] = m
	}
	for slot, m := range model {
		if !m.over && m.until <= now {
			t.Fatalf("slot %d did not end at %d: %+v", slot, now, m)
		}
	}
}

func checkLeases(t *testing.T, l *leases, model map[int]modelLease) {
	t.Helper()
	running := 0
	for slot, m := range model {
		got, ok := l.of(slot)
		if !ok || got.until != m.until || got.step != m.step || int(got.slot) != slot || (got.place < 0) != m.over {
			t.Fatalf("slot %d: %+v %v, want %+v", slot, got, ok, m)
		}
		if !m.over {
			running++
			if i := l.running[got.place]; l.list[i] != got {
				t.Fatalf("slot %d is not where it says: %+v", slot, got)
			}
		}
	}
	if len(l.at) != len(model) || len(l.running) != running {
		t.Fatalf("%d leases, %d running; want %d, %d", len(l.at), len(l.running), len(model), running)
	}
	for i := 1; i < len(l.running); i++ {
		if l.earlier(i, (i-1)/2) {
			t.Fatalf("place %d of the heap ends before its parent", i)
		}
	}
}

func TestManyLeasesGiveTheirMemoryBack(t *testing.T) {
	l := newLeases()
	for slot := range 10_000 {
		l.add(lease{slot: int32(slot), until: int64(slot), step: 1})
	}
	if each := l.size() / 10_000; each > 80 {
		t.Errorf("a lease takes %d bytes", each)
	}
	for slot := range 10_000 {
		l.drop(slot)
	}
	if l.size() > 100 {
		t.Errorf("no lease takes %d bytes", l.size())
	}
}
