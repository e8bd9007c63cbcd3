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

// expect has this group expect keys of slots: its log says so, and keys of these slots that are there from
// earlier are removed. It is retryable while that takes its time.
func (o *others) expect(ctx context.Context, r *raftnode.Runner, want topology.Move) error {
	have := o.n.roster()
	switch m := topology.MoveOf(have.Taking, want.Attempt); {
	case m != nil && m.State == topology.MoveOpen:
		return o.empty(r, *m)
	case m != nil:
		return errNoSuchMove
	case o.heldStill():
		return retryable{errHeldStill}
	}
	_, err := r.Reclaim(ctx, func(_ *raftnode.Driver, m *raftnode.Members) (topology.Claim, error) {
		if topology.MoveOf(m.Taking, want.Attempt) != nil {
			return m.Claim, nil
		}
		if err := o.mayHaveSome(m); err != nil {
			return topology.Claim{}, err
		}
		if o.Lies(o.n.Name()) {
			return topology.Claim{}, topology.ErrLies
		}
		switch busy := topology.SlotsOf(m.Taking).Union(topology.SlotsOf(m.Given)); {
		case busy.Both(want.Slots).Len() > 0, len(m.Taking) >= topology.MaxMoves:
			return topology.Claim{}, retryable{errBusyHere}
		case m.Slots.Both(want.Slots).Len() > 0:
			return topology.Claim{}, ErrSlotsTaken
		}
		c := m.Claim
		c.Taking = topology.WithMove(c.Taking, want)
		return c, nil
	}, func(m *raftnode.Members) bool { return topology.MoveOf(m.Taking, want.Attempt) != nil })
	if err != nil {
		return err
	}
	return o.empty(r, want)
}

// empty removes the keys of the slots of a move which are here before any of them comes. It is done with in the background.
func (o *others) empty(r *raftnode.Runner, m topology.Move) error {
	ends, term := r.Ends(), r.Leading()
	s := &o.moves
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case term == 0:
		return raftnode.ErrNotLeading
	case s.emptied[m.Attempt] == term:
		return nil
	case s.emptying[m.Attempt]:
		return retryable{errBusyHere}
	}
	if s.emptying == nil {
		s.emptying, s.emptied = map[uint64]bool{}, map[uint64]uint64{}
	}
	s.emptying[m.Attempt] = true
	o.n.tasks.Go(func() { // ends with the context of the node
		// A leader in between may have emptied them too, and keys have come since.
		err := o.n.server.RemoveKeys(o.n.ctx, m.Slots, func() bool { return o.open(m.Attempt) && r.Ends() == ends })
		s.mu.Lock()
		defer s.mu.Unlock()
		if delete(s.emptying, m.Attempt); err == nil {
			s.emptied[m.Attempt] = term
		}
		for attempt := range s.emptied {
			if topology.MoveOf(o.n.roster().Taking, attempt) == nil {
				delete(s.emptied, attempt)
			}
		}
	})
	return retryable{errBusyHere}
}

// open reports whether keys of an attempt may come.
func (o *others) open(attempt uint64) bool {
	m := topology.MoveOf(o.n.roster().Taking, attempt)
	return m != nil && m.State == topology.MoveOpen
}

// keysCome takes keys in. The server asks again under the locks of the keys whether they are expected: between two
// leaderships of this member another one may have ended the move.
func (o *others) keysCome(ctx context.Context, from string, attempt uint64, keys []byte) error {
	if err := o.moves.arrivals.take(ctx); err != nil {
		return err
	}
	defer o.moves.arrivals.leave()
	if m := topology.MoveOf(o.n.roster().Taking, attempt); m == nil || m.Group != from {
		return errNoSuchMove
	}
	return o.n.server.TakeKeys(keys, func() bool { return o.open(attempt) })
}

// complete has the log say that all keys of an attempt are in it.
func (o *others) complete(ctx context.Context, r *raftnode.Runner, from string, attempt uint64) error {
	if err := o.moves.arrivals.take(ctx); err != nil {
		return err
	}
	defer o.moves.arrivals.leave()
	switch m := topology.MoveOf(o.n.roster().Taking, attempt); {
	case m == nil || m.Group != from || m.State == topology.MoveVoid:
		return errNoSuchMove
	case m.State == topology.MoveComplete:
		return nil
	}
	_, err := r.Reclaim(ctx, func(_ *raftnode.Driver, m *raftnode.Members) (topology.Claim, error) {
		return o.become(m, attempt, topology.MoveOpen, topology.MoveComplete)
	},
		func(m *raftnode.Members) bool {
			now := topology.MoveOf(m.Taking, attempt)
			return now != nil && now.State == topology.MoveComplete
		})
	return err
}

