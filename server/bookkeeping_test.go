package server

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/blocking"
)

// Clients come to watch, to wait and to listen, and leave in any order: what
// remains is what a map says.

func TestWatchesForgetWhoLeavesAndNobodyElse(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, seed))
	var w watches
	held := map[*watchedKey]bool{}
	clients := make([]watching, 5)
	for i := range clients {
		clients[i] = watching{client: new(commands.Client), keys: map[blocking.Key]*watchedKey{}}
	}
	for range 2000 {
		c, k := &clients[rng.IntN(len(clients))], blocking.Key{DB: rng.IntN(2), Name: fmt.Sprint(rng.IntN(3))}
		if old := c.keys[k]; old != nil {
			w.remove(old)
			delete(c.keys, k)
			delete(held, old)
		} else {
			c.keys[k] = &watchedKey{Key: k, client: c.client}
			w.add(c.keys[k])
			held[c.keys[k]] = true
		}
		if int(w.n.Load()) != len(held) {
			t.Fatalf("seed %d: %d watched keys are counted, want %d", seed, w.n.Load(), len(held))
		}
		w.touch(k.DB, []byte(k.Name))
		for _, c := range clients {
			if got, want := c.client.Has(commands.ClientDirtyCAS), c.keys[k] != nil; got != want {
				t.Fatalf("seed %d: a client is told of %v: %v, want %v", seed, k, got, want)
			}
			c.client.Clear(commands.ClientDirtyCAS)
		}
	}
	for k := range held {
		w.remove(k)
	}
	if len(w.keys) != 0 {
		t.Errorf("%d keys are watched by nobody", len(w.keys))
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
