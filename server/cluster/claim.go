package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vigildb/vigil/server/cluster/logs"

	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
)

// ErrSlotsTaken is returned for slots that another group has.
var ErrSlotsTaken = errors.New("cluster: another group has slots of these")

var errSlotsMove = errors.New("cluster: the slots are on their way between groups")

var errHasData = errors.New("cluster: the group has data of all slots, and would hide what is not in the slots that it claims: it can take part with all slots only")

// compare logs that the configuration of this server names other slots than its group has. Slots may have moved since
// it began.
func (n *Node) compare(c topology.Claim) {
	if n.config.Cluster == nil || !c.Claimed() {
		return
	}
	if want := n.config.Cluster.Slots; want != nil && !want.Equal(c.Slots) {
		n.config.Logf(logs.Notice, "the group has the slots %q by now; cluster-slots, %q, says with which ones a group begins, and changes nothing", c.Slots, want)
	}
}

// First has the leader of a new group claim the slots of its configuration, once all contacts have
// told what other groups have.
func (o *others) First() {
	want, r := o.n.config.Cluster.Slots, o.n.runner.Load()
	if o.n.config.Cluster.All {
		want = slots.All()
	}
	restored, of := o.Part()
	if restored != nil {
		want = of
	}
	if want == nil || o.n.roster().Claimed() || !r.Seen().Leads || o.Lies(o.n.Name()) {
		return
	}
	for _, contact := range o.n.config.Cluster.Contacts {
		if !o.HasMet(contact) {
			o.n.complain("waits with its slots until %s tells which ones other groups have", contact)
			return
		}
	}
	ctx, cancel := context.WithTimeout(o.n.ctx, topology.ExchangeTimeout)
	defer cancel()
	err := r.Claim(ctx, func(m *raftnode.Members) (topology.Claim, error) { return o.with(m, want) })
	switch {
	case err == nil:
		o.n.config.Logf(logs.Notice, "the group has the slots %s from now on", want)
		if restored != nil {
			o.Missing(restored)
		}
	case !raftnode.Transient(err):
		o.n.complain("the group cannot have the slots %s: %v", want, err)
	}
}

// Renew implements [topology.Steward].
func (o *others) Renew(outdone bool) {
	o.periods = o.claimAgain(outdone, o.periods)
	o.adopt()
}

// outdonePeriods is for how many exchanges in a row others have to tell more of a group than its leader knows,
// so that this is no matter of letters which cross.
const outdonePeriods = 3

// claimAgain has the leader of a group that began again from an earlier state (a snapshot, or one member of
// several) claim its slots anew: others would believe what they know of its former life until it has
// grown as old. outdone says that others know more now, before in how many periods up to now they did, and so does what it returns.
func (o *others) claimAgain(outdone bool, before int) (periods int) {
	r := o.n.runner.Load()
	if !outdone || !r.Seen().Leads || !o.n.roster().Claimed() || o.Lies(o.n.Name()) {
		return 0
	}
	if before+1 < outdonePeriods {
		return before + 1
	}
	ctx, cancel := context.WithTimeout(o.n.ctx, topology.ExchangeTimeout)
	defer cancel()
	err := r.Claim(ctx, func(m *raftnode.Members) (topology.Claim, error) {
		c := m.Claim
		c.Since = wallClock()
		return c, nil
	})
	if err != nil {
		o.n.complain("the group does not claim its slots again: %v", err)
		return 0
	}
	o.n.config.Logf(logs.Warn, "other groups knew of a later state of this group: it has claimed its slots again, so that they believe the present one")
	return 0
}

// wallClock is the time of a claim.
func wallClock() uint64 { return uint64(time.Now().UnixMilli()) }

// complain logs what keeps the group from its slots, once a minute.
func (n *Node) complain(format string, args ...any) {
	if n.said.Due("slots "+format, n.monotonic()) {
		n.config.Logf(logs.Warn, format, args...)
	}
}

// with returns the claim of a group with some more slots, unless another group has one of them. A group that lies buried
// rises with them.
func (o *others) with(m *raftnode.Members, add *slots.Set) (topology.Claim, error) {
	d := o.Division()
	for _, g := range d.Others {
		if taken := g.Slots.Both(add); taken.Len() > 0 {
			return topology.Claim{}, fmt.Errorf("%s of %s: %w", taken, topology.GroupLabel(o.n.config.Secret, g.Name, g.Group), ErrSlotsTaken)
		}
	}
	c := m.Claim
	if d.Lies(o.n.Name()) {
		if len(c.Taking) > 0 { // what has come of their keys is removed first
			return topology.Claim{}, errSlotsMove
		}
		c = c.Rises(d.Lie[o.n.Name()], wallClock())
	}
	if moves := topology.SlotsOf(c.Given).Union(topology.SlotsOf(c.Taking)).Union(d.Arriving).Both(add); moves.Len() > 0 {
		return topology.Claim{}, fmt.Errorf("%s: %w", moves, errSlotsMove)
	}
	want := c.Slots.Union(add)
	switch restored, of := o.Part(); {
	case restored != nil && !of.Equal(want):
		return topology.Claim{}, errRestoredSlots
	case restored == nil && want.Len() < slots.Count:
		if err := o.mayHaveSome(m); err != nil {
			return topology.Claim{}, err
		}
	}
	if c.Slots = want; c.Since == 0 {
		c.Since = wallClock()
	}
	return c, nil
}

// mayHaveSome returns an error for a group that has written data before it has ever claimed slots: it may have keys of
// all of them, which some slots would hide.
func (o *others) mayHaveSome(m *raftnode.Members) error {
	if m.Claimed() {
		return nil
	}
	_, last := o.n.log.Bounds()
	if record, err := o.n.log.LastRecord(last); record != 0 || err != nil {
		return errors.Join(errHasData, err)
	}
	return nil
}

// TakeSlots gives slots that no group has to that of this server, which leads it.
func (s *Seat) TakeSlots(ctx context.Context, add *slots.Set) error {
	n := s.Node()
	return n.reclaim(ctx, func(m *raftnode.Members) (topology.Claim, error) { return n.others.with(m, add) })
}

// DropSlots takes slots from the group of this server, which leads it.
func (s *Seat) DropSlots(ctx context.Context, drop *slots.Set) error {
	n := s.Node()
	return n.reclaim(ctx, func(m *raftnode.Members) (topology.Claim, error) {
		c := m.Claim
		c.Slots = m.Slots.Without(drop)
		return c, nil
	})
}

// reclaim changes the claim of the group, and returns when this server goes by that.
func (n *Node) reclaim(ctx context.Context, next func(*raftnode.Members) (topology.Claim, error)) error {
	return n.inCluster(func(r *raftnode.Runner) error {
		err := r.Claim(ctx, next)
		n.others.Look()
		n.others.Tell()
		return err
	})
}

var errNoCluster = errors.New("cluster: clients of this server see no cluster")

// Meet exchanges tables with the server at an address.
func (s *Seat) Meet(ctx context.Context, address string) error {
	n := s.Node()
	return n.asked(func(*raftnode.Runner) error {
		switch {
		case n.others == nil:
			return errNoCluster
		case address == n.self.Address:
			return nil
		}
		return n.others.ExchangeWith(ctx, address, 0)
	})
}
