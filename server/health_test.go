package server

import (
	"errors"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
)

// What a member says of itself follows from its role, and never from that it refuses writes.
func TestHealthIsThatOfTheRole(t *testing.T) {
	k := &knownGroup{}
	k.set(leads)
	r, g := newGroupRig(t, func(o *Options) { o.Membership = k.now.Load })
	check := func(state string, role Role, health, leader error) {
		t.Helper()
		if r.srv.Role() != role {
			t.Errorf("%s: role %s, want %s", state, r.srv.Role(), role)
		}
		if err := r.srv.Health(); !errors.Is(err, health) {
			t.Errorf("%s: health %v, want %v", state, err, health)
		}
		if err := r.srv.Leads(); !errors.Is(err, leader) {
			t.Errorf("%s: leads %v, want %v", state, err, leader)
		}
	}
	check("a leader", RoleLeader, nil, nil)
	g.set(func() { g.held = false })
	check("a leader that no majority confirms", RoleLeader, ErrNoLeader, ErrNoLeader)
	g.depose()
	k.set(follows)
	check("a follower", RoleFollower, nil, ErrFollows)
	if err := r.srv.Leads(); err.Error() != "server: another member leads the group: [::1]:7003" {
		t.Errorf("a balancer is told %q, want the leader", err)
	}
	if got := r.dial().do("INFO", "persistence"); !strings.Contains(got, "aof_last_write_status:ok") {
		t.Errorf("a follower whose disk works says of it: %s", got)
	}
	g.set(func() { g.heard = false })
	check("a follower that has not heard the leader, or has no data yet", RoleFollower, ErrBehind, ErrBehind)
	k.set(leaderless)
	check("one without a leader", RoleFollower, ErrNoLeader, ErrNoLeader)
	g.set(func() { g.heard = true })
	check("one that has heard a leader a moment ago", RoleFollower, ErrNoLeader, ErrNoLeader)
	k.set(func(m *commands.Membership) { leads(m); m.Leads = false })
	check("one that is elected and does not take changes yet", RoleFollower, ErrNoLeader, ErrNoLeader)
	g.set(func() { g.gone = true })
	check("one that has left", RoleFollower, ErrLeft, ErrLeft)
}

func TestHealthOfAServerThatIsAlone(t *testing.T) {
	r := newRig(t)
	if r.srv.Role() != RoleAlone || r.srv.Health() != nil || r.srv.Leads() != nil {
		t.Errorf("role %s, health %v, leads %v", r.srv.Role(), r.srv.Health(), r.srv.Leads())
	}
}
