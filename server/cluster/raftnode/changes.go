package raftnode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/topology"
)

// Errors of what a runner is asked for, beside those of the driver.
var (
	// ErrOutcome is returned when the leadership ends before a change is done: the next leader
	// makes it or not.
	ErrOutcome = errors.New("cluster: the leadership has ended, and the change may be made or not")
	// ErrUnreachable is returned for a change for which too few members are heard.
	ErrUnreachable = errors.New("cluster: too few of the other members are heard to agree")
	// ErrStillThere is returned for another address of a member that is heard.
	ErrStillThere = errors.New("cluster: the member is heard from its present address; the directory may be a copy of its directory")
	// ErrAddressTaken is returned for an address that another member has.
	ErrAddressTaken = errors.New("cluster: another member has the address")
	// ErrNotALearner is returned for a member that cannot be promoted.
	ErrNotALearner = errors.New("cluster: the member is no learner")
	// ErrFull is returned when there are as many voters as a group may have.
	ErrFull = fmt.Errorf("cluster: the group has %d voters, which is as many as it may have", topology.MaxMembers)
	// ErrEven is returned for a learner that would make the number of voters even.
	ErrEven = errors.New("cluster: an even number of voters stands no more losses than one less: the member waits for another one")
	// ErrNothingToRecover is returned by a member that waits for nothing that Recover ends.
	ErrNothingToRecover = errors.New("cluster: the member votes, or hears a leader: there is nothing to recover")
	// ErrGone is returned by a member that has left its group.
	ErrGone = errors.New("cluster: this server has left its group")
)

// roster is what changes of the members are waited for by.
type roster struct {
	members *Members
	changed chan struct{} // closed with the next change, or when the leadership or the member ends
}

// told notes that the members, or the leadership, have changed.
func (r *Runner) told(m *Members) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.toldLocked(m)
}

func (r *Runner) toldLocked(m *Members) {
	if r.roster.changed != nil {
		close(r.roster.changed)
	}
	r.roster = roster{members: m, changed: make(chan struct{})}
}

// Members returns the members as of the last entry that was applied.
func (r *Runner) Members() *Members {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.roster.members
}

// Settled returns the members at a leader that proposes no change of them now.
func (r *Runner) Settled() (m *Members, err error) {
	err = ErrStopped
	r.ask(func() { m, err = r.driver.mayChange() })
	return m, err
}

// Ends counts the ends of leaderships of this member.
func (r *Runner) Ends() uint64 { return r.ends.Load() }

// change proposes a change in a turn of the driver, and waits until it is done.
func (r *Runner) change(ctx context.Context, propose func(d *Driver) error, done func(m *Members) bool) error {
	err := ErrStopped
	r.ask(func() { err = propose(r.driver) })
	if err != nil {
		return err
	}
	for {
		r.mu.Lock()
		now, leads, ended := r.roster, r.leads, r.err
		r.mu.Unlock()
		switch {
		case done(now.members) && !now.members.Joint():
			return nil
		case ended != nil:
			return ended
		case !leads:
			return ErrOutcome
		}
		select {
		case <-now.changed:
		case <-ctx.Done():
			return fmt.Errorf("cluster: the change was proposed and waits for a majority of the members: %w", ctx.Err())
		}
	}
}

// Join takes a server at an address of clients in as a learner, and returns its id: the one that it
// asks for, or with 0 the next one that was never used. A server that asks again because it
// did not get the reply gets the same id. newest is the newest level that it knows.
func (r *Runner) Join(ctx context.Context, wish uint64, address string, newest uint64) (id uint64, err error) {
	if _, err := topology.BusOf(address); err != nil {
		return 0, fmt.Errorf("cluster: %w", err)
	}
	err = r.change(ctx, func(d *Driver) error {
		m := d.Members()
		if err := d.admits(newest); err != nil {
			return err
		}
		if id = r.at(m, address); id != 0 {
			return r.again(d, id, wish)
		}
		if id = wish; id == 0 {
			id = 1 + slices.Max(append(append(m.IDs(), m.Left...), 0))
		}
		if len(m.IDs()) >= 2*topology.MaxMembers {
			return ErrFull
		}
		return d.Join(id, address)
	}, func(m *Members) bool { return slices.Contains(m.IDs(), id) })
	return id, err
}

// again reports whether the server at the address of a member may become that member once more:
// it has nothing yet, and its id is only a learner's.
func (r *Runner) again(d *Driver, id, wish uint64) error {
	s := d.node.Status()
	p, known := s.Progress[id]
	if d.leads() && known && p.IsLearner && p.Match == 0 && (wish == 0 || wish == id) {
		return nil
	}
	if !d.leads() {
		return ErrNotLeading
	}
	return fmt.Errorf("member %d has the address; remove it first if its data is lost: %w", id, ErrAddressTaken)
}

// at returns the member that has an address, 0 if none has.
func (r *Runner) at(m *Members, address string) uint64 {
	for _, id := range m.IDs() {
		if r.config.Address(m, id) == address {
			return id
		}
	}
	return 0
}

// Move notes that a member, which is not heard at present, is reached at another address.
func (r *Runner) Move(ctx context.Context, id uint64, address string) error {
	if _, err := topology.BusOf(address); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return r.change(ctx, func(d *Driver) error {
		m := d.Members()
		other := r.at(m, address)
		switch {
		case slices.Contains(m.Left, id):
			return ErrGone
		case other == id && m.Addresses[id] == address:
			return nil
		case other != 0 && other != id:
			return fmt.Errorf("member %d is not at %s, where member %d is: directories of members may have been swapped: %w", id, address, other, ErrAddressTaken)
		case other == 0 && d.leads() && d.active(id):
			return fmt.Errorf("member %d is at %s: %w", id, r.config.Address(m, id), ErrStillThere)
		}
		return d.Move(id, address)
	}, func(m *Members) bool { return m.Addresses[id] == address })
}

