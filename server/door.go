package server

import (
	"net"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/internal/door"
	"github.com/vigildb/vigil/server/transport"
)

func init() { door.Of = func(srv any) door.Server { return insider{srv.(*Server)} } }

// insider is a server as the packages of vigil see it: [door.Server].
type insider struct{ srv *Server }

// DialObserver implements [door.Server].
func (d insider) DialObserver(name string) (net.Conn, error) {
	return d.dial(name, func(s *session) {
		s.access.become(d.srv.users.watcher)
		s.access.setAuthenticated(true)
	})
}

// Open implements [door.Server].
func (d insider) Open() bool { return host(d).Open() }

// DialVisitor implements [door.Server].
func (d insider) DialVisitor(name string) (net.Conn, error) { return d.dial(name, func(*session) {}) }

// dial connects a client that watches the server. At a follower it reads what that has.
func (d insider) dial(name string, prepare func(*session)) (net.Conn, error) {
	client, own := transport.Pipe()
	watch := func(s *session) {
		s.access.observer = true
		prepare(s)
		s.Set(commands.ClientNoEvict | commands.ClientNoTouch | commands.ClientReadOnly)
		s.SetText(func(t *commands.ClientText) { t.Name = name })
		s.foot.weigh()
	}
	if !d.srv.enter(own, watch) {
		return nil, ErrClosed
	}
	return client, nil
}

// Settings implements [door.Server].
func (d insider) Settings() *conf.Settings { return d.srv.config.Settings() }

// OnMoveHTTP implements [door.Server].
func (d insider) OnMoveHTTP(move func(old, new *conf.Settings) error) {
	d.srv.sockets.mu.Lock()
	defer d.srv.sockets.mu.Unlock()
	d.srv.sockets.moveHTTP = move
}

// MayLeave implements [door.Server].
func (d insider) MayLeave() bool { return d.srv.mayLeave() }
