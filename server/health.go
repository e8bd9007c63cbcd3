package server

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/vigildb/vigil/persistence"
)

// Role is what a server is among those that hold the same data.
type Role string

const (
	// RoleAlone is that of a server without others.
	RoleAlone Role = "alone"
	// RoleLeader is that of the member that takes changes.
	RoleLeader Role = "leader"
	// RoleFollower is that of the other members of a group.
	RoleFollower Role = "follower"
)

var (
	// ErrLoading is returned by Health until Load is done.
	ErrLoading = errors.New("server: loading the data")
	// ErrNoLeader is returned by Health of a member that knows no leader: most members of its group
	// cannot be reached, or they elect one.
	ErrNoLeader = errors.New("server: no leader of the group is known")
	// ErrBehind is returned by Health of a member that follows a leader and does not have its data yet.
	ErrBehind = errors.New("server: the data of the group is not here yet")
	// ErrLeft is returned by Health of a server that has left its group.
	ErrLeft = errors.New("server: this server has left its group")
	// ErrFollows is returned by Leads of a member that follows another one.
	ErrFollows = errors.New("server: another member leads the group")
)

// Role returns what the server is now.
func (srv *Server) Role() Role {
	switch {
	case srv.opts.Group == nil:
		return RoleAlone
	case srv.leads():
		return RoleLeader
	}
	return RoleFollower
}

// leads reports whether the server takes changes as far as others are concerned: it is alone, or leads
// its group.
func (srv *Server) leads() bool { return srv.opts.Group == nil || srv.store.Member().Leads() }

// Health returns nil if the server does what its role asks for: a server that is alone, and a leader,
// accept reads and writes, and a follower has heard its leader lately. Otherwise it returns the reason:
// why the disk cannot be written, ErrLoading while data is loaded, ErrNoLeader, ErrBehind or ErrLeft.
func (srv *Server) Health() error {
	if srv.loading.Load() {
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
		return ErrLeft
	case srv.leads():
		if !g.Held() {
			return ErrNoLeader // it does not know yet that it does not lead any more
		}
		return nil
	}
	switch m := srv.opts.Membership(); {
	case m == nil || !m.Led || m.Leader == m.Self:
		return ErrNoLeader
	case !g.Fresh(false):
		return ErrBehind
	}
	return nil
}

// Unsynced returns how many changes that clients were told of are not on the device. In a group, and with
// appendfsync always, nobody is told before.
func (srv *Server) Unsynced() uint64 {
	if srv.opts.InMemory || srv.settings().syncAlways {
		return 0
	}
	return srv.store.Unsynced()
}

// Leads returns nil if the server is to get the writes of clients, for load balancers: it is healthy, and
// is alone or leads its group. The error of a healthy follower wraps ErrFollows.
func (srv *Server) Leads() error {
	if err := srv.Health(); err != nil || srv.leads() {
		return err
	}
	if m := srv.opts.Membership(); m != nil && m.Leader >= 0 {
		leader := &m.Members[m.Leader]
		return fmt.Errorf("%w: %s", ErrFollows, net.JoinHostPort(leader.Host, strconv.Itoa(leader.Port)))
	}
	return ErrFollows
}

// yieldPeriod is how often a leader whose disk is full has another member lead: that one may have no room either.
const yieldPeriod = 5 * time.Minute

// yieldLead has another member lead if this one has room for deletions only. Members that ran out of room end, and
// come back so.
func (c *cron) yieldLead(srv *Server, now time.Time) {
	g := srv.opts.Group
	if g == nil || !srv.leads() || !errors.Is(srv.store.DiskError(), persistence.ErrFull) ||
		!c.yielded.IsZero() && now.Sub(c.yielded) < yieldPeriod {
		return
	}
	c.yielded = now
	srv.logf(LogNotice, "The disk is full: another member is asked to lead the group")
	srv.workers.Go(g.HandOver) // ends within two election timeouts; Close ends the group before it waits
}
