package blocking

import (
	"container/heap"
	"sync"
	"sync/atomic"
)

// Key is a key of a database.
type Key struct {
	DB   int
	Name string
}

// Calls is all blocked calls. Those that wait for a key are in queues, one for each
// name of rivals (see commands.Wait): when there is nothing for the first of a queue,
// the rest of it is not looked at. So a change of a key costs as much as the calls that
// it serves, however many wait.
type Calls struct {
	host  Host
	n     atomic.Int32 // blocked calls; read without mu
	mu    sync.Mutex
	lines map[Key]map[string]*queue // by rivals; guarded by mu
	by    map[Client]*Call          // guarded by mu
	last  uint64                    // arrival; guarded by mu

	watched atomic.Bool // a look for outages is due

	moving destinations
	polls  polls
	gone   removals
}

// Open is called once, before calls block.
func (q *Calls) Open(h Host) {
	q.host = h
	q.polls.wake = make(chan struct{}, 1)
}

// queue is rivals that wait for a key, in order of arrival. It is a linked list of
// places that belong to their calls, so that removing one takes constant
// time. Its methods need Calls.mu.
type queue struct{ first, last *place }

// place is the position of a call in the queue of one of its keys.
type place struct {
	w          *Call
	line       *queue // nil: in none, as the call names the key twice
	prev, next *place
}

// append puts a call at the end, unless it is there already: the keys of one
// call are entered one after the other.
func (l *queue) append(p *place, w *Call) {
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

// Any reports whether calls are blocked.
func (q *Calls) Any() bool { return q.n.Load() > 0 }

// Wanted reports whether a client waits for the key.
func (q *Calls) Wanted(db int, key []byte) bool {
	if !q.Any() {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.lines[Key{db, string(key)}]) > 0
}

// Count is how many there are.
func (q *Calls) Count() int { return int(q.n.Load()) }

// Of finds the blocked call of a client, or nil.
func (q *Calls) Of(c Client) *Call {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.by[c]
}

// All lists the blocked calls, in no order.
func (q *Calls) All() (calls []*Call) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.by {
		calls = append(calls, w)
	}
	return calls
}

// Timed counts the waits that have a timeout.
func (q *Calls) Timed() int {
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

// KeyCount is the number of keys that have waiting clients.
func (q *Calls) KeyCount() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.lines)
}

// RemovalCount is the number of keys that have clients waiting for their removal, too.
func (q *Calls) RemovalCount() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	keys := map[Key]struct{}{}
	for _, w := range q.by {
		if w.removed {
			for _, key := range w.Keys {
				keys[Key{w.DB, string(key)}] = struct{}{}
			}
		}
	}
	return len(keys)
}

// KeysOf lists the keys of a database that have waiting clients.
func (q *Calls) KeysOf(db int) []Key {
	q.mu.Lock()
	defer q.mu.Unlock()
	var keys []Key
	for k := range q.lines {
		if k.DB == db {
			keys = append(keys, k)
		}
	}
	return keys
}

// enter puts a call into the queues of its keys; w.mu and the shards of the
// keys are held.
func (q *Calls) enter(w *Call) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.by == nil {
		q.lines = map[Key]map[string]*queue{}
		q.by = map[Client]*Call{}
	}
	q.by[w.Client] = w
	q.last++
	w.arrival = q.last
	w.places = make([]place, len(w.Keys))
	for i, key := range w.Keys {
		q.yieldLocked(i)
		q.queueLocked(Key{w.DB, string(key)}, w.rivalsAt(i)).append(&w.places[i], w)
	}
	q.moving.addLocked(w)
	q.n.Add(1)
}

// queueLocked returns a queue of a key, made if needed.
func (q *Calls) queueLocked(k Key, rivals string) *queue {
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

// rivalsAt names what competes with the call for its key i.
func (w *Call) rivalsAt(i int) string {
	if w.rivals == nil {
		return w.Command.GroupName()
	}
	return w.rivals[i]
}

// finish takes a call out of its queues. It returns false if that was done before:
// the first alone replies. w.mu is held.
func (q *Calls) finish(w *Call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.done.Load() {
		return false
	}
	w.done.Store(true)
	delete(q.by, w.Client)
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

// leaveLocked takes a call out of the queue of its key i. What nobody waits for
// Any more goes.
func (q *Calls) leaveLocked(w *Call, i int) {
	line := w.places[i].line
	if line == nil {
		return
	}
	if line.remove(&w.places[i]); line.first != nil {
		return
	}
	k := Key{w.DB, string(w.Keys[i])}
	if delete(q.lines[k], w.rivalsAt(i)); len(q.lines[k]) == 0 {
		delete(q.lines, k)
	}
}

// Arm keeps what stops the computation of a call, or stops it at once if the
// wait has ended.
func (q *Calls) Arm(w *Call, stop func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.done.Load() {
		stop()
		return
	}
	w.stop = stop
}

// yieldLocked releases q.mu for a moment after every thousand keys of a call. A
// call that has not entered all its queues cannot be served meanwhile, because
// the shards of its keys are locked; one that has not left all of them is marked
// as done.
func (q *Calls) yieldLocked(i int) {
	if i%1000 == 999 {
		q.mu.Unlock()
		q.mu.Lock()
	}
}

// line is the calls that wait for a key, of all its queues, while they are served: the
// queues that were not passed over, as a heap in the order in which their first calls
// came.
type line struct {
	q      *Calls
	queues []arrived
}

// arrived is a queue and the arrival of its first call, or of one that was the first
// before: others leave at any time.
type arrived struct {
	*queue
	arrival uint64
}

// line returns the calls that wait for a key, whose shard is locked.
func (q *Calls) line(k Key) *line {
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
func (l *line) next() *Call {
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

// plan notes how the timer is stopped that looks at a call again, in place of the one
// before it.
func (q *Calls) plan(w *Call, stop func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.Done() {
		stop()
		return
	}
	if w.again != nil {
		w.again()
	}
	w.again = stop
}
