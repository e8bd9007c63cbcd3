package blocking

import (
	"runtime"
	"slices"
	"sync"
	"testing"
)

func TestWorkersAreFewAndTheirLineIsBounded(t *testing.T) {
	var q Workers
	var all sync.WaitGroup
	q.Open(&all)
	few := max(1, runtime.GOMAXPROCS(0)/2)
	started, release := make(chan struct{}, few+Most), make(chan struct{})
	for i := range few + Most {
		if !q.Room(0) {
			t.Fatalf("no room for computation %d", i)
		}
		q.Add(0, func() {
			started <- struct{}{}
			<-release
		})
		if i < few {
			<-started
		}
	}
	if running, waiting := q.Count(); running != few || waiting != Most || q.Room(0) {
		t.Errorf("%d run and %d wait, want %d and %d, and no room for more", running, waiting, few, Most)
	}
	close(release)
	all.Wait()
	if running, waiting := q.Count(); running+waiting > 0 {
		t.Errorf("%d run and %d wait after the end", running, waiting)
	}
}

func TestWhatComputationsHoldIsBounded(t *testing.T) {
	var q Workers
	var all sync.WaitGroup
	q.Open(&all)
	if !q.Room(2 * MostBytes) {
		t.Error("a single computation may hold more")
	}
	release := make(chan struct{})
	q.Add(MostBytes, func() { <-release })
	if q.Room(1) || !q.Room(0) {
		t.Error("there is room for more bytes, or none for a computation without any")
	}
	close(release)
	all.Wait()
	if !q.Room(MostBytes) {
		t.Error("what a computation held is not given back")
	}
}

func TestWorkThatWaitsAbroadTakesNoPlace(t *testing.T) {
	var q Workers
	var all sync.WaitGroup
	q.Open(&all)
	var mu sync.Mutex
	var done []int
	few := max(1, runtime.GOMAXPROCS(0)/2)
	home := make(chan struct{})
	var ran sync.WaitGroup
	ran.Add(few)
	for range few {
		q.Add(0, func() { q.Abroad(func() { <-home }) })
	}
	for i := range few {
		q.Add(0, func() {
			mu.Lock()
			defer mu.Unlock()
			done = append(done, i)
			ran.Done()
		})
	}
	ran.Wait() // though all that came before are abroad
	close(home)
	all.Wait()
	if slices.Sort(done); len(done) != few {
		t.Errorf("%d computations have run, want %d", len(done), few)
	}
	if running, waiting := q.Count(); running+waiting > 0 {
		t.Errorf("%d run and %d wait after the end", running, waiting)
	}
}
