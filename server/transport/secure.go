package transport

import (
	"crypto/tls"
	"io"
	"net"
)

// wire is what the TLS of a client reads and writes: the accepted connection
// during the handshake and where a goroutine serves the client; the socket of the
// client's loop, where nothing blocks, once a loop has taken it over.
type wire struct {
	net.Conn
	loop io.ReadWriter // nil until a loop serves the client
}

func (w *wire) Read(b []byte) (int, error) {
	if w.loop != nil {
		return w.loop.Read(b)
	}
	return w.Conn.Read(b)
}

func (w *wire) Write(b []byte) (int, error) {
	if w.loop != nil {
		return w.loop.Write(b)
	}
	return w.Conn.Write(b)
}

// server begins TLS on an accepted connection.
func server(nc net.Conn, config *tls.Config) *tls.Conn {
	return tls.Server(&wire{Conn: nc}, config)
}

// cut closes a connection without a word to its client, which could block.
func cut(nc net.Conn) {
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	nc.Close()
}
