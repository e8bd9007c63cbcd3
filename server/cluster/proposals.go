package cluster

import (
	"errors"
	"sync"
)

// maxProposals is how many entries may wait for the driver. A store has fewer under way.
const maxProposals = 16

var errBusy = errors.New("too many proposals wait")

// Proposals is the persistence.Replicator of a store: it keeps what the store proposes
// until the driver takes it. The zero value is ready for use by a driver that is not run
// by a Runner.
type Proposals struct {
	wake  chan struct{}
	mu    sync.Mutex
	queue []proposal
}

// NewProposals returns proposals that wake a runner.
func NewProposals() *Proposals { return &Proposals{wake: make(chan struct{}, 1)} }

// Wake receives when there is something to take.
func (p *Proposals) Wake() <-chan struct{} { return p.wake }

type proposal struct {
	term uint64
	data []byte
}

// Propose keeps the data of one entry of the leader of term. They belong to the driver.
func (p *Proposals) Propose(term uint64, data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) >= maxProposals {
		return errBusy
	}
	p.queue = append(p.queue, proposal{term, data})
	p.signal()
	return nil
}

// signal wakes the runner.
func (p *Proposals) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
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
