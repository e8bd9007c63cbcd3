package raftnode

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/server/cluster/topology"
)

// Claim has the group claim slots in place of those that it has. It returns when that is proposed.
// The change is one of no member, which raft passes on and otherwise ignores.
func (d *Driver) Claim(c topology.Claim) error {
	if _, err := d.mayChange(); err != nil {
		return fmt.Errorf("change the slots of the group: %w", err)
	}
	return d.proposeChange(raftpb.ConfChangeTransitionAuto, string(c.Encode()), single(raftpb.ConfChangeUpdateNode, raft.None))
}

// Claim has the group claim other slots, and returns when it has agreed to that. next returns
// them, in a turn of the driver, from those that the group has.
func (r *Runner) Claim(ctx context.Context, next func(*Members) (topology.Claim, error)) error {
	var want topology.Claim
	return r.Change(ctx, func(d *Driver) (err error) {
		if want, err = next(d.Members()); err != nil {
			return err
		}
		return d.Claim(want)
	}, func(m *Members) bool { return m.Claimed() && m.Since == want.Since && m.Slots.Equal(want.Slots) })
}

// changePause is how long a leader waits before it proposes a change again that another one is in the way of.
const changePause = 50 * time.Millisecond

// Reclaim has the group change its claim, and returns when it has, as done says. next returns the claim, with the goroutine
// of the driver. proposed reports whether the change may be made although there is an error: before, it waits
// until no other change is under way or ctx ends, and after that for the outcome, as long as this member leads.
func (r *Runner) Reclaim(ctx context.Context, next func(*Driver, *Members) (topology.Claim, error), done func(*Members) bool) (proposed bool, err error) {
	for {
		err = r.Change(context.WithoutCancel(ctx), func(d *Driver) error {
			want, err := next(d, d.Members())
			if err == nil {
				err = d.Claim(want)
			}
			proposed = err == nil
			return err
		}, done)
		if err == nil || proposed || !errors.Is(err, ErrChanging) {
			return proposed, err
		}
		select {
		case <-time.After(changePause):
		case <-ctx.Done():
			return false, err
		}
	}
}

// Leading returns the term in which this member leads its group, 0 if it does not.
func (r *Runner) Leading() (term uint64) {
	r.ask(func() {
		if r.driver.Leads() {
			term = r.driver.leading
		}
	})
	return term
}
