package blocking

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Calls come to wait and leave in any order: what remains is what a list says.

func TestQueuesKeepTheOrderOfArrival(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, seed))
	var q Calls
	var came []*Call // the waiting calls, in order of arrival
	for range 2000 {
		if len(came) == 0 || rng.IntN(2) == 0 {
			w := &Call{Client: &client{}, DB: rng.IntN(2)}
			for range 1 + rng.IntN(4) { // keys may be named twice
				w.Keys = append(w.Keys, []byte(fmt.Sprint(rng.IntN(3))))
				w.rivals = append(w.rivals, fmt.Sprint(rng.IntN(2)))
			}
			q.enter(w)
			came = append(came, w)
		} else {
			i := rng.IntN(len(came))
			if !q.Cancel(came[i]) || q.Cancel(came[i]) {
				t.Fatalf("seed %d: a wait did not end once", seed)
			}
			came = append(came[:i:i], came[i+1:]...)
		}
		k, rivals := Key{rng.IntN(2), fmt.Sprint(rng.IntN(3))}, fmt.Sprint(rng.IntN(2))
		var want, got []*Call
		for _, w := range came {
			for i, key := range w.Keys {
				if w.DB == k.DB && string(key) == k.Name && w.rivals[i] == rivals {
					want = append(want, w)
					break
				}
			}
		}
		if line := q.lines[k][rivals]; line != nil {
			for p := line.first; p != nil; p = p.next {
				got = append(got, p.w)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: key %v: got %d in line, want %d, or another order", seed, k, len(got), len(want))
		}
	}
	for _, w := range came {
		q.Cancel(w)
	}
	if len(q.lines)+len(q.by) != 0 || q.Any() {
		t.Errorf("%d keys and %d calls are left of nobody", len(q.lines), len(q.by))
	}
}

// While a key is served its clients may leave, be served, or be passed over with
// their rivals.
func TestLineOfAKeyIsInOrderOfArrival(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, seed))
	for range 500 {
		var q Calls
		var came []*Call
		for range rng.IntN(20) {
			w := &Call{Client: &client{}, Keys: [][]byte{[]byte("k")}, rivals: []string{fmt.Sprint(rng.IntN(4))}}
			q.enter(w)
			came = append(came, w)
		}
		line := q.line(Key{0, "k"})
		for len(came) > 0 {
			w := line.next()
			if w != came[0] {
				t.Fatalf("seed %d: next is another call than the one that came first", seed)
			}
			switch rng.IntN(3) {
			case 0:
				q.Cancel(w)
				came = came[1:]
			case 1:
				i := rng.IntN(len(came))
				q.Cancel(came[i])
				came = slices.Delete(came, i, i+1)
			case 2:
				line.pass()
				came = slices.DeleteFunc(came, func(o *Call) bool { return o.rivals[0] == w.rivals[0] })
			}
		}
		if line.next() != nil {
			t.Fatalf("seed %d: a call is left in line", seed)
		}
	}
}
