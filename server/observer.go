package server

import (
	"net"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/transport"
)

// What package window needs of a server besides its configuration: a client that
// may read everything and change nothing, the health of the server, and the last
// hour (history.go).

// DialObserver connects a client inside the process that watches the server. It
// needs no password, does not count against maxclients, is neither held back by
// CLIENT PAUSE nor evicted, and its reads do not count as uses of keys.
// Commands that write are refused. CLIENT LIST shows it under the name given,
// which must suit CLIENT SETNAME.
func (srv *Server) DialObserver(name string) (net.Conn, error) {
	client, own := transport.Pipe()
	observe := func(s *session) {
		s.observer = true
		s.become(srv.watcher)
		s.setAuthenticated(true)
		s.Set(commands.ClientNoEvict | commands.ClientNoTouch)
		s.SetText(func(t *commands.ClientText) { t.Name = name })
		s.weigh()
	}
	if !srv.enter(own, observe) {
		return nil, ErrClosed
	}
	return client, nil
}
