package blocking

import (
	"runtime"
	"sync"
)

// Most is how many computations may wait for a worker.
const Most = 16

// MostBytes is what running and waiting computations may hold together. A single one may
// hold more.
const MostBytes = 256 << 20

// Workers run the parts of calls that take long and need no lock (SCHED.SIMULATE), one
// after the other, in order of arrival. Such a call copies what it needs while its keys are
// locked, and is then blocked without keys; the worker ends its wait.
//
// Workers are started when there is work and end when there is none. There are
// half as many as processors, so that commands always have some to run on. One that waits
// for another server (MIGRATE) does not count.
type Workers struct {
	all *sync.WaitGroup // those that run

	mu      sync.Mutex
	line    []work // in order of arrival; guarded by mu
	running int    // guarded by mu
	holds   int    // bytes, of those in line and those that run; guarded by mu
}

type work struct {
	run   func()
	holds int // bytes
}

// Open is called once, before there is work. The group counts the workers.
func (q *Workers) Open(all *sync.WaitGroup) { q.all = all }

// Room reports whether there is room for one more computation, which holds so many bytes.
func (q *Workers) Room(holds int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.line) < Most && (q.holds == 0 || q.holds+holds <= MostBytes)
}

// Count returns how many computations run and how many wait for a worker.
func (q *Workers) Count() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running, len(q.line)
}

// Abroad runs a part of a computation that waits for the network. Meanwhile another worker
// takes its place.
func (q *Workers) Abroad(f func()) {
	q.mu.Lock()
	q.running--
	q.startLocked()
	q.mu.Unlock()
	f()
	q.mu.Lock()
	q.running++
	q.mu.Unlock()
}

// Add gives work to the workers. Its client is still there and counts in the group, so
// whoever waits for the group also waits for a worker that is started here.
func (q *Workers) Add(holds int, run func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.line = append(q.line, work{run, holds})
	q.holds += holds
	q.startLocked()
}

// startLocked starts a worker if there is work and few workers run. The caller counts in
// the group.
func (q *Workers) startLocked() {
	if len(q.line) > 0 && q.running < max(1, runtime.GOMAXPROCS(0)/2) {
		q.running++
		q.all.Go(q.work)
	}
}

// work is a worker. It ends when nothing is left.
func (q *Workers) work() {
	for {
		w, ok := q.next()
		if !ok {
			return
		}
		w.run()
		q.done(w.holds)
	}
}

// next takes the work that has waited longest. If there is none, ok is false
// and the worker is no longer counted.
func (q *Workers) next() (w work, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.line) == 0 {
		q.line = nil
		q.running--
		return w, false
	}
	w = q.line[0]
	q.line[0] = work{}
	q.line = q.line[1:]
	return w, true
}

// done records the end of a computation.
func (q *Workers) done(holds int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.holds -= holds
}
