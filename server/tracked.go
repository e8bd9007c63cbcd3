package server

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/conn"
	"github.com/vigildb/vigil/server/tracking"
)

// Track turns tracking on, or changes its options.
func (s *session) Track(o conn.Tracking) {
	s.srv.tracking.Track(&s.cache, o.Modes, o.Redirect, o.Prefixes)
	if s.locked {
		s.tx.OnChange = s.changed // EXEC may change what it reads
	}
}

// Untrack turns tracking off.
func (s *session) Untrack() { s.srv.tracking.Untrack(&s.cache) }

// TrackingState returns where invalidations go and which prefixes the client asked for.
func (s *session) TrackingState() (redirect int64, prefixes []string) {
	if redirect = s.cache.RedirectedTo(); redirect >= 0 {
		prefixes = s.srv.tracking.Prefixes(&s.cache)
	}
	return redirect, prefixes
}

// ClientExists reports whether a client is connected.
func (h host) ClientExists(id uint64) bool { return h.srv.clients.find(id) != nil }

// Find is find for clients that are told what has changed.
func (c *clients) Find(id uint64) tracking.Client {
	if s := c.find(id); s != nil {
		return s
	}
	return nil
}

// endTracked ends a call of a tracking client: the invalidations for itself follow its
// reply, and CLIENT CACHING no longer holds.
func (s *session) endTracked(cmd *commands.Command) {
	if s.cache.Pushes() {
		s.ctx.Reply.Raw(s.cache.TakePushes())
	}
	if !s.Has(commands.ClientMulti) && (cmd == nil || cmd.Name != "CLIENT" && (cmd.Parent() == nil || cmd.Parent().Name != "CLIENT")) {
		s.Clear(commands.ClientTrackingCaching)
	}
}
