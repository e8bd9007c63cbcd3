package server

import (
	"sync"

	"github.com/vigildb/vigil/commands"
)

// outbox holds what others write to a client: published messages, MONITOR
// lines, the reply of a wait that was served. The client's own goroutine takes
// it and writes it, many messages in one system call. Its size is bounded: a
// reader that falls behind by more than its limit is dropped, and hurts nobody.
type outbox struct {
	mu     sync.Mutex
	buf    []byte // guarded by mu
	kicked bool   // guarded by mu: the owner has been told and has not taken buf yet
	closed bool   // guarded by mu: nothing is kept any more

	// answered is set when the reply of the owner's wait is in the box, and lsn
	// is the last change that the content tells of.
	answered bool   // guarded by mu
	lsn      uint64 // guarded by mu

	softSince int64 // guarded by mu: unix seconds since which buf is over its soft limit
}

// outputLimit is one class of client-output-buffer-limit, in bytes and
// seconds; zero means no limit.
type outputLimit struct{ Hard, Soft, SoftSeconds int64 }

// add appends b. first reports that the owner has to be told; over that the
// client exceeds its limit and is to be closed.
func (o *outbox) add(b []byte, limit outputLimit, nowSeconds int64) (first, over bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.addLocked(b, limit, nowSeconds)
}

// answer is add for the reply of the owner's wait, which tells of the change lsn.
func (o *outbox) answer(b []byte, lsn uint64, limit outputLimit, nowSeconds int64) (first, over bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answered, o.lsn = true, max(o.lsn, lsn)
	return o.addLocked(b, limit, nowSeconds)
}

func (o *outbox) addLocked(b []byte, limit outputLimit, nowSeconds int64) (first, over bool) {
	if o.closed {
		return false, false
	}
	o.buf = append(o.buf, b...)
	first, o.kicked = !o.kicked, true
	size := int64(len(o.buf))
	if limit.Hard > 0 && size > limit.Hard {
		over = true
	}
	switch {
	case limit.Soft <= 0 || size <= limit.Soft:
		o.softSince = 0
	case o.softSince == 0:
		o.softSince = nowSeconds
	case nowSeconds-o.softSince > limit.SoftSeconds:
		over = true
	}
	if over {
		o.closed, o.buf = true, nil
	}
	return first, over
}

// overdue reports that the content has been over the soft limit for too long,
// and drops it then. It finds out of clients for which nothing more comes.
func (o *outbox) overdue(limit outputLimit, nowSeconds int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.softSince == 0 || nowSeconds-o.softSince <= limit.SoftSeconds {
		return false
	}
	o.closed, o.buf = true, nil
	return true
}

// take moves the content behind r and empties the box. It returns the last
// change that the content tells of, 0 if none, and whether the reply of the
// owner's wait was in it.
func (o *outbox) take(r *commands.Reply) (lsn uint64, answered bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kicked = false
	lsn, answered = o.lsn, o.answered
	o.lsn, o.answered = 0, false
	if len(o.buf) == 0 {
		return lsn, answered
	}
	r.Raw(o.buf)
	if cap(o.buf) > keepBuffer {
		o.buf = nil
	} else {
		o.buf = o.buf[:0]
	}
	o.softSince = 0
	return lsn, answered
}

// kick asks for the owner's attention without adding anything; first as in add.
func (o *outbox) kick() (first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first, o.kicked = !o.kicked, true
	return first && !o.closed
}

// shut drops the content and everything that comes.
func (o *outbox) shut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed, o.buf = true, nil
}

// size is the number of bytes waiting.
func (o *outbox) size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.buf)
}
