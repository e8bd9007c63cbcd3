package server

import (
	"container/heap"
	"sync"
	"sync/atomic"
)

// readyKey is a key that changed while clients waited for it.
type readyKey struct {
	db  int
	key string
}

// waiting is all parked calls. Those that wait for a key are in queues, one for each
// name of rivals (see commands.Wait): when there is nothing for the first of a queue,
// the rest of it is not looked at. So a change of a key costs as much as the calls that
// it serves, however many wait.
type waiting struct {
	n     atomic.Int32 // parked calls; read without mu
	mu    sync.Mutex
	lines map[readyKey]map[string]*queue // by rivals; guarded by mu
	by    map[*session]*waiter           // guarded by mu
	last  uint64                         // arrival; guarded by mu

	moving destinations
}

// queue is rivals that wait for a key, in order of arrival. It is a linked list of
// places that belong to their waiters, so that removing a client takes constant
// time. Its methods need waiting.mu.
type queue struct{ first, last *place }

// place is the position of a waiter in the queue of one of its keys.
type place struct {
	w          *waiter
	line       *queue // nil: in none, as the waiter names the key twice
	prev, next *place
}

// append puts a waiter at the end, unless it is there already: the keys of one
// waiter are entered one after the other.
func (l *queue) append(p *place, w *waiter) {
	if l.last != nil && l.last.w == w {
		return
	}
	p.w, p.line, p.prev = w, l, l.last
	if l.last == nil {
		l.first = p
	} else {
		l.last.next = p
	}
	l.last = p
}

func (l *queue) remove(p *place) {
	if p.prev == nil {
		l.first = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		l.last = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.line = nil
}

func (q *waiting) any() bool { return q.n.Load() > 0 }

// wanted reports whether a client waits for the key.
func (q *waiting) wanted(db int, key []byte) bool {
	if !q.any() {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.lines[readyKey{db, string(key)}]) > 0
}

// of finds the wait of a client, or nil.
func (q *waiting) of(s *session) *waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.by[s]
}

// all lists the parked calls, in no order.
func (q *waiting) all() (waiters []*waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.by {
		waiters = append(waiters, w)
	}
	return waiters
}

// timed counts the waits that have a timeout.
func (q *waiting) timed() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, w := range q.by {
		if w.stop != nil {
			n++
		}
	}
	return n
}

// keyCount is the number of keys that have waiting clients.
func (q *waiting) keyCount() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.lines)
}

// removalCount is the number of keys that have clients waiting for their removal, too.
func (q *waiting) removalCount() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	keys := map[readyKey]struct{}{}
	for _, w := range q.by {
		if w.removed {
			for _, key := range w.keys {
				keys[readyKey{w.db, string(key)}] = struct{}{}
			}
		}
	}
	return len(keys)
}

// keysOf lists the keys of a database that have waiting clients.
func (q *waiting) keysOf(db int) []readyKey {
	q.mu.Lock()
	defer q.mu.Unlock()
	var keys []readyKey
	for k := range q.lines {
		if k.db == db {
			keys = append(keys, k)
		}
	}
	return keys
}

// enter puts a waiter into the queues of its keys; w.mu and the shards of the
// keys are held.
func (q *waiting) enter(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.by == nil {
		q.lines = map[readyKey]map[string]*queue{}
		q.by = map[*session]*waiter{}
	}
	q.by[w.s] = w
	q.last++
	w.arrival = q.last
	w.places = make([]place, len(w.keys))
	for i, key := range w.keys {
		q.yieldLocked(i)
		q.queueLocked(readyKey{w.db, string(key)}, w.rivalsAt(i)).append(&w.places[i], w)
	}
	q.moving.addLocked(w)
	q.n.Add(1)
}

// queueLocked returns a queue of a key, made if needed.
func (q *waiting) queueLocked(k readyKey, rivals string) *queue {
	line := q.lines[k]
	if line == nil {
		line = map[string]*queue{}
		q.lines[k] = line
	}
	if line[rivals] == nil {
		line[rivals] = &queue{}
	}
	return line[rivals]
}

