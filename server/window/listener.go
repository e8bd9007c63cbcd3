package window

import (
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// What a client over HTTP may take of the server. A client that says nothing, or
// reads nothing, loses its connection when a time is over; those beyond maxConns
// wait in the system's queue.
const (
	maxConns      = 64
	maxHeader     = 8 << 10
	headerTime    = 5 * time.Second
	readTime      = 10 * time.Second
	writeTime     = 20 * time.Second
	keepAliveTime = 30 * time.Second
)

func (w *Window) newServer() *http.Server {
	return &http.Server{
		Handler: w.Handler(), MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: keepAliveTime,
		ErrorLog: log.New(logWriter{w}, "", 0),
	}
}

// logWriter receives the errors that net/http logs, which any client can
// provoke.
type logWriter struct{ w *Window }

func (l logWriter) Write(b []byte) (int, error) {
	l.w.log.Debug("window: " + string(b))
	return len(b), nil
}

// limitedListener accepts a connection when a slot is free.
type limitedListener struct {
	net.Listener
	slots chan struct{}
}

// Accept waits for a connection and a slot. The slot comes second, so that a
// closed listener is noticed regardless of open connections.
func (l *limitedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.slots <- struct{}{}
	return &limitedConn{Conn: c, slots: l.slots}, nil
}

// limitedConn gives its slot back when it is closed.
type limitedConn struct {
	net.Conn
	slots chan struct{}
	once  sync.Once
}

func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.slots })
	return err
}
