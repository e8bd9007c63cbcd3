package source

import (
	"fmt"
	"time"
)

// state is how far a replica is. The order counts.
type state int

const (
	idle    state = iota // it has not asked for a synchronization
	waiting              // for a pass
	bulk                 // it gets a file
	acking               // it has got a file whose end only the next silence shows: it has to confirm something first
	online               // it gets the stream
)

// Replica is a connection that has said REPLCONF, SYNC or PSYNC.
type Replica struct {
	s    *Source
	addr string
	wake func()           // asks the owner of the connection to call Fill soon
	drop func(why string) // closes the connection

	// What it said of itself:
	ip      string
	port    int
	eof     bool // it finds the end of a file whose length is not said
	psync2  bool // it takes another identifier with +CONTINUE
	version string
	rdbOnly bool
	filter  Filter
	old     bool // SYNC: it does not know of offsets, and confirms nothing

	state  state
	out    []byte // what it is to get before everything else
	pass   *pass  // whose file it gets
	at     int64  // what it has of the file
	offset int64  // of the next byte of the stream
	acked  int64
	synced int64     // that it has on its device
	heard  time.Time // when it has confirmed something, or began
	moved  time.Time // when it has taken something
	behind time.Time // since when it is over the soft limit
	woken  bool      // and Fill was not called since
	over   bool      // it gets no more: the connection is to be closed
}

// NewReplica returns a replica at an address. drop and wake are called with locks held, and must not wait.
func (s *Source) NewReplica(addr string, wake func(), drop func(why string)) *Replica {
	return &Replica{s: s, addr: addr, wake: wake, drop: drop}
}

// Hello is what a replica says of itself by one pair of REPLCONF.
type Hello struct {
	Port    *int
	IP      *string
	Capa    string
	Version *string
	RDBOnly *bool
	Filter  *Filter
}

// Complete reports whether a replica may ask for what it has asked for: a part of the data needs one that finds the end of a file.
func (r *Replica) Complete() bool {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.eof || r.filter == Everything
}

// Greet takes what a replica says of itself.
func (r *Replica) Greet(h Hello) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if h.Port != nil {
		r.port = *h.Port
	}
	if h.IP != nil {
		r.ip = *h.IP
	}
	if h.Version != nil {
		r.version = *h.Version
	}
	if h.RDBOnly != nil {
		r.rdbOnly = *h.RDBOnly
	}
	switch h.Capa {
	case "eof":
		r.eof = true
	case "psync2":
		r.psync2 = true
	}
	if h.Filter != nil {
		r.filter = *h.Filter
	}
}

// Sync begins a synchronization of a replica that has asked for none yet. With old it does not know of offsets.
func (r *Replica) Sync(id string, offset int64, old bool) {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.state != idle {
		return
	}
	now := s.o.Now()
	r.old, r.heard, r.moved = old, now, now
	s.replicas[r] = struct{}{}
	if !old && s.goesOnLocked(r, id, offset) {
		return
	}
	r.state = waiting
	s.beginPassLocked()
}

// goesOnLocked lets a replica go on at an offset, if the backlog has that.
func (s *Source) goesOnLocked(r *Replica, id string, offset int64) bool {
	switch {
	case id == "?":
		return false
	case s.feed == nil || !s.knowsLocked(id, offset-1) || !s.log.has(offset-1) || offset-1 > s.shown: // the protocol counts bytes from 1
		s.counts.Refused++
		return false
	}
	r.out = append(r.out, "+CONTINUE"...)
	if r.psync2 {
		r.out = append(append(r.out, ' '), s.id...)
	}
	r.out = append(r.out, "\r\n"...)
	r.offset, r.acked, r.state = offset-1, offset-1, online
	s.counts.Partial++
	r.wakeLocked()
	return true
}

// Ack takes what a replica confirms. An offset that there is not yet counts as the end of the stream.
func (r *Replica) Ack(offset, synced int64) {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.state < acking {
		return
	}
	r.heard = s.o.Now()
	if offset <= s.log.end {
		r.acked = max(r.acked, offset)
	}
	if synced <= s.log.end {
		r.synced = max(r.synced, synced)
	}
	if r.state == acking {
		r.state = online
		r.wakeLocked()
	}
}

// Leave forgets a replica.
func (r *Replica) Leave() {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetLocked(r)
}

func (s *Source) forgetLocked(r *Replica) {
	if _, ok := s.replicas[r]; !ok {
		return
	}
	delete(s.replicas, r)
	r.over, r.out = true, nil
	r.quitPassLocked()
	if len(s.replicas) == 0 {
		s.left = s.o.Now()
	}
}

func (s *Source) dropLocked(r *Replica, why string) {
	if _, ok := s.replicas[r]; !ok {
		return
	}
	s.o.Logf("replication: closing replica %s: %s", r.nameLocked(), why)
	s.forgetLocked(r)
	r.drop(why)
}

// nameLocked is a replica as people see it.
func (r *Replica) nameLocked() string {
	if r.port == 0 {
		return r.addr
	}
	return fmt.Sprintf("%s, which listens on port %d", r.addr, r.port)
}

func (r *Replica) wakeLocked() {
	if !r.woken {
		r.woken = true
		r.wake()
	}
}

// marker is how long the end of a file is whose length is not said.
const marker = 40

// Fill appends up to about n bytes that the replica is to get next. more says that there are others already; over that nothing
// follows, and the connection is to be closed when it has sent these.
func (r *Replica) Fill(dst []byte, n int) (b []byte, more, over bool) {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	r.woken = false
	from := len(dst)
	dst, r.out = append(dst, r.out...), nil
	if r.state == bulk {
		dst = r.fillFileLocked(dst, n)
	}
	if r.state == online && !r.over {
		size := max(0, min(int64(n), s.shown-r.offset))
		dst = s.log.read(dst, r.offset, int(size))
		r.offset += size
		more = r.offset < s.shown
	}
	if r.state == bulk {
		more = r.pass != nil && r.at < r.pass.size && (r.pass.spool == nil || r.pass.complete)
	}
	if len(dst) > from {
		r.moved = s.o.Now()
	}
	return dst, more, r.over
}

// fillFileLocked appends a part of the file that the replica gets, and ends that when it was the last.
func (r *Replica) fillFileLocked(dst []byte, n int) []byte {
	p := r.pass
	if p == nil || p.spool != nil && !p.complete {
		return dst
	}
	left := p.size - r.at
	size := min(int64(n), left)
	if p.wish.eof && p.complete && left > size && left-size < marker { // the end is sent in one piece
		if size = left - marker; size <= 0 {
			size = left
		}
	}
	var err error
	if dst, err = p.readLocked(dst, r.at, int(size)); err != nil {
		r.s.dropLocked(r, err.Error())
		return dst
	}
	r.at += size
	p.movedLocked()
	if !p.complete || r.at < p.size {
		return dst
	}
	r.quitPassLocked()
	switch {
	case r.rdbOnly:
		r.over = true
	case r.eof:
		r.state = acking
	default:
		r.state = online
	}
	r.heard = r.s.o.Now()
	return dst
}

// quitPassLocked takes the replica out of the pass whose file it gets.
func (r *Replica) quitPassLocked() {
	if p := r.pass; p != nil {
		r.pass = nil
		p.leaveLocked(r)
	}
}
