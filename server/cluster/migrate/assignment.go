package migrate

import (
	"context"
	"errors"
	"fmt"

	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
)

// ErrSlotsTaken is returned for slots that another group has.
var ErrSlotsTaken = errors.New("cluster: another group has slots of these")

var errSlotsMove = errors.New("cluster: the slots are being moved between groups")

var errHasData = errors.New("cluster: the group has data of all slots, and would hide what is not in the slots that it claims: it can take part with all slots only")

// First claims the slots of the configuration, at the leader of a new group, once all contacts have told what other groups have.
func (o *Slots) First() {
	want := o.opts.Slots
	if o.opts.All {
		want = slots.All()
	}
	restored, of := o.cluster.Part()
	if restored != nil {
		want = of
	}
	if want == nil || o.now().Assigned() || !o.leads() || o.cluster.Removed(o.cluster.Name()) {
		return
	}
	for _, contact := range o.opts.Contacts {
		if !o.cluster.HasMet(contact) {
			o.complain("waits with its slots until %s tells which ones other groups have", contact)
			return
		}
	}
	ctx, cancel := context.WithTimeout(o.opts.Done, topology.ExchangeTimeout)
	defer cancel()
	err := o.once(ctx, func(m topology.Assignment) (topology.Assignment, error) { return o.with(m, want) })
	switch {
	case err == nil:
		o.opts.Logf(logs.Notice, "the group has the slots %s from now on", want)
		if restored != nil {
			o.cluster.Missing(restored)
		}
	case !raftnode.Transient(err):
		o.complain("the group cannot have the slots %s: %v", want, err)
	}
}

// Renew implements [topology.Steward].
func (o *Slots) Renew(outdone bool) {
	o.periods = o.claimAgain(outdone, o.periods)
	o.adopt()
}

// outdonePeriods is for how many exchanges in a row others have to tell more of a group than its leader knows,
// so that this is no matter of messages that cross.
const outdonePeriods = 3

// claimAgain claims the slots anew at the leader of a group that began again from an earlier state (a snapshot, or one member
// of several): others would believe what they know of its former life until it has grown as old. outdone says that others
// know more now. before and periods are in how many exchanges in a row they did.
func (o *Slots) claimAgain(outdone bool, before int) (periods int) {
	if !outdone || !o.leads() || !o.now().Assigned() || o.cluster.Removed(o.cluster.Name()) {
		return 0
	}
	if before+1 < outdonePeriods {
		return before + 1
	}
	ctx, cancel := context.WithTimeout(o.opts.Done, topology.ExchangeTimeout)
	defer cancel()
	err := o.once(ctx, func(m topology.Assignment) (topology.Assignment, error) {
		c := m
		c.Since = o.wall()
		return c, nil
	})
	if err != nil {
		o.complain("the group does not claim its slots again: %v", err)
		return 0
	}
	o.opts.Logf(logs.Warn, "other groups knew of a later state of this group: it has claimed its slots again, so that they believe the present one")
	return 0
}

// with returns the assignment of a group with some more slots, unless another group has one of them. They revive a group
// that was removed.
func (o *Slots) with(m topology.Assignment, add *slots.Set) (topology.Assignment, error) {
	d := o.cluster.Division()
	for _, g := range d.Others {
		if taken := g.Slots.Both(add); taken.Len() > 0 {
			return topology.Assignment{}, fmt.Errorf("%s of %s: %w", taken, topology.GroupLabel(o.opts.Secret, g.Name, g.Group), ErrSlotsTaken)
		}
	}
	c := m
	if d.Removed(o.cluster.Name()) {
		if len(c.Taking) > 0 { // what has come of their keys is removed first
			return topology.Assignment{}, errSlotsMove
		}
		c = c.Revive(d.RemovedAt[o.cluster.Name()], o.wall())
	}
	if moves := topology.SlotsOf(c.Given).Union(topology.SlotsOf(c.Taking)).Union(d.Importing).Both(add); moves.Len() > 0 {
		return topology.Assignment{}, fmt.Errorf("%s: %w", moves, errSlotsMove)
	}
	want := c.Slots.Union(add)
	switch restored, of := o.cluster.Part(); {
	case restored != nil && !of.Equal(want):
		return topology.Assignment{}, errRestoredSlots
	case restored == nil && want.Len() < slots.Count:
		if err := o.mayHaveSome(m); err != nil {
			return topology.Assignment{}, err
		}
	}
	if c.Slots = want; c.Since == 0 {
		c.Since = o.wall()
	}
	return c, nil
}

// mayHaveSome returns an error for a group that has written data before it has ever claimed slots: it may have keys of
// all of them, which some slots would hide.
func (o *Slots) mayHaveSome(m topology.Assignment) error {
	if m.Assigned() {
		return nil
	}
	if written, err := o.opts.Written(); written || err != nil {
		return errors.Join(errHasData, err)
	}
	return nil
}

var errRestoredSlots = errors.New("cluster: the group was restored from a part of a cluster snapshot, and begins with the slots of that")

// Claim gives slots that no group has to that of this server, which leads it.
func (o *Slots) Claim(ctx context.Context, add *slots.Set) error {
	return o.reclaim(ctx, func(now topology.Assignment) (topology.Assignment, error) { return o.with(now, add) })
}

// Drop takes slots from the group of this server, which leads it.
func (o *Slots) Drop(ctx context.Context, drop *slots.Set) error {
	return o.reclaim(ctx, func(now topology.Assignment) (topology.Assignment, error) {
		now.Slots = now.Slots.Without(drop)
		return now, nil
	})
}

// reclaim changes the assignment of the group, and returns when this server goes by that.
func (o *Slots) reclaim(ctx context.Context, next func(now topology.Assignment) (topology.Assignment, error)) error {
	err := o.once(ctx, next)
	o.cluster.Look()
	o.cluster.Broadcast()
	return err
}

// once changes the slots of the group, unless another change is under way.
func (o *Slots) once(ctx context.Context, next func(now topology.Assignment) (topology.Assignment, error)) error {
	var want topology.Assignment
	_, err := o.opts.Group.Agree(ctx, topology.Change{Next: func(_ uint64, now topology.Assignment) (_ topology.Assignment, err error) {
		want, err = next(now)
		return want, err
	}, Done: func(now topology.Assignment) bool {
		return now.Assigned() && now.Since == want.Since && now.Slots.Equal(want.Slots)
	}})
	return err
}

// complain logs what keeps the group from its slots, once a minute.
func (o *Slots) complain(format string, args ...any) {
	if o.opts.Due("slots " + format) {
		o.opts.Logf(logs.Warn, format, args...)
	}
}
