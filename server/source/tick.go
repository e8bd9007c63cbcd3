package source

import (
	"fmt"
	"time"
)

// Tick does what is due, about once a second.
func (s *Source) Tick() {
	s.mu.Lock()
	set, now := s.o.Settings(), s.o.Now()
	listening := false
	for r := range s.replicas {
		s.tickLocked(r, set, now)
		listening = listening || r.state == online
	}
	s.beginPassLocked()
	ping := listening && now.Sub(s.pinged) >= set.Ping
	if ping {
		s.pinged = now
	}
	expired := s.feed != nil && s.pass == nil && len(s.replicas) == 0 && set.BacklogTTL > 0 && now.Sub(s.left) >= set.BacklogTTL
	if expired {
		s.endLocked("")
	}
	s.mu.Unlock()
	if expired {
		s.o.Store.StopFeed()
	}
	if ping {
		s.Interject("PING")
	}
}

// tickLocked looks after a replica.
func (s *Source) tickLocked(r *Replica, set *Settings, now time.Time) {
	switch {
	case r.state == waiting, r.state == bulk && r.pass != nil && r.pass.spool != nil && r.pass.size == 0: // no length was sent yet
		if len(r.out) < blockBytes { // it is there, and knows that this server is
			r.out = append(r.out, '\n')
		}
		r.wakeLocked()
		if now.Sub(r.moved) > set.Timeout {
			s.dropLocked(r, "it takes nothing")
		}
		return
	case r.state == bulk && r.pass != nil && r.at < r.pass.size && now.Sub(r.moved) > set.Timeout:
		s.dropLocked(r, fmt.Sprintf("it has taken nothing for %v", set.Timeout))
		return
	case r.state >= acking && !r.old && now.Sub(r.heard) > set.Timeout:
		s.dropLocked(r, fmt.Sprintf("it has confirmed nothing for %v", set.Timeout))
		return
	case r.state == online && r.offset < s.shown && now.Sub(r.moved) > set.Timeout:
		s.dropLocked(r, fmt.Sprintf("it has taken nothing for %v", set.Timeout))
		return
	}
	if set.Soft == 0 || r.state < bulk || s.log.end-r.offset <= max(set.Soft, set.Backlog) {
		r.behind = time.Time{}
	} else if r.behind.IsZero() {
		r.behind = now
	} else if now.Sub(r.behind) > set.SoftFor {
		s.dropLocked(r, "it is behind for too long")
	}
}

// Report is the state of a source.
type Report struct {
	ID             string
	Former         string // the name that the stream had before; "": none
	Second         int64  // the first offset, counted from 1, that is not of the former name
	Offset         int64
	Active         bool  // there is a backlog
	First, History int64 // offset of its first byte, counted from 1, and its length
	Counts         Counts
	Replicas       []ReplicaReport
}

// ReplicaReport is the state of a replica.
type ReplicaReport struct {
	IP     string // as it has said, or else as it came from
	Port   int
	State  string // as INFO has it
	Offset int64  // that it has confirmed
	Lag    time.Duration
	Old    bool
}

var stateNames = [...]string{waiting: "wait_bgsave", bulk: "send_bulk", acking: "send_bulk", online: "online"}

// Report returns the state.
func (s *Source) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	rep := Report{ID: s.id, Offset: s.log.end, Active: s.feed != nil, Counts: s.counts}
	if s.former != "" {
		rep.Former, rep.Second = s.former, s.until+1
	}
	if rep.Active {
		rep.First, rep.History = s.log.first+1, s.log.end-s.log.first
	}
	for r := range s.replicas {
		ip := r.ip
		if ip == "" {
			ip = r.addr
		}
		one := ReplicaReport{IP: ip, Port: r.port, State: stateNames[r.state], Offset: r.acked, Old: r.old}
		if r.state == online {
			one.Lag = now.Sub(r.heard)
		}
		rep.Replicas = append(rep.Replicas, one)
	}
	return rep
}
