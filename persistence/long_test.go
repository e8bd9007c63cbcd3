package persistence

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// fewShards is a set of some of the first shards: with few of them transactions are in
// each other's way all the time.
func fewShards(random *rand.Rand, n int) (set Shards) {
	for range n {
		set.Add(uint64(random.IntN(6)) << 56)
	}
	return set
}

// TestLongTransactionsAndOthersEnd has one transaction lock shards in any order while
// others lock several at once: none waits for ever, and none is in a shard with another.
func TestLongTransactionsAndOthersEnd(t *testing.T) {
	const rounds = 3000
	s := openMemory(t, Options{Databases: 1})
	var inside [6]int // guarded by the locks of the shards
	use := func(set *Shards) {
		for i := range inside {
			if set.Has(uint64(i) << 56) {
				inside[i]++
			}
		}
	}
	var work sync.WaitGroup
	for c := range 4 {
		work.Go(func() {
			random := rand.New(rand.NewPCG(uint64(c), 1))
			tx := s.NewTx()
			for range rounds {
				set := fewShards(random, 1+random.IntN(4))
				if !tx.Lock(&set, 1) {
					t.Error("a lock failed though nothing was overdue")
					return
				}
				use(&set)
				tx.Unlock()
			}
		})
	}
	work.Go(func() {
		random := rand.New(rand.NewPCG(9, 9))
		tx := s.NewTx()
		for range rounds {
			set := fewShards(random, 1)
			tx.LockLong(&set, 1)
			for range 4 {
				more := fewShards(random, 1)
				tx.Extend(&more)
				set.Union(more)
			}
			use(&set)
			tx.Unlock()
		}
	})
	work.Wait()
	for i := range s.keyspace.Shard {
		if s.keyspace.Shard[i].Wanted() {
			t.Errorf("shard %d is still wanted", i)
		}
	}
	closeStore(t, s)
}

func TestWaitForAnOverdueTransactionEnds(t *testing.T) {
	s := openMemory(t, Options{Databases: 1})
	long, other := s.NewTx(), s.NewTx()
	var one, both Shards
	one.Add(1 << 56)
	both.Add(0)
	both.Union(one)
	long.LockLong(&one, 1)
	got := make(chan bool) // each attempt's result
	try := func() { go func() { got <- other.Lock(&both, 1) }() }
	try()
	s.Overdue()
	if <-got {
		t.Fatal("two transactions have a shard")
	}
	// What it gave back is free for the long one.
	long.Extend(&both)
	try()
	if <-got {
		t.Fatal("a lock that comes later does not fail")
	}
	long.Unlock()
	try()
	if !<-got {
		t.Fatal("a lock fails after the end")
	}
	other.Unlock()
	s.Overdue() // of nothing
	long.LockLong(&one, 1)
	try()
	long.Unlock()
	if !<-got {
		t.Fatal("the next long transaction is overdue from its beginning")
	}
	other.Unlock()
	closeStore(t, s)
}
