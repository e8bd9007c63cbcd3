package server

// queue is the clients that wait for a key, in order of arrival. It is a linked
// list of places that belong to their waiters, so that removing a client takes
// constant time. Its methods need waiting.mu.
type queue struct{ first, last *place }

// place is the position of a waiter in the queue of one of its keys.
type place struct {
	w          *waiter
	line       *queue // nil: in none, as the waiter names the key twice
	prev, next *place
}

// begin is the first place, nil if there is no queue.
func (l *queue) begin() *place {
	if l == nil {
		return nil
	}
	return l.first
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

// queueLocked is the queue of a key, made if needed.
func (q *waiting) queueLocked(key []byte) *queue {
	line := q.queues[string(key)]
	if line == nil {
		line = &queue{}
		q.queues[string(key)] = line
	}
	return line
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
