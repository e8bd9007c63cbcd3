package blocking

import (
	"sync"
	"time"

	"github.com/vigildb/vigil/commands"
)

// polls are the calls that wait until something is so that no key tells of, such as what
// other members have. They are looked at when the server says that it may have become so,
// and now and then.
type polls struct {
	wake chan struct{} // has room for one: a wake that is not taken yet is enough

	mu  sync.Mutex
	all map[*poll]struct{} // guarded by mu
}

// poll is a call that waits until something is so.
type poll struct {
	c  *Call
	so func() bool
}

func (p *polls) enter(o *poll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[*poll]struct{}{}
	}
	p.all[o] = struct{}{}
}

func (p *polls) leave(o *poll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, o)
}

// list returns the calls that wait.
func (p *polls) list() (all []*poll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for o := range p.all {
		all = append(all, o)
	}
	return all
}

// Poll looks soon at the calls that wait until something is so. It waits for nothing.
func (q *Calls) Poll() {
	q.polls.mu.Lock()
	defer q.polls.mu.Unlock()
	if len(q.polls.all) == 0 {
		return
	}
	select {
	case q.polls.wake <- struct{}{}:
	default:
	}
}

// Polled is how many calls wait until something is so.
func (q *Calls) Polled() int { return len(q.polls.list()) }

// poll ends the wait of a call when something is so. Beside the looks that Poll asks for
// it is looked at after a time, and then after twice as much each time, up to Round.
func (q *Calls) poll(c *Call, so func() bool, wait time.Duration) {
	o := &poll{c, so}
	stop := q.host.AfterFunc(wait, func() {
		if !q.look(o) {
			q.poll(c, so, min(2*wait, Round))
		}
	})
	q.polls.enter(o)
	q.plan(c, func() {
		stop()
		q.polls.leave(o)
	})
	q.Poll() // what came while the call was not there yet has woken nobody for it
}

// look ends the wait of a call if it is over, and reports whether it is.
func (q *Calls) look(o *poll) bool {
	if !o.c.Done() && o.so() {
		q.TimeOut(o.c)
	}
	return o.c.Done()
}

// RunPolls does what Poll asks for. It ends when done is closed.
func (q *Calls) RunPolls(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-q.polls.wake:
		}
		for _, o := range q.polls.list() {
			q.look(o)
		}
	}
}

// Watch looks for outages every Round from now on, as long as calls are blocked.
func (q *Calls) Watch() {
	if q.watched.CompareAndSwap(false, true) {
		q.host.AfterFunc(Round, q.lookForOutage)
	}
}

func (q *Calls) lookForOutage() {
	if refuse := q.host.Outage(); refuse != nil {
		for _, c := range q.All() {
			if err := refuse(c); err != nil {
				text, _ := commands.Text(err)
				q.Refuse(c, text)
			}
		}
	}
	q.watched.Store(false)
	if q.Any() {
		q.Watch()
	}
}
