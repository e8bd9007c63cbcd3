package report

import (
	"net"
	"strings"
	"time"

	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/internal/door"
)

// Source is a server that is asked for its figures.
type Source struct {
	Observer *Observer // for calls that are quick

	inside door.Server
	health func() error
	now    func() time.Time
	name   string            // of its connections
	names  map[string]string // what rename-command made of a name

	figures   Cached[*Figures]
	snapshots Cached[[]Snapshot]
	group     Cached[*Group]
}

// NewSource makes a source of a server. CLIENT LIST shows its connections under a name.
func NewSource(srv *server.Server, name string, now func() time.Time) *Source {
	s := &Source{inside: door.Of(srv), health: srv.Health, now: now, name: name, names: map[string]string{}}
	for _, r := range s.inside.Settings().Renames {
		s.names[strings.ToUpper(r.From)] = r.To
	}
	s.figures.TTL, s.snapshots.TTL, s.group.TTL = FiguresAge, snapshotsAge, FiguresAge
	s.Observer = s.Observe()
	return s
}

// Observe makes another connection, for calls that take longer.
func (s *Source) Observe() *Observer {
	return s.ObserveBy(func() (net.Conn, error) { return s.inside.DialObserver(s.name) })
}

// ObserveBy is Observe by a way to connect, which may be that of a client with less rights.
func (s *Source) ObserveBy(dial func() (net.Conn, error)) *Observer {
	return NewObserver(dial, s.names)
}
