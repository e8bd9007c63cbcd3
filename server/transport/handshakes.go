package transport

import (
	"container/list"
	"crypto/tls"
	"net"
	"sync"
	"time"
)

const (
	// maxHandshakes is the number of connections that may be in their handshake.
	maxHandshakes = 256
	// handshakeTime is how long a handshake may take.
	handshakeTime = 10 * time.Second
	// handshakeGrace is how long a handshake may take while others wait for its
	// place.
	handshakeGrace = time.Second
)

// Handshakes makes accepted connections secure before they become clients, each in
// a goroutine: the mathematics of a handshake takes a millisecond, and a client may
// never finish it. Their number and their time are bounded. When there are too
// many, the oldest is cut once it had its grace, so that clients that connect and
// stay silent cannot keep others out.
type Handshakes struct {
	slots       chan struct{} // capacity: the most that are open
	time, grace time.Duration
	closed      chan struct{} // by Close

	mu   sync.Mutex
	open list.List // of *handshake, the oldest first; guarded by mu
	over bool      // Close was called; guarded by mu
}

// handshake is one that is not finished.
type handshake struct {
	nc    net.Conn
	began time.Time
}

// NewHandshakes returns the handshakes of a server.
func NewHandshakes() *Handshakes {
	return &Handshakes{slots: make(chan struct{}, maxHandshakes), time: handshakeTime, grace: handshakeGrace,
		closed: make(chan struct{})}
}

// Count is the number of connections in their handshake.
func (h *Handshakes) Count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open.Len()
}

// Begin begins the handshake of an accepted connection and calls done when it is
// over, with a connection that [Loops.Open] takes, or with the reason why there is
// none; nc is closed then. While too many are open it blocks, for the grace at most.
// After Close it returns net.ErrClosed and does not call done.
func (h *Handshakes) Begin(nc net.Conn, config *tls.Config, done func(net.Conn, error)) error {
	if !h.makeRoom() {
		nc.Close()
		return net.ErrClosed
	}
	h.mu.Lock()
	if h.over {
		h.mu.Unlock()
		<-h.slots
		nc.Close()
		return net.ErrClosed
	}
	place := h.open.PushBack(&handshake{nc, time.Now()})
	h.mu.Unlock()
	// Ends within the time of a handshake, or when Close cuts the connection.
	go func() {
		defer func() { <-h.slots }()
		nc.SetDeadline(time.Now().Add(h.time))
		secure := server(nc, config)
		err := secure.Handshake()
		h.mu.Lock()
		h.open.Remove(place)
		h.mu.Unlock()
		if err == nil {
			err = nc.SetDeadline(time.Time{})
		}
		if err != nil {
			nc.Close()
			done(nil, err)
			return
		}
		done(secure, nil)
	}()
	return nil
}

// makeRoom takes a slot. It reports false after Close.
func (h *Handshakes) makeRoom() bool {
	select {
	case h.slots <- struct{}{}:
		return true
	default:
	}
	grace := time.NewTimer(h.graceOfOldest())
	defer grace.Stop()
	select {
	case h.slots <- struct{}{}:
		return true
	case <-h.closed:
		return false
	case <-grace.C:
		h.cutOldest()
	}
	select {
	case h.slots <- struct{}{}:
		return true
	case <-h.closed:
		return false
	}
}

// graceOfOldest is what is left of the grace of the oldest handshake.
func (h *Handshakes) graceOfOldest() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if oldest := h.open.Front(); oldest != nil {
		return h.grace - time.Since(oldest.Value.(*handshake).began)
	}
	return 0
}

func (h *Handshakes) cutOldest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if oldest := h.open.Front(); oldest != nil {
		oldest.Value.(*handshake).nc.Close()
		h.open.MoveToBack(oldest) // its goroutine removes it
	}
}

// Close cuts all connections that are in their handshake.
func (h *Handshakes) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return
	}
	h.over = true
	close(h.closed)
	for e := h.open.Front(); e != nil; e = e.Next() {
		e.Value.(*handshake).nc.Close()
	}
}