// rivalsAt names what competes with the waiter for its key i.
func (w *waiter) rivalsAt(i int) string {
	if w.rivals == nil {
		return w.cmd.GroupName()
	}
	return w.rivals[i]
}

// finish takes a waiter out of its queues. It returns false if that was done before:
// the first alone replies. w.mu is held.
func (q *waiting) finish(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.done.Load() {
		return false
	}
	w.done.Store(true)
	delete(q.by, w.s)
	for i := range w.places {
		q.yieldLocked(i)
		q.leaveLocked(w, i)
	}
	q.moving.removeLocked(w)
	q.n.Add(-1)
	if w.stop != nil {
		w.stop()
	}
	if w.again != nil {
		w.again()
	}
	return true
}

// leaveLocked takes a waiter out of the queue of its key i. What nobody waits for
// any more goes.
func (q *waiting) leaveLocked(w *waiter, i int) {
	line := w.places[i].line
	if line == nil {
		return
	}
	if line.remove(&w.places[i]); line.first != nil {
		return
	}
	k := readyKey{w.db, string(w.keys[i])}
	if delete(q.lines[k], w.rivalsAt(i)); len(q.lines[k]) == 0 {
		delete(q.lines, k)
	}
}

// cancel removes a waiter whose client has left. It returns false if the wait had
// ended before.
func (q *waiting) cancel(w *waiter) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return q.finish(w)
}

// arm keeps what stops the computation of a waiter, or stops it at once if the
// wait has ended.
func (q *waiting) arm(w *waiter, stop func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.done.Load() {
		stop()
		return
	}
	w.stop = stop
}

// yieldLocked releases q.mu for a moment after every thousand keys of a waiter. A
// waiter that has not entered all its queues cannot be served meanwhile, because
// the shards of its keys are locked; one that has not left all of them is marked
// as done.
func (q *waiting) yieldLocked(i int) {
	if i%1000 == 999 {
		q.mu.Unlock()
		q.mu.Lock()
	}
}

// line is the calls that wait for a key, of all its queues, while they are served: the
// queues that were not passed over, as a heap in the order in which their first calls
// came.
type line struct {
	q      *waiting
	queues []arrived
}

// arrived is a queue and the arrival of its first waiter, or of one that was the first
// before: others leave at any time.
type arrived struct {
	*queue
	arrival uint64
}

// line returns the calls that wait for a key, whose shard is locked.
func (q *waiting) line(k readyKey) *line {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := &line{q: q}
	for _, queue := range q.lines[k] {
		l.queues = append(l.queues, arrived{queue, queue.first.w.arrival})
	}
	heap.Init(l)
	return l
}

// next returns the call that came first of those in line, nil if there is none. It
// stays in line until its wait ends.
func (l *line) next() *waiter {
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	for len(l.queues) > 0 {
		top := &l.queues[0]
		switch {
		case top.first == nil:
			heap.Pop(l)
		case top.first.w.arrival != top.arrival:
			top.arrival = top.first.w.arrival
			heap.Fix(l, 0)
		default:
			return top.first.w
		}
	}
	return nil
}

// pass takes the queue of the call that next returned out of the line.
func (l *line) pass() { heap.Pop(l) }

// Len, Less, Swap, Push and Pop are what heap.Interface asks for.
func (l *line) Len() int           { return len(l.queues) }
func (l *line) Less(i, j int) bool { return l.queues[i].arrival < l.queues[j].arrival }
func (l *line) Swap(i, j int)      { l.queues[i], l.queues[j] = l.queues[j], l.queues[i] }
func (l *line) Push(x any)         { l.queues = append(l.queues, x.(arrived)) }

func (l *line) Pop() any {
	n := len(l.queues) - 1
	x := l.queues[n]
	l.queues = l.queues[:n]
	return x
}

// plan notes how the timer is stopped that looks at a waiter again, in place of the one
// before it.
func (q *waiting) plan(w *waiter, stop func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.isDone() {
		stop()
		return
	}
	if w.again != nil {
		w.again()
	}
	w.again = stop
}
