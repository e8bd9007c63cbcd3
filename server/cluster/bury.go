package cluster

import (
	"context"
	"slices"

	"github.com/vigildb/vigil/server/cluster/logs"

	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
)

// A group whose machines are lost for good is buried by hand: its claim does not count any more, so its slots are of no
// group. Which groups lie buried follows from the tables, as the division of the slots does, and is the same at all servers
// that have the same tables. A group that comes back hears of it, and serves nothing. It rises when slots are given to it by
// hand, and in no other way: it may begin again from an earlier state, or claim its slots again, and still lies. ADR 0073.

// BuryGroup buries the group of the member with a public ID, on which the group of this server agrees, which this server leads. It
// returns the slots that are of no group now. known is false if no group has such a member.
func (s *Seat) BuryGroup(ctx context.Context, id string) (freed *slots.Set, known bool, err error) {
	n := s.Node()
	err = n.inCluster(func(r *raftnode.Runner) error {
		g, _ := n.others.MemberOf(id)
		if known = g != nil && len(g.Members) > 0; !known {
			return nil
		}
		freed, err = n.others.bury(ctx, r, g)
		return err
	})
	return freed, known, err
}

func (o *others) bury(ctx context.Context, r *raftnode.Runner, g *topology.Group) (freed *slots.Set, err error) {
	before := o.OwnedBy(g.Name)
	at := uint64(0)
	if _, err := r.Reclaim(ctx, func(_ *raftnode.Driver, m *raftnode.Members) (topology.Claim, error) {
		b, err := o.MayBury(m.Buried, g.Name)
		if err == nil {
			err = o.mayHaveSome(m)
		}
		if err != nil {
			return topology.Claim{}, err
		}
		c := m.Claim
		if c.Slots == nil { // the group has never had a slot
			c.Slots = new(slots.Set)
		}
		at, c.Buried = b.At, topology.WithBurial(c.Buried, b)
		return c, nil
	}, func(m *raftnode.Members) bool { return at > 0 && topology.BurialOf(m.Buried, g.Name) >= at }); err != nil {
		return nil, err
	}
	o.Look()
	o.Tell()
	return before.Without(o.Owned()), nil
}

// adopt has the log of this group say which groups lie buried, whichever group has buried them: they lie as long as one
// group is left that has heard of it. Only the leader does something, and one that has data of all slots nothing.
func (o *others) adopt() {
	r, m := o.n.runner.Load(), o.n.roster()
	if !r.Seen().Leads || !m.Claimed() || len(o.Unheard(m.Buried)) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(o.n.ctx, topology.ExchangeTimeout)
	defer cancel()
	var more []topology.Burial
	err := r.Change(ctx, func(d *raftnode.Driver) error {
		c := d.Members().Claim
		more = o.Unheard(d.Members().Buried)
		for _, b := range more {
			c.Buried = topology.WithBurial(c.Buried, b)
		}
		return d.Claim(c)
	}, func(m *raftnode.Members) bool {
		return !slices.ContainsFunc(more, func(b topology.Burial) bool { return topology.BurialOf(m.Buried, b.Group) < b.At })
	})
	if err != nil && !raftnode.Transient(err) {
		o.n.complain("the log does not say yet which groups lie buried: %v", err)
	}
}

// takeBack claims slots again that were given to a group which lies buried and has not taken them. Their keys are still here.
func (o *others) takeBack(ctx context.Context, r *raftnode.Runner, m topology.Move) error {
	_, err := r.Reclaim(ctx, func(_ *raftnode.Driver, now *raftnode.Members) (topology.Claim, error) {
		c := now.Claim
		if topology.MoveOf(c.Given, m.Attempt) != nil {
			if o.TookBefore(m) { // which was heard a moment ago
				return topology.Claim{}, retryable{errBusyHere}
			}
			c.Slots, c.Given = c.Slots.Union(m.Slots), topology.WithoutMove(c.Given, m.Attempt)
		}
		return c, nil
	}, func(now *raftnode.Members) bool { return topology.MoveOf(now.Given, m.Attempt) == nil })
	if err != nil {
		return err
	}
	o.Tell()
	o.n.config.Logf(logs.Notice, "the group has the slots %s again: %s, to which it gave them, lies buried and had not taken them", m.Slots, o.Label(m.Group))
	return nil
}
