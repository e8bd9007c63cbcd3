package server

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/pubsub"
)

// Clients come to watch, to wait and to listen, and leave in any order: what
// remains is what a map says.

func TestWatchesForgetWhoLeavesAndNobodyElse(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, seed))
	var w watches
	sessions := make([]*session, 5)
	held := map[*watchedKey]bool{}
	for i := range sessions {
		sessions[i] = &session{txn: transaction{watched: map[readyKey]*watchedKey{}}}
	}
	for range 2000 {
		s, k := sessions[rng.IntN(len(sessions))], readyKey{rng.IntN(2), fmt.Sprint(rng.IntN(3))}
		if old := s.txn.watched[k]; old != nil {
			w.remove(old)
			delete(s.txn.watched, k)
			delete(held, old)
		} else {
			s.txn.watched[k] = &watchedKey{readyKey: k, s: s}
			w.add(s.txn.watched[k])
			held[s.txn.watched[k]] = true
		}
		if int(w.n.Load()) != len(held) {
			t.Fatalf("seed %d: %d watched keys are counted, want %d", seed, w.n.Load(), len(held))
		}
		w.touch(k.db, []byte(k.key))
		for _, s := range sessions {
			if got, want := s.Has(commands.ClientDirtyCAS), s.txn.watched[k] != nil; got != want {
				t.Fatalf("seed %d: a client is told of %v: %v, want %v", seed, k, got, want)
			}
			s.Clear(commands.ClientDirtyCAS)
		}
	}
	for k := range held {
		w.remove(k)
	}
	if len(w.keys) != 0 {
		t.Errorf("%d keys are watched by nobody", len(w.keys))
	}
}

func TestQueuesKeepTheOrderOfArrival(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, seed))
	var q waiting
	var came []*waiter // the waiting calls, in order of arrival
	for range 2000 {
		if len(came) == 0 || rng.IntN(2) == 0 {
			w := &waiter{s: &session{}, db: rng.IntN(2)}
			for range 1 + rng.IntN(4) { // keys may be named twice
				w.keys = append(w.keys, []byte(fmt.Sprint(rng.IntN(3))))
				w.rivals = append(w.rivals, fmt.Sprint(rng.IntN(2)))
			}
			q.enter(w)
			came = append(came, w)
		} else {
			i := rng.IntN(len(came))
			if !q.cancel(came[i]) || q.cancel(came[i]) {
				t.Fatalf("seed %d: a wait did not end once", seed)
			}
			came = append(came[:i:i], came[i+1:]...)
		}
		k, rivals := readyKey{rng.IntN(2), fmt.Sprint(rng.IntN(3))}, fmt.Sprint(rng.IntN(2))
		var want, got []*waiter
		for _, w := range came {
			for i, key := range w.keys {
				if w.db == k.db && string(key) == k.key && w.rivals[i] == rivals {
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
		q.cancel(w)
	}
	if len(q.lines)+len(q.by) != 0 || q.any() {
		t.Errorf("%d keys and %d waiters are left of nobody", len(q.lines), len(q.by))
	}
}

// While a key is served its clients may leave, be served, or be passed over with
// their rivals.
func TestLineOfAKeyIsInOrderOfArrival(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, seed))
	for range 500 {
		var q waiting
		var came []*waiter
		for range rng.IntN(20) {
			w := &waiter{s: &session{}, keys: [][]byte{[]byte("k")}, rivals: []string{fmt.Sprint(rng.IntN(4))}}
			q.enter(w)
			came = append(came, w)
		}
		line := q.line(readyKey{0, "k"})
		for len(came) > 0 {
			w := line.next()
			if w != came[0] {
				t.Fatalf("seed %d: next is another call than the one that came first", seed)
			}
			switch rng.IntN(3) {
			case 0:
				q.cancel(w)
				came = came[1:]
			case 1:
				i := rng.IntN(len(came))
				q.cancel(came[i])
				came = slices.Delete(came, i, i+1)
			case 2:
				line.pass()
				came = slices.DeleteFunc(came, func(o *waiter) bool { return o.rivals[0] == w.rivals[0] })
			}
		}
		if line.next() != nil {
			t.Fatalf("seed %d: a call is left in line", seed)
		}
	}
}

func TestSubscriptionsEndForWhoLeavesAndNobodyElse(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, seed))
	var p broker
	held := map[*subscription]bool{}
	for range 2000 {
		if rng.IntN(2) == 0 {
			u := &subscription{s: &session{}}
			p.add(u, pubsub.Channel, "ch")
			held[u] = true
		} else {
			for u := range held { // any
				p.remove(u, pubsub.Channel, "ch")
				delete(held, u)
				break
			}
		}
		list := p.topics[pubsub.Channel]["ch"]
		if len(list) != len(held) {
			t.Fatalf("seed %d: %d subscriptions, want %d", seed, len(list), len(held))
		}
		for i, u := range list {
			if !held[u] || u.at != i {
				t.Fatalf("seed %d: the subscription at %d is of somebody who left, or thinks that it is at %d", seed, i, u.at)
			}
		}
	}
}

func TestUnsubscribingTwiceInOneCall(t *testing.T) {
	r := newRig(t)
	c := r.dial().hello3()
	c.do("SUBSCRIBE", "a")
	c.send("UNSUBSCRIBE", "a", "a")
	c.next(`>["unsubscribe" "a" (int) 0]`)
	c.next(`>["unsubscribe" "a" (int) 0]`)
	r.dial().want("PUBLISH a m", "(int) 0")
}

func TestFlushOfOneDatabaseDoomsNobodyElse(t *testing.T) {
	r := newRig(t)
	c, other := r.dial(), r.dial()
	other.want("SELECT 1", "OK")
	other.want("SET k v", "OK")
	c.want("WATCH k", "OK") // which database 0 does not have
	c.want("MULTI", "OK")
	other.want("FLUSHALL", "OK")
	c.want("EXEC", "[]")
	// What SWAPDB brings is a change, and so is what it takes.
	for range 2 {
		c.want("WATCH k", "OK")
		c.want("MULTI", "OK")
		other.want("SET k v", "OK")
		other.want("SWAPDB 0 1", "OK")
		c.want("EXEC", "(nil array)")
	}
}
