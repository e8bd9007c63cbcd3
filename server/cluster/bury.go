package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
)

// A group whose machines are lost for good is buried by hand: its claim does not count any more, so its slots are of no
// group. Which groups lie buried follows from the tables, as the division of the slots does, and is the same at all servers
// that have the same tables. A group that comes back hears of it, and serves nothing. It rises when slots are given to it by
// hand, and in no other way: it may begin again from an earlier state, or claim its slots again, and still lies. ADR 0073.

var (
	errLies     = errors.New("cluster: the group lies buried")
	errSelfLies = errors.New("cluster: the group of this server lies buried: CLUSTER ADDSLOTS gives it slots that no group has, with the keys that it still has of them")
	errBuryOwn  = errors.New("cluster: a group cannot bury itself")
	errBuryMany = fmt.Errorf("cluster: %d groups were buried, which is as many as are noted", topology.MaxBuried)
)

func (o *others) lies(name string) bool { return o.division.Load().Lies(name) }

// BuryGroup buries the group of the member with a public ID, on which the group of this server agrees, which this server leads. It
// returns the slots that are of no group now. known is false if no group has such a member.
func (s *Seat) BuryGroup(ctx context.Context, id string) (freed *slots.Set, known bool, err error) {
	n := s.Node()
	err = n.inCluster(func(r *raftnode.Runner) error {
		g, _ := n.others.named(id)
		if known = g != nil && len(g.Members) > 0; !known {
			return nil
		}
		freed, err = n.others.bury(ctx, r, g)
		return err
	})
	return freed, known, err
}

