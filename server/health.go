package server

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/vigildb/vigil/persistence"

	"github.com/vigildb/vigil/server/internal/door"
)

// ErrLoading is returned by Health until Load is done, and while the data of a master goes into a group.
var ErrLoading = errors.New("server: loading the data")

// Role implements [door.Server].
func (d insider) Role() door.Role {
	switch {
	case d.srv.opts.Group == nil:
		return door.RoleAlone
	case d.srv.leads():
		return door.RoleLeader
	}
	return door.RoleFollower
}

// leads reports whether the server may take changes, by its group: it is alone, or leads
// the group.
func (srv *Server) leads() bool { return srv.opts.Group == nil || srv.store.Member().Leads() }

// Health returns nil if the server accepts reads and writes. Otherwise it returns the reason: ErrLoading
// while data is loaded, or why the disk cannot be written. That of a member of a group is nil, too, if it
// follows a leader that it has heard lately.
func (srv *Server) Health() error {
	if srv.loading.Load() || srv.store.Incomplete() {
		return ErrLoading
	}
	if err := srv.store.DiskError(); err != nil {
		return err
	}
	g := srv.opts.Group
	switch {
	case g == nil:
		return nil
	case g.Gone():
		return door.ErrLeft
	case srv.leads():
		if !g.Held() {
			return door.ErrNoLeader // it does not know yet that it does not lead any more
		}
		return nil
	}
	switch m := srv.opts.Membership(); {
	case m == nil || !m.Led || m.Leader == m.Self:
		return door.ErrNoLeader
	case !g.Fresh(false):
		return door.ErrBehind
	}
	return nil
}

// Unsynced returns how many changes that clients were told of are not on the device. In a group, and with
// appendfsync always, nobody is told before.
func (srv *Server) Unsynced() uint64 {
	if srv.opts.InMemory || srv.settings().syncAlways {
		return 0
	}
	return srv.store.Commits().Unsynced()
}

// Leads implements [door.Server].
func (d insider) Leads() error {
	srv := d.srv
	if err := srv.Health(); err != nil || srv.leads() {
		return err
	}
	if m := srv.opts.Membership(); m != nil && m.Leader >= 0 {
		leader := &m.Members[m.Leader]
		return fmt.Errorf("%w: %s", door.ErrFollows, net.JoinHostPort(leader.Host, strconv.Itoa(leader.Port)))
	}
	return door.ErrFollows
}

// yieldPeriod is how often a leader whose disk is full hands over to another member: that one may have no room either.
const yieldPeriod = 5 * time.Minute

// yieldLead transfers leadership to another member if this one has room for deletions only. Members that ran out of room end, and
// come back so.
func (c *cron) yieldLead(srv *Server, now time.Time) {
	g := srv.opts.Group
	if g == nil || !srv.leads() || !errors.Is(srv.store.DiskError(), persistence.ErrFull) ||
		!c.yielded.IsZero() && now.Sub(c.yielded) < yieldPeriod {
		return
	}
	c.yielded = now
	srv.logf(logNotice, "The disk is full: another member is asked to lead the group")
	srv.workers.Go(g.HandOver) // ends within two election timeouts; Close ends the group before it waits
}
