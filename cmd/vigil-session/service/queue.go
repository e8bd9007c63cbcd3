package service

import (
	"errors"
	"sync"
)

var (
	errFull  = errors.New("queue is full")
	errFlood = errors.New("session has too much waiting")
)

// queue holds what waits for one worker. Sessions take turns, so that one that
// floods the queue delays the others by one request at most; within a session
// the order is the order of arrival.
type queue struct {
	mu      sync.Mutex // guards what follows
	filled  sync.Cond  // there is something to take, or the queue is closed
	waiting map[string]*line
	turns   []*line // the sessions with something waiting, the next one first
	n       int     // requests in all lines
	closed  bool

	limit, perSession int
}

// line is what waits of one session.
type line struct {
	session  string
	messages []message
}

func newQueue(limit, perSession int) *queue {
	q := &queue{waiting: map[string]*line{}, limit: limit, perSession: perSession}
	q.filled.L = &q.mu
	return q
}

// push appends m, or returns errFull or errFlood. It never waits.
func (q *queue) push(m message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.n >= q.limit {
		return errFull
	}
	l := q.waiting[m.Session]
	switch {
	case l == nil:
		l = &line{session: m.Session}
		q.waiting[m.Session] = l
		q.turns = append(q.turns, l)
	case len(l.messages) >= q.perSession:
		return errFlood
	}
	l.messages = append(l.messages, m)
	q.n++
	q.filled.Signal()
	return nil
}

// take appends up to most requests to batch. If nothing waits it returns at
// once, or with wait set when something does. more is false when the queue is
// closed and empty.
func (q *queue) take(batch []message, most int, wait bool) (_ []message, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for wait && q.n == 0 && !q.closed {
		q.filled.Wait()
	}
	for range min(most, q.n) {
		l := q.turns[0]
		q.turns = q.turns[1:]
		batch = append(batch, l.messages[0])
		l.messages[0] = message{} // so that a long line does not hold what was taken
		l.messages = l.messages[1:]
		if len(l.messages) > 0 {
			q.turns = append(q.turns, l)
		} else {
			delete(q.waiting, l.session)
		}
		q.n--
	}
	return batch, q.n > 0 || !q.closed
}

// length is how many requests wait.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.n
}

// setPerSession changes the bound of a session for what comes.
func (q *queue) setPerSession(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.perSession = n
}

// close lets take return when the queue is empty.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.filled.Broadcast()
}
