package server

import "sync"

// outbox holds what others write to a client: published messages, MONITOR
// lines, the reply of a wait that was served. The client's own goroutine takes
// it and writes it, many messages in one system call. Its size is bounded: a
// reader that falls behind by more than its limit is dropped, and hurts nobody.
type outbox struct {
	mu     sync.Mutex
	buf    []byte // guarded by mu
	kicked bool   // guarded by mu: the owner has been told and has not taken buf yet
	closed bool   // guarded by mu: nothing is kept any more

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

// take moves the content behind dst and empties the box.
func (o *outbox) take(dst []byte) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kicked = false
	if len(o.buf) == 0 {
		return dst
	}
	dst = append(dst, o.buf...)
	if cap(o.buf) > keepBuffer {
		o.buf = nil
	} else {
		o.buf = o.buf[:0]
	}
	o.softSince = 0
	return dst
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
