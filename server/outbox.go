package server

import (
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
)

// outbox holds what others write to a client: published messages, MONITOR
// lines, the reply of a wait that was served. The client's own goroutine takes
// it and writes it, many messages in one system call. Its size is bounded: a
// client that falls behind by more than its limit is disconnected, and no other
// client is affected.
type outbox struct {
	mu     sync.Mutex
	buf    []byte // guarded by mu
	taken  []byte // what take appends to the replies; used by the owner only
	kicked bool   // guarded by mu: the owner has been woken and has not taken buf yet
	closed bool   // guarded by mu: nothing is kept any more

	// answered is set when the reply of the owner's wait is in the box, and lsn
	// is the last change that the content depends on.
	answered bool   // guarded by mu
	lsn      uint64 // guarded by mu

	unread    int   // guarded by mu: bytes of replies that the owner has and the client has not read
	softSince int64 // guarded by mu: unix seconds since which both are over the soft limit

	held  atomic.Int64  // memory of buf
	total *atomic.Int64 // memory of all clients, which includes held; nil: not counted
}

// outputLimit is one class of client-output-buffer-limit, in bytes and
// seconds; zero means no limit.
type outputLimit struct{ Hard, Soft, SoftSeconds int64 }

// add appends b. first reports that the owner has to be woken; over reports
// that the client exceeds its limit and has to be disconnected.
func (o *outbox) add(b []byte, limit outputLimit, nowSeconds int64) (first, over bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.addLocked(b, limit, nowSeconds)
}

// answer is add for the reply of the owner's wait, which depends on the change
// lsn.
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
	over = o.overLocked(limit, nowSeconds)
	o.accountLocked()
	return first, over
}

// overLocked compares the content and the unread replies with the limits. The box
// of a client over its limit is closed.
func (o *outbox) overLocked(limit outputLimit, nowSeconds int64) (over bool) {
	size := int64(len(o.buf) + o.unread)
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
	return over
}

// accountLocked counts the memory of the box.
func (o *outbox) accountLocked() {
	if n := int64(cap(o.buf)); n != o.held.Load() {
		if o.total != nil {
			o.total.Add(n - o.held.Load())
		}
		o.held.Store(n)
	}
}

// setUnread records how many bytes of replies the owner has that the client has
// not read: being built, or written and not sent. It reports whether they and
// the content are over the client's limit.
func (o *outbox) setUnread(n int, limit outputLimit, nowSeconds int64) (over bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.unread = n; o.closed {
		return false
	}
	over = o.overLocked(limit, nowSeconds)
	o.accountLocked()
	return over
}

// overdue reports whether the content has been over the soft limit for too
// long, and drops it then. It is for clients to which nothing more is sent,
// where add would not notice.
func (o *outbox) overdue(limit outputLimit, nowSeconds int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.softSince == 0 || nowSeconds-o.softSince <= limit.SoftSeconds {
		return false
	}
	o.closed, o.buf = true, nil
	o.accountLocked()
	return true
}

// take appends the content to r and empties the box: its n bytes are unread replies
// of the owner from now on. It returns the last change that the content depends on,
// 0 if none, and whether it held the reply of the owner's wait.
func (o *outbox) take(r *commands.Reply) (lsn uint64, n int, answered bool) {
	lsn, answered = o.empty()
	if n = len(o.taken); n > 0 {
		r.Raw(o.taken) // outside of mu: the reply may have to ask for room
	}
	if cap(o.taken) > keepBuffer {
		o.taken = nil
	}
	o.taken = o.taken[:0]
	return lsn, n, answered
}

// empty moves the content to taken.
func (o *outbox) empty() (lsn uint64, answered bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kicked = false
	lsn, answered = o.lsn, o.answered
	o.lsn, o.answered = 0, false
	if len(o.buf) > 0 {
		o.buf, o.taken = o.taken, o.buf
		o.unread += len(o.taken)
		o.accountLocked()
	}
	return lsn, answered
}

// kick marks the box as needing the owner's attention without adding anything;
// first as in add.
func (o *outbox) kick() (first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first, o.kicked = !o.kicked, true
	return first && !o.closed
}

// shut drops the content and everything added later.
func (o *outbox) shut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed, o.buf = true, nil
	o.accountLocked()
}

// size is the number of bytes waiting.
func (o *outbox) size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.buf)
}
