package placement

import (
	"math/rand/v2"
	"testing"
)

// Each owner gets as many slots as Apportion says, and no slot moves that need not.
func TestReassignMovesNoSlotThatNeedNotMove(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for trial := range 200 {
		n := 1 + r.IntN(6)
		weights := make([]Capacity, n)
		for i := range weights {
			weights[i] = Capacity(r.IntN(5))
		}
		weights[r.IntN(n)] = 3
		owner := make([]int, 1+r.IntN(500))
		for i := range owner {
			owner[i] = r.IntN(n+1) - 1
		}
		next, want := Reassign(owner, weights), Apportion(len(owner), weights)
		have, before := make([]int, n), make([]int, n)
		moved, least := 0, 0
		for i, u := range next {
			have[u]++
			if owner[i] >= 0 {
				before[owner[i]]++
				if owner[i] != u {
					moved++
				}
			}
		}
		for i := range want {
			least += max(0, before[i]-want[i])
			if have[i] != want[i] {
				t.Fatalf("trial %d: owner %d has %d slots, want %d", trial, i, have[i], want[i])
			}
		}
		if moved != least {
			t.Fatalf("trial %d: %d slots move, and %d have to", trial, moved, least)
		}
	}
}

// A group that comes gets a quarter of the slots of three, from each the highest ones.
func TestReassignGivesANewOwnerItsShare(t *testing.T) {
	owner := make([]int, 16384)
	for i := range owner {
		owner[i] = min(2, i/5461)
	}
	moved := 0
	for i, u := range Reassign(owner, []Capacity{1, 1, 1, 1}) {
		if u != owner[i] {
			moved++
			if u != 3 || i%5461 < 4096 && i < 16383 {
				t.Fatalf("slot %d goes from %d to %d", i, owner[i], u)
			}
		}
	}
	if moved != 4096 {
		t.Errorf("%d slots move, want 4096", moved)
	}
}