// become returns the claim with another state of a move that has one now.
func (o *others) become(m *raftnode.Members, attempt uint64, from, to topology.MoveState) (topology.Claim, error) {
	now := topology.MoveOf(m.Taking, attempt)
	if now == nil || now.State != from {
		return topology.Claim{}, errNoSuchMove
	}
	next, c := *now, m.Claim
	next.State = to
	c.Taking = topology.WithMove(c.Taking, next)
	return c, nil
}

// takeGiven takes slots that the other group says it has given away: such a thing is never taken back.
func (o *others) takeGiven(ctx context.Context, r *raftnode.Runner, q *moveRequest) (string, error) {
	m := topology.MoveOf(o.n.roster().Taking, q.Attempt)
	if m != nil && m.Group != q.Group {
		return "", errNoSuchMove
	}
	if m != nil {
		if err := o.claim(ctx, r, q.Attempt); err != nil {
			return "", err
		}
	}
	of, err := slots.Parse(q.Slots)
	switch now := o.n.roster(); {
	case err != nil:
		return "", topology.ErrDecode
	case !r.Held():
		return "", raftnode.ErrNotLeading
	case topology.MoveOf(now.Taking, q.Attempt) != nil:
		return "", retryable{errBusyHere}
	case m != nil, of.Without(now.Slots).Len() == 0, of.Without(o.elsewhere(q.Group).Union(now.Slots)).Len() == 0:
		return attemptTaken, nil
	}
	return attemptUnknown, nil
}

// elsewhere returns the slots that are with other groups than one, or on their way there: what this group has taken it may
// have given on.
func (o *others) elsewhere(but string) *slots.Set {
	of := topology.SlotsOf(o.n.roster().Given)
	for _, g := range o.Division().Others {
		if g.Name != but {
			of = of.Union(g.Slots)
		}
	}
	return of
}

// claim takes the slots of a complete move, which the other group has given away.
func (o *others) claim(ctx context.Context, r *raftnode.Runner, attempt uint64) error {
	if err := o.moves.arrivals.take(ctx); err != nil {
		return err
	}
	defer o.moves.arrivals.leave()
	if topology.MoveOf(o.n.roster().Taking, attempt) == nil {
		return nil
	}
	var got topology.Move
	_, err := r.Reclaim(ctx, func(_ *raftnode.Driver, m *raftnode.Members) (topology.Claim, error) {
		now := topology.MoveOf(m.Taking, attempt)
		if now == nil {
			return m.Claim, nil
		}
		if o.Lies(o.n.Name()) && !o.Lies(now.Group) { // which takes them back
			return topology.Claim{}, retryable{topology.ErrSelfLies}
		}
		if now.State != topology.MoveComplete {
			return topology.Claim{}, fmt.Errorf("cluster: slots %s were given away, and their keys are not here: %w", now.Slots, errNoSuchMove)
		}
		for _, g := range o.Division().Others {
			if taken := g.Slots.Both(now.Slots); taken.Len() > 0 {
				return topology.Claim{}, retryable{fmt.Errorf("%s of %s: %w", taken, topology.GroupLabel(o.n.config.Secret, g.Name, g.Group), ErrSlotsTaken)}
			}
		}
		got = *now
		return m.Takes(now, wallClock()), nil
	}, func(m *raftnode.Members) bool { return topology.MoveOf(m.Taking, attempt) == nil })
	if err != nil {
		return err
	}
	o.Tell()
	if got.Slots != nil {
		o.n.config.Logf(logs.Notice, "the group has the slots %s with their keys, which were those of %s", got.Slots, o.Label(got.Group))
	}
	return nil
}

