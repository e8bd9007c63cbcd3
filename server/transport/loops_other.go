//go:build !linux

package transport

import "net"

// PollingAPI is what INFO says about how clients are served.
const PollingAPI = "goroutines"

// Loops are for Linux. Elsewhere there are none, and each client has a goroutine.
type Loops struct {
	host  Host
	apart cycles
}

// Cycles returns what was done so far.
func (p *Loops) Cycles() (sum Cycles) {
	p.apart.addTo(&sum)
	return sum
}

// NewLoops returns what serves the clients of a server.
func NewLoops(host Host) *Loops { return &Loops{host: host} }

// Start does nothing.
func (p *Loops) Start(int) error { return nil }

// End does nothing.
func (p *Loops) End() {}

func (p *Loops) openSocket(net.Conn) (Conn, func(Session), bool) { return nil, nil, false }
