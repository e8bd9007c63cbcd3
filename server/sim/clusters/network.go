package clusters

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"
)

// network connects the servers. Hosts are names of addresses; a connection belongs to two of them.
type network struct {
	mu        sync.Mutex
	rand      *rand.Rand           // guarded by mu
	listeners map[string]*listener // by address; guarded by mu
	cut       map[[2]string]bool   // nothing gets from one host to the other; guarded by mu
	pipes     map[*pipe]struct{}   // directions of open connections; guarded by mu
	slow      bool                 // bytes take up to slowest; guarded by mu
	trap      *trap                // nil for none; guarded by mu
}

// sign knows a segment, on its way into a pipe.
type sign func(p *pipe, b []byte) bool

// trap tells when servers have sent so many segments behind the first one that is known by a sign.
type trap struct {
	sprung   chan struct{} // closed then
	after    sign          // nil: from now on
	segments int
}

const (
	// quickest and slowest bound how long bytes take, slowest when the network is slow.
	quickest = 100 * time.Microsecond
	slowest  = 60 * time.Millisecond
	// window is how many bytes are on their way in one direction before a writer waits.
	window = 256 << 10
)

func newNetwork(seed uint64) *network {
	return &network{rand: rand.New(rand.NewPCG(seed, 0x0e7)), listeners: map[string]*listener{}, cut: map[[2]string]bool{}, pipes: map[*pipe]struct{}{}}
}

// lay lays a trap, in place of the one before.
func (n *network) lay(after sign, segments int) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.trap = &trap{make(chan struct{}), after, segments}
	return n.trap.sprung
}

// passes shows a segment to the trap.
func (n *network) passes(p *pipe, b []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.trap
	if t == nil || t.after != nil && !t.after(p, b) {
		return
	}
	t.after = nil
	if t.segments--; t.segments < 0 {
		close(t.sprung)
		n.trap = nil
	}
}

// latency draws how long a segment takes.
func (n *network) latency() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.slow {
		return quickest + time.Duration(n.rand.Int64N(int64(slowest)))
	}
	return quickest + time.Duration(n.rand.Int64N(int64(20*quickest)))
}

// separated reports whether nothing gets from one host to another.
func (n *network) separated(from, to string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut[[2]string{from, to}]
}

// change changes what gets through, and makes all connections look at it.
func (n *network) change(f func()) {
	n.mu.Lock()
	f()
	pipes := make([]*pipe, 0, len(n.pipes))
	for p := range n.pipes {
		pipes = append(pipes, p)
	}
	n.mu.Unlock()
	for _, p := range pipes {
		p.look()
	}
}

// heal lets everything get through in time.
func (n *network) heal() {
	n.change(func() { clear(n.cut); n.slow = false })
}

// breakAll breaks the connections of a host. With gone its listeners end, too.
func (n *network) breakAll(host string, gone bool) {
	var ended []*listener
	var broken []*pipe
	n.mu.Lock()
	for _, l := range n.listeners {
		if gone && l.host == host {
			ended = append(ended, l)
		}
	}
	for p := range n.pipes {
		if p.from == host || p.to == host {
			broken = append(broken, p)
		}
	}
	n.mu.Unlock()
	for _, p := range broken {
		p.end(syscall.ECONNRESET)
	}
	for _, l := range ended {
		l.Close()
	}
}

// listen opens the listener of a host.
func (n *network) listen(host, address string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[address] != nil {
		return nil, syscall.EADDRINUSE
	}
	l := &listener{n: n, host: host, address: address, come: make(chan net.Conn), ended: make(chan struct{})}
	n.listeners[address] = l
	return l, nil
}

// dial connects a host with the listener at an address. A host that is cut off gets no reply.
func (n *network) dial(ctx context.Context, from, address string) (net.Conn, error) {
	to, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	time.Sleep(n.latency())
	for n.separated(from, to) || n.separated(to, from) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond): // as TCP tries again
		}
	}
	n.mu.Lock()
	l := n.listeners[address]
	n.mu.Unlock()
	if l == nil {
		return nil, syscall.ECONNREFUSED
	}
	there, back := newPipe(n, from, to), newPipe(n, to, from)
	n.mu.Lock()
	n.pipes[there], n.pipes[back] = struct{}{}, struct{}{}
	n.mu.Unlock()
	a, b := &conn{in: back, out: there}, &conn{in: there, out: back}
	select {
	case l.come <- b:
		return a, nil
	case <-l.ended:
		a.Close()
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		a.Close()
		return nil, ctx.Err()
	}
}

// listener takes connections.
type listener struct {
	n             *network
	host, address string
	come          chan net.Conn
	once          sync.Once
	ended         chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.come:
		return c, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.ended)
		l.n.mu.Lock()
		defer l.n.mu.Unlock()
		if l.n.listeners[l.address] == l {
			delete(l.n.listeners, l.address)
		}
	})
	return nil
}

func (l *listener) Addr() net.Addr { return addressOf(l.host) }

func addressOf(host string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(host), Port: 1} }
