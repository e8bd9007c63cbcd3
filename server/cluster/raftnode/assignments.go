package raftnode

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/server/internal/clock"
)

// ProposeAssignment proposes slots in place of those that the group has. It waits for no commit.
// The change is one of no member, which raft passes on and otherwise ignores.
func (d *Driver) ProposeAssignment(c topology.Assignment) error {
	if _, err := d.mayChange(); err != nil {
		return fmt.Errorf("change the slots of the group: %w", err)
	}
	return d.proposeChange(raftpb.ConfChangeTransitionAuto, string(c.Encode()), single(raftpb.ConfChangeUpdateNode, raft.None))
}

// changePause is how long a leader waits before it proposes a change again that another one is in the way of.
const changePause = 50 * time.Millisecond

// Agree changes the assignment of the group, and returns when the group has agreed. proposed reports whether the change may be made
// although there is an error.
func (r *Runner) Agree(ctx context.Context, c topology.Change) (proposed bool, err error) {
	wait := ctx
	if c.Patient {
		wait = context.WithoutCancel(ctx)
	}
	for {
		err = r.change(wait, func(d *Driver) error {
			term := uint64(0)
			if d.leads() {
				term = d.leading
			}
			want, err := c.Next(term, d.Members().Assignment)
			if err == nil {
				err = d.ProposeAssignment(want)
			}
			proposed = err == nil
			return err
		}, func(m *Members) bool { return c.Done(m.Assignment) })
		if err == nil || proposed || !c.Patient || !errors.Is(err, ErrChanging) {
			return proposed, err
		}
		if clock.Rest(ctx, r.config.Clock, changePause) != nil {
			return false, err
		}
	}
}

// Leading returns the term in which this member leads its group, 0 if it does not.
func (r *Runner) Leading() (term uint64) {
	r.ask(func() {
		if r.driver.leads() {
			term = r.driver.leading
		}
	})
	return term
}
