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
	client, own := transport.Pipe()
	observe := func(s *session) {
		s.observer = true
		s.become(d.srv.watcher)
		s.setAuthenticated(true)
		s.Set(commands.ClientNoEvict | commands.ClientNoTouch)
		s.SetText(func(t *commands.ClientText) { t.Name = name })
		s.weigh()
	}
	if !d.srv.enter(own, observe) {
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
