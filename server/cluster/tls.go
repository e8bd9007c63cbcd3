package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"

	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/topology"
)

// dial connects to another member.
func (n *Node) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := n.environment().Dial(ctx, topology.Dialled(address))
	if err != nil || n.config.TLS == nil {
		return conn, err
	}
	_, config := n.config.TLS()
	c := tls.Client(conn, config)
	if err := c.HandshakeContext(ctx); err != nil {
		conn.Close()
		n.refuse("to", address, err)
		return nil, err
	}
	return c, nil
}

// refuse logs why there is no encrypted connection with a member.
func (n *Node) refuse(direction, address string, err error) {
	host, _, split := net.SplitHostPort(address)
	if split != nil || direction == "to" { // the port of one that connects is always another
		host = address
	}
	why, kind, plain, wrong := "", "other", tls.RecordHeaderError{}, (*tls.CertificateVerificationError)(nil)
	switch {
	case errors.As(err, &plain), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		why, kind = " (tls-cluster has to be the same on all members)", "plain"
	case errors.As(err, &wrong):
		kind = "certificate"
	}
	if !n.said.Due(direction+host+kind, n.monotonic()) {
		return
	}
	n.config.Logf(logs.Warn, "no encrypted connection %s %s: %v%s", direction, host, err, why)
}

// tlsListener accepts encrypted connections.
type tlsListener struct {
	net.Listener
	n *Node
}

// Accept implements [net.Listener]. The handshake follows with the first read, so that a
// client that says nothing keeps no other one waiting.
func (l tlsListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	config, _ := l.n.config.TLS()
	return &accepted{Conn: tls.Server(conn, config), n: l.n}, nil
}

// accepted is a connection that another member has made.
type accepted struct {
	*tls.Conn
	n    *Node
	once sync.Once
	err  error // of the handshake
}

// Read implements [net.Conn].
func (a *accepted) Read(b []byte) (int, error) {
	a.once.Do(func() {
		if a.err = a.Conn.Handshake(); a.err != nil {
			a.n.refuse("from", a.RemoteAddr().String(), a.err)
		}
	})
	if a.err != nil {
		return 0, a.err
	}
	return a.Conn.Read(b)
}