// Promote makes a learner a voter, in place of another one unless replaces is 0 or no voter. It is
// nothing for a voter. With RunnerConfig.Odd one that would make the voters even in number waits for another
// learner, and both vote at the same time.
func (r *Runner) Promote(ctx context.Context, id, replaces uint64) error {
	done := func(m *Members) bool {
		return m.Voter(id) && (replaces == 0 || !slices.Contains(m.IDs(), replaces))
	}
	return r.change(ctx, func(d *Driver) error {
		m := d.Members()
		if !m.Voter(replaces) {
			replaces = 0
		}
		odd := len(m.Conf.GetVoters())%2 == 1
		switch {
		case d.leads() && done(m) && !m.Joint():
			return nil
		case d.leads() && m.Voter(id):
			return r.leave(d, replaces, false)
		case d.leads() && replaces == 0 && len(m.Conf.GetVoters()) >= topology.MaxMembers:
			return ErrFull
		case d.leads() && !d.agree(replaces, id):
			return ErrUnreachable
		case replaces != 0:
			return d.Replace(id, replaces)
		case d.leads() && odd && r.config.Odd:
			return r.promoteTwo(d, id)
		}
		return d.Promote(id)
	}, done)
}

// promoteTwo makes a learner and another one voters.
func (r *Runner) promoteTwo(d *Driver, id uint64) error {
	for _, other := range d.Members().Conf.GetLearners() {
		if other != id && d.follows(other) == nil {
			return d.Promote(id, other)
		}
	}
	return ErrEven
}

// Leave takes a member out of the group. A leader that is to leave hands over, with an error that
// is ErrHandsOver. Unless it is forced, the others that have to agree are heard.
func (r *Runner) Leave(ctx context.Context, id uint64, force bool) error {
	return r.change(ctx, func(d *Driver) error { return r.leave(d, id, force) },
		func(m *Members) bool { return !slices.Contains(m.IDs(), id) })
}

func (r *Runner) leave(d *Driver, id uint64, force bool) error {
	if m := d.Members(); !force && d.leads() && m.Voter(id) && id != d.ID && len(m.Conf.GetVoters()) > 1 && !d.agree(id, 0) {
		return ErrUnreachable
	}
	return d.Remove(id)
}

// agree reports whether enough voters are heard to agree on a change from the present voters to
// those without one and with another; 0 is none.
func (d *Driver) agree(without, with uint64) bool {
	majority := func(ids []uint64) bool {
		n := 0
		for _, id := range ids {
			if d.active(id) {
				n++
			}
		}
		return 2*n > len(ids)
	}
	now := d.Members().Conf.GetVoters()
	next := slices.DeleteFunc(slices.Clone(now), func(id uint64) bool { return id == without })
	if with != 0 {
		next = append(next, with)
	}
	return majority(now) && majority(next)
}

// Transfer begins to transfer the leadership to a voter that is heard. It does not wait.
func (r *Runner) Transfer(id uint64) (err error) {
	err = ErrStopped
	r.ask(func() {
		s := r.driver.node.Status()
		_, votes := s.Config.Voters[0][id]
		switch {
		case !r.driver.leads():
			err = ErrNotLeading
		case !votes:
			err = fmt.Errorf("member %d does not vote: %w", id, ErrUnknownMember)
		case !r.driver.active(id):
			err = fmt.Errorf("member %d is not heard: %w", id, ErrBehind)
		default:
			err = nil
			r.giveLater(func() { r.driver.Transfer(r.config.Now(), id) })
		}
	})
	return err
}

// Recover lets a member vote that does not because it may lack what it has acknowledged (R6). It
// returns the last entry that it has, and its term. If more than a minority of the members lack
// something, what they all lack is lost by this. patience is for how long it must not have heard a leader.
func (r *Runner) Recover(patience time.Duration) (last, term uint64, err error) {
	err = ErrStopped
	heard := r.Heard()
	r.ask(func() {
		if last, err = r.driver.Log.LastIndex(); err == nil {
			term, err = r.driver.Log.Term(last)
		}
		if err == nil && heard < patience {
			err = ErrNothingToRecover
		}
		if err == nil {
			err = r.driver.Recover()
		}
	})
	return last, term, err
}

// rosterChanged is called by the driver. Whoever waits for the change goes on when everybody goes by it: slots that were
// given away are not served any more.
func (r *Runner) rosterChanged(m *Members) {
	if r.config.Changed != nil {
		r.config.Changed(m)
	}
	r.told(m)
	r.watched.Store(true) // whoever has asked for the change looks at once
}

// agreeOnAddresses puts the address of a founder into the log, at a leader, where those of members
// that have joined are.
func (r *Runner) agreeOnAddresses() {
	d := r.driver
	if r.config.Told == nil {
		return
	}
	m, err := d.mayChange()
	if err != nil {
		return
	}
	for _, id := range m.IDs() {
		address := ""
		if m.Addresses[id] == "" {
			address = r.config.Told(id)
		}
		if address == "" || slices.ContainsFunc(m.IDs(), func(o uint64) bool { return m.Addresses[o] == address }) {
			continue
		}
		if err := d.Move(id, address); err != nil {
			r.config.Logf(logs.Info, "%v", err)
		}
		return // one change at a time
	}
}

// Transient reports whether the same request may be taken later.
func Transient(err error) bool {
	for _, e := range []error{ErrNotLeading, ErrChanging, ErrBehind, ErrHandsOver, ErrStopped, ErrOutcome, ErrUnreachable, ErrStillThere, ErrEven,
		context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