// settle goes on with slots that come, as the leader of the group that has them says. If it says that the attempt has
// ended, the keys that have come are removed.
func (o *others) settle(ctx context.Context, r *raftnode.Runner, m topology.Move) error {
	if m.State != topology.MoveVoid {
		over, err := o.ended(ctx, r, m)
		if err != nil || !over {
			return err
		}
		if _, err := r.Reclaim(ctx, func(_ *raftnode.Driver, now *raftnode.Members) (topology.Claim, error) {
			return o.become(now, m.Attempt, m.State, topology.MoveVoid)
		},
			func(now *raftnode.Members) bool {
				m := topology.MoveOf(now.Taking, m.Attempt)
				return m == nil || m.State == topology.MoveVoid
			}); err != nil {
			return err
		}
	}
	allowed := func() bool {
		now := o.n.roster()
		left := topology.MoveOf(now.Taking, m.Attempt)
		return left != nil && left.State == topology.MoveVoid && now.Slots.Both(m.Slots).Len() == 0
	}
	if err := o.removeKeys(ctx, m, allowed, voidKeys); err != nil {
		return err
	}
	_, err := r.Reclaim(ctx, func(_ *raftnode.Driver, now *raftnode.Members) (topology.Claim, error) {
		c := now.Claim
		c.Taking = topology.WithoutMove(c.Taking, m.Attempt)
		return c, nil
	}, func(now *raftnode.Members) bool { return topology.MoveOf(now.Taking, m.Attempt) == nil })
	return err
}

// removeKeys removes the keys of a move while allowed says so, unless a bug is planted that leaves them.
func (o *others) removeKeys(ctx context.Context, m topology.Move, allowed func() bool, left mutant) error {
	if planted == left {
		return nil
	}
	return o.n.server.RemoveKeys(ctx, m.Slots, allowed)
}

// ended reports whether the keys of a move that have come are of no use, and takes its slots if they were given. Of a group that lies
// buried nobody knows more than is here: slots whose keys have all come are taken, unless another group has
// some of them, and others are not.
func (o *others) ended(ctx context.Context, r *raftnode.Runner, m topology.Move) (bool, error) {
	if o.Lies(m.Group) {
		if m.State == topology.MoveOpen {
			return true, nil
		}
		err := o.claim(ctx, r, m.Attempt)
		if errors.Is(err, ErrSlotsTaken) {
			return true, nil
		}
		return false, err
	}
	late, cancel := context.WithTimeout(ctx, topology.ExchangeTimeout)
	defer cancel()
	a, err := o.askMove(late, m.Group, &moveRequest{What: asksHow, Attempt: m.Attempt})
	if err != nil {
		return false, err
	}
	if a.State == attemptGiven {
		if err := o.Take(a.Letter); err != nil {
			return false, err
		}
		return false, o.claim(ctx, r, m.Attempt)
	}
	return a.State == attemptUnknown, nil
}

// goOn goes on with all moves that are in the log of the group, while this server leads it.
func (o *others) goOn() {
	tick := time.NewTicker(lookAtMoves)
	defer tick.Stop()
	for {
		select {
		case <-o.n.ctx.Done():
			return
		case <-tick.C:
		}
		r, m := o.n.runner.Load(), o.n.roster()
		if !m.Moving() || !r.Seen().Leads {
			continue
		}
		for _, comes := range m.Taking {
			o.report("slots "+comes.Slots.String()+" do not come", o.settle(o.n.ctx, r, comes))
		}
		for _, gone := range m.Given {
			o.report("slots "+gone.Slots.String()+" are still given away", o.finish(o.n.ctx, r, gone))
		}
	}
}

// report logs what keeps a move from going on, once a minute.
func (o *others) report(what string, err error) {
	if err != nil && o.n.ctx.Err() == nil && o.n.said.Due(what+err.Error(), o.n.monotonic()) {
		o.n.config.Logf(logs.Notice, "%s: %v", what, err)
	}
}

// Passing returns the slots that are on their way: those that other groups have given to this server's, which has not
// taken them yet; those whose keys may come, or have come; and those that it has given away, whose keys may still be
// here. All are nil in the usual case that there are none.
func (s *Seat) Passing() (arriving, expected, left *slots.Set) {
	n := s.Node()
	if n.others == nil || n.runner.Load() == nil {
		return nil, nil, nil
	}
	if d := n.others.Division(); d.Arriving.Len() > 0 {
		arriving = d.Arriving
	}
	if m := n.roster(); m.Moving() {
		expected, left = topology.SlotsOf(m.Taking), topology.SlotsOf(m.Given)
	}
	return arriving, expected, left
}
