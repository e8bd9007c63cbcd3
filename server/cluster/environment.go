package cluster

import (
	"context"
	"net"
	"time"

	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/internal/clock"
)

// Environment is the network and the clock of a server. A simulation has its own.
type Environment struct {
	// Listen listens for other servers at an address, as net.Listen does with TCP.
	Listen func(address string) (net.Listener, error)
	// Dial connects to another server.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Now is a monotonic clock that counts the time in which the machine sleeps: a lease must not
	// outlast it.
	Now func() time.Duration
	// Clock is the time of day, and what pauses are made with.
	Clock clock.Clock
}

// machineEnvironment is the environment of a server that is not simulated.
var machineEnvironment = Environment{
	Listen: func(address string) (net.Listener, error) { return net.Listen("tcp", address) },
	Dial: func(ctx context.Context, address string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", address)
	},
	Now:   raftnode.Now,
	Clock: clock.System{},
}

// environment is that of the configuration, or of the machine.
func (n *Node) environment() *Environment {
	if n.config.Environment != nil {
		return n.config.Environment
	}
	return &machineEnvironment
}

func (n *Node) monotonic() time.Duration { return n.environment().Now() }

// rest waits for a time, or until ctx ends, whose error it returns.
func (n *Node) rest(ctx context.Context, d time.Duration) error {
	return clock.Rest(ctx, n.environment().Clock, d)
}
