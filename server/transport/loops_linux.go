package transport

import (
	"crypto/tls"
	"net"
	"runtime"
	"sync"
)

// PollingAPI is what INFO says about how clients are served.
const PollingAPI = "epoll"

// Loops are the event loops of a server. A client stays with one of them.
type Loops struct {
	host  Host
	apart cycles // of clients that have a goroutine

	mu   sync.Mutex
	all  []*loop // guarded by mu
	next int     // of all, for the next client; guarded by mu
}

// Cycles returns what was done so far.
func (p *Loops) Cycles() (sum Cycles) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.all {
		l.cycles.addTo(&sum)
	}
	p.apart.addTo(&sum)
	return sum
}

// NewLoops returns the loops of a server. None runs before Start.
func NewLoops(host Host) *Loops { return &Loops{host: host} }

// Start starts n loops, or half as many as there are processors if n is 0: the
// other half is for the store's work and for the kernel's. It does nothing if they
// run already. A server without listeners needs none.
func (p *Loops) Start(n int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) > 0 {
		return nil
	}
	if n <= 0 {
		n = max(1, runtime.GOMAXPROCS(0)/2)
	}
	for range n {
		l, err := newLoop(p.host)
		if err != nil {
			return err
		}
		p.all = append(p.all, l)
		p.host.Workers.Add(2)
		// They end when the server is closed and the loop's clients are gone.
		go func() { defer p.host.Workers.Done(); l.run() }()
		go func() { defer p.host.Workers.Done(); l.watch() }()
	}
	return nil
}

// End lets the loops notice that the server is closed. They end when their last
// client has gone.
func (p *Loops) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.all {
		l.wake()
	}
}

// openSocket gives a socket a place in a loop. ok is false if nc is no socket, or
// there are no loops.
func (p *Loops) openSocket(nc net.Conn) (conn Conn, start func(Session), ok bool) {
	l := p.nextLoop()
	if l == nil {
		return nil, nil, false
	}
	var c *loopConn
	if secure, encrypted := nc.(*tls.Conn); encrypted {
		c, ok = l.adoptTLS(secure)
	} else {
		c, ok = l.adopt(nc)
	}
	if !ok {
		return nil, nil, false
	}
	return c, func(s Session) { c.s = s; l.start(c) }, true
}

// nextLoop returns the loop for the next client, nil if there is none.
func (p *Loops) nextLoop() *loop {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) == 0 {
		return nil
	}
	l := p.all[p.next%len(p.all)]
	p.next++
	return l
}
