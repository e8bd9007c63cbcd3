package server

import (
	"errors"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"

	"github.com/vigildb/vigil/server/internal/door"
)

// What a member says of itself follows from its role, and never from that it refuses writes.
func TestHealthIsThatOfTheRole(t *testing.T) {
	k := &knownGroup{}
	k.set(leads)
	r, g := newGroupRig(t, func(o *Options) { o.Membership = k.now.Load })
	check := func(state string, role door.Role, health, leader error) {
		t.Helper()
		if door.Of(r.srv).Role() != role {
			t.Errorf("%s: role %s, want %s", state, door.Of(r.srv).Role(), role)
		}
		if err := r.srv.Health(); !errors.Is(err, health) {
			t.Errorf("%s: health %v, want %v", state, err, health)
		}
		if err := door.Of(r.srv).Leads(); !errors.Is(err, leader) {
			t.Errorf("%s: leads %v, want %v", state, err, leader)
		}
	}
	check("a leader", door.RoleLeader, nil, nil)
	g.set(func() { g.held = false })
	check("a leader that no majority confirms", door.RoleLeader, door.ErrNoLeader, door.ErrNoLeader)
	g.depose()
	k.set(follows)
	check("a follower", door.RoleFollower, nil, door.ErrFollows)
	if err := door.Of(r.srv).Leads(); err.Error() != "server: another member leads the group: [::1]:7003" {
		t.Errorf("a balancer is told %q, want the leader", err)
	}
	if got := r.dial().do("INFO", "persistence"); !strings.Contains(got, "aof_last_write_status:ok") {
		t.Errorf("a follower whose disk works says of it: %s", got)
	}
	g.set(func() { g.heard = false })
	check("a follower that has not heard the leader, or has no data yet", door.RoleFollower, door.ErrBehind, door.ErrBehind)
	k.set(leaderless)
	check("one without a leader", door.RoleFollower, door.ErrNoLeader, door.ErrNoLeader)
	g.set(func() { g.heard = true })
	check("one that has heard a leader a moment ago", door.RoleFollower, door.ErrNoLeader, door.ErrNoLeader)
	k.set(func(m *commands.Membership) { leads(m); m.Leads = false })
	check("one that is elected and does not take changes yet", door.RoleFollower, door.ErrNoLeader, door.ErrNoLeader)
	g.set(func() { g.gone = true })
	check("one that has left", door.RoleFollower, door.ErrLeft, door.ErrLeft)
}

func TestHealthOfAServerThatIsAlone(t *testing.T) {
	r := newRig(t)
	if door.Of(r.srv).Role() != door.RoleAlone || r.srv.Health() != nil || door.Of(r.srv).Leads() != nil {
		t.Errorf("role %s, health %v, leads %v", door.Of(r.srv).Role(), r.srv.Health(), door.Of(r.srv).Leads())
	}
}
