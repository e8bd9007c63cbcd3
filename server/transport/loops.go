package transport

import (
	"net"
	"time"
)

// keepBuffer is the most memory that a drained buffer keeps.
const keepBuffer = 64 << 10

// longAgo is a read deadline that ends a read at once.
var longAgo = time.Unix(1, 0)

// Open makes the transport of a connection: a place in an event loop for a socket,
// a goroutine of its own for anything else. Nothing is read before start is called,
// once, with the session.
func (p *Loops) Open(nc net.Conn) (c Conn, start func(Session)) {
	if c, start, ok := p.openSocket(nc); ok {
		return c, start
	}
	g := &goroutineConn{host: p.host, nc: nc, cycles: &p.apart}
	return g, func(s Session) {
		g.s = s
		// Ends when the client leaves or the server hangs up.
		go func() {
			defer p.host.Workers.Done()
			g.serve()
		}()
	}
}

// Serve opens a connection that is not a client of the server, and starts its session, which make
// makes. It is called before the server has waited for Workers.
func (p *Loops) Serve(nc net.Conn, make func(Conn) Session) {
	p.host.Workers.Add(1)
	c, start := p.Open(nc)
	start(make(c))
}
