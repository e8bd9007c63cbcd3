package raftnode

import (
	"errors"
	"sync"
)

// maxProposals is how many entries may wait for the driver. A store has fewer under way.
const maxProposals = 16

// MaxEntry is the largest data of an entry: a value of 512 MiB and what is around it. The
// mesh carries no more, and a leader with a larger entry would wait for ever.
const MaxEntry = 576 << 20

var (
	errBusy     = errors.New("too many proposals wait")
	errTooLarge = errors.New("the changes of one call are too large for the group: the leader gives them up and steps down")
)

// Proposals is the member.Replicator of a store: it keeps what the store proposes
// until the driver takes it. The zero value is ready for use by a driver that is not run
// by a Runner.
type Proposals struct {
	wake  chan struct{} // nil: the store proposes by itself
	pull  func()        // makes the store propose; the driver's
	turn  func() bool   // nil, or takes a turn of the driver unless somebody else has it; guarded by mu
	mu    sync.Mutex
	queue []proposal
	stuck uint64 // the term in which something was changed that is not to be proposed
}

// NewProposals returns proposals that wake a runner.
func NewProposals() *Proposals { return &Proposals{wake: make(chan struct{}, 1)} }

// Wake receives when the store has something to propose, or the runner is to look. It
// implements [member.Puller].
func (p *Proposals) Wake() chan struct{} { return p.wake }

// Attend takes a turn of the driver, if it is free. It implements [member.Puller].
func (p *Proposals) Attend() {
	p.mu.Lock()
	turn := p.turn
	p.mu.Unlock()
	if turn == nil || !turn() {
		p.signal()
	}
}

// attendBy sets what Attend calls.
func (p *Proposals) attendBy(turn func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn = turn
}

type proposal struct {
	term uint64
	data []byte
}

// Propose keeps the data of one entry of the leader of term. They belong to the driver.
func (p *Proposals) Propose(term uint64, data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(data) > MaxEntry {
		p.stuck = term
		return errTooLarge
	}
	if len(p.queue) >= maxProposals {
		return errBusy
	}
	p.queue = append(p.queue, proposal{term, data})
	return nil
}

// Leave implements [member.Leaver].
func (p *Proposals) Leave(term uint64) {
	p.mu.Lock()
	p.stuck = term
	p.mu.Unlock()
	p.signal()
}

// signal wakes the runner.
func (p *Proposals) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// given reports whether the leader of a term cannot propose what it has changed.
func (p *Proposals) given(term uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stuck == term
}

// gather makes the store propose what is due.
func (p *Proposals) gather() {
	if p.pull != nil {
		p.pull()
	}
}

// take passes the data proposed in a term on, in their order, until one is not taken.
// Those of other terms are dropped: memory that made them was rolled back, or will be.
func (p *Proposals) take(term uint64, propose func(data []byte) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.queue) > 0 {
		if q := p.queue[0]; q.term == term && propose(q.data) != nil {
			return
		}
		p.queue = p.queue[1:]
	}
	p.queue = nil
}

// forget drops everything: terms begin anew.
func (p *Proposals) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue, p.stuck = nil, 0
}