func (o *others) bury(ctx context.Context, r *raftnode.Runner, g *topology.Group) (freed *slots.Set, err error) {
	before := o.ownedBy(g.Name)
	at := uint64(0)
	if _, err := r.Reclaim(ctx, func(_ *raftnode.Driver, m *raftnode.Members) (topology.Claim, error) {
		b, err := o.mayBury(m, g.Name)
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
	o.look()
	o.tell()
	return before.Without(o.owned()), nil
}

// mayBury returns the burial of another group, and an error for one that cannot be buried. One that this server has not
// heard since it started may be silent for no longer than that.
func (o *others) mayBury(m *raftnode.Members, name string) (b topology.Burial, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	heard, ever := o.heard[name]
	if !ever {
		heard = o.began
	}
	silent, g := o.n.monotonic()-heard, o.table[name]
	switch least := 2 * o.n.config.Cluster.Silence; {
	case name == o.name:
		return b, errBuryOwn
	case o.lies(o.name):
		return b, errSelfLies
	case g == nil || o.lies(name):
		return b, errLies
	case silent < least:
		return b, fmt.Errorf("cluster: the group was heard %v ago: only one that has been silent for %v, twice cluster-node-timeout, is buried", silent.Round(time.Millisecond), least)
	case len(m.Buried) >= topology.MaxBuried && topology.BurialOf(m.Buried, name) == 0:
		return b, errBuryMany
	}
	return topology.Burial{Group: name, At: max(wallClock(), g.Claim.Risen+1)}, o.mayHaveSome(m)
}

// ownedBy returns the slots of another group.
func (o *others) ownedBy(name string) *slots.Set {
	for _, g := range o.division.Load().Others {
		if g.Name == name {
			return g.Slots
		}
	}
	return new(slots.Set)
}

// owned returns the slots of all groups, with those that are on their way to one.
func (o *others) owned() *slots.Set {
	d := o.division.Load()
	all := d.Slots.Union(d.Arriving)
	for _, g := range d.Others {
		all = all.Union(g.Slots)
	}
	return all
}

// adopt has the log of this group say which groups lie buried, whichever group has buried them: they lie as long as one
// group is left that has heard of it. Only the leader does something, and one that has data of all slots nothing.
func (o *others) adopt() {
	r, m := o.n.runner.Load(), o.n.roster()
	if !r.Seen().Leads || !m.Claimed() || len(o.unheard(m)) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(o.n.ctx, exchangeTimeout)
	defer cancel()
	var more []topology.Burial
	err := r.Change(ctx, func(d *raftnode.Driver) error {
		c := d.Members().Claim
		more = o.unheard(d.Members())
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

// unheard returns burials that other groups know and the own one does not, as many as it can note.
func (o *others) unheard(m *raftnode.Members) (more []topology.Burial) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := m.Buried
	for _, name := range slices.Sorted(maps.Keys(o.table)) {
		for _, b := range o.table[name].Claim.Buried {
			at := topology.BurialOf(all, b.Group)
			if at >= b.At || at == 0 && len(all) >= topology.MaxBuried {
				continue
			}
			all, more = topology.WithBurial(all, b), append(more, b)
		}
	}
	return more
}

// reportBurialsLocked logs which groups lie buried, and which have risen, when that is new.
func (o *others) reportBurialsLocked(lie map[string]uint64) {
	if o.own == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(lie)) {
		when := time.UnixMilli(int64(lie[name])).UTC().Format(time.RFC3339)
		switch {
		case o.lay[name] == lie[name]:
		case name == o.name:
			o.n.config.Logf(raftnode.LogWarn, "this group was buried at %s by VIGIL.CLUSTER BURY, as it was not heard: the slots %s are not its own any more, and keys of them stay on disk, unseen. CLUSTER ADDSLOTS gives it slots that no group has, with the keys that are here; FLUSHALL and CLUSTER RESET make this server a new one", when, o.own.Claim.Slots)
		default:
			level := raftnode.LogWarn
			if o.lay == nil { // this server starts, and has said so before
				level = raftnode.LogInfo
			}
			o.n.config.Logf(level, "%s was buried at %s by VIGIL.CLUSTER BURY: it has no slots any more, and is not asked for anything", o.labelLocked(name), when)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.lay)) {
		if lie[name] == 0 {
			o.n.config.Logf(raftnode.LogNotice, "%s lies buried no more: slots were given to it", o.labelLocked(name))
		}
	}
	if o.lay = lie; lie == nil {
		o.lay = map[string]uint64{}
	}
}

// tookBefore reports whether a group that lies buried had taken slots that were given to it, as far as this server has heard. Then
// keys of them may have been removed here, and what is left is older than what clients have seen.
func (o *others) tookBefore(m topology.Move) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	taken := new(slots.Set)
	if g := o.table[m.Group]; g != nil {
		taken = g.Claim.Slots.Union(topology.SlotsOf(g.Claim.Given))
	}
	for _, g := range o.division.Load().Others {
		taken = taken.Union(g.Slots)
	}
	return taken.Both(m.Slots).Len() > 0
}

// takeBack claims slots again that were given to a group which lies buried and has not taken them. Their keys are still here.
func (o *others) takeBack(ctx context.Context, r *raftnode.Runner, m topology.Move) error {
	_, err := r.Reclaim(ctx, func(_ *raftnode.Driver, now *raftnode.Members) (topology.Claim, error) {
		c := now.Claim
		if topology.MoveOf(c.Given, m.Attempt) != nil {
			if o.tookBefore(m) { // which was heard a moment ago
				return topology.Claim{}, retryable{errBusyHere}
			}
			c.Slots, c.Given = c.Slots.Union(m.Slots), topology.WithoutMove(c.Given, m.Attempt)
		}
		return c, nil
	}, func(now *raftnode.Members) bool { return topology.MoveOf(now.Given, m.Attempt) == nil })
	if err != nil {
		return err
	}
	o.tell()
	o.n.config.Logf(raftnode.LogNotice, "the group has the slots %s again: %s, to which it gave them, lies buried and had not taken them", m.Slots, o.label(m.Group))
	return nil
}

// lyingLocked returns the groups that lie buried, with what the own group says of it.
func (o *others) lyingLocked() map[string]uint64 {
	t := maps.Clone(o.table)
	if o.own != nil {
		t[o.name] = o.own
	}
	return t.Lying()
}
