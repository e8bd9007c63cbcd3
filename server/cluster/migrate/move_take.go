package migrate

import (
	"context"
	"errors"
	"fmt"

	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/server/internal/clock"
	"github.com/vigildb/vigil/structures/slots"
)

// expect prepares this group for keys of slots: its log says that they come, and earlier keys of these slots are removed.
// Its error is retryable until that is done.
func (o *Slots) expect(ctx context.Context, want topology.Move) error {
	have := o.now()
	switch m := topology.MoveOf(have.Taking, want.Attempt); {
	case m != nil && m.State == topology.MoveOpen:
		return o.empty(*m)
	case m != nil:
		return errNoSuchMove
	case o.heldStill():
		return retryable{errHeldStill}
	}
	err := o.agree(ctx, func(m topology.Assignment) (topology.Assignment, error) {
		if topology.MoveOf(m.Taking, want.Attempt) != nil {
			return m, nil
		}
		if err := o.mayHaveSome(m); err != nil {
			return topology.Assignment{}, err
		}
		if o.cluster.Removed(o.cluster.Name()) {
			return topology.Assignment{}, topology.ErrRemoved
		}
		switch busy := topology.SlotsOf(m.Taking).Union(topology.SlotsOf(m.Given)); {
		case busy.Both(want.Slots).Len() > 0, len(m.Taking) >= topology.MaxMoves:
			return topology.Assignment{}, retryable{errBusyHere}
		case m.Slots.Both(want.Slots).Len() > 0:
			return topology.Assignment{}, ErrSlotsTaken
		}
		c := m
		c.Taking = topology.WithMove(c.Taking, want)
		return c, nil
	}, func(m topology.Assignment) bool { return topology.MoveOf(m.Taking, want.Attempt) != nil })
	if err != nil {
		return err
	}
	return o.empty(want)
}

// empty removes the keys of the slots of a move which are here before any of them comes. It is done with in the background.
func (o *Slots) empty(m topology.Move) error {
	ends, term := o.ends(), o.opts.Group.Leading()
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case term == 0:
		return raftnode.ErrNotLeading
	case o.emptied[m.Attempt] == term:
		return nil
	case o.emptying[m.Attempt]:
		return retryable{errBusyHere}
	}
	if o.emptying == nil {
		o.emptying, o.emptied = map[uint64]bool{}, map[uint64]uint64{}
	}
	o.emptying[m.Attempt] = true
	o.opts.Go(func() { // ends with the context of the node
		// A leader in between may have emptied them too, and keys have come since.
		err := o.opts.RemoveKeys(o.opts.Done, m.Slots, func() bool { return o.open(m.Attempt) && o.ends() == ends })
		o.mu.Lock()
		defer o.mu.Unlock()
		if delete(o.emptying, m.Attempt); err == nil {
			o.emptied[m.Attempt] = term
		}
		for attempt := range o.emptied {
			if topology.MoveOf(o.now().Taking, attempt) == nil {
				delete(o.emptied, attempt)
			}
		}
	})
	return retryable{errBusyHere}
}

// open reports whether keys of an attempt may come.
func (o *Slots) open(attempt uint64) bool {
	m := topology.MoveOf(o.now().Taking, attempt)
	return m != nil && m.State == topology.MoveOpen
}

// keysCome takes keys in. The server asks again under the locks of the keys whether they are expected: between two
// leaderships of this member another one may have ended the move.
func (o *Slots) keysCome(ctx context.Context, from string, attempt uint64, keys []byte) error {
	if err := o.importing.Take(ctx); err != nil {
		return err
	}
	defer o.importing.Leave()
	if m := topology.MoveOf(o.now().Taking, attempt); m == nil || m.Group != from {
		return errNoSuchMove
	}
	return o.opts.TakeKeys(keys, func() bool { return o.open(attempt) })
}

// complete notes in the log that all keys of an attempt are in it.
func (o *Slots) complete(ctx context.Context, from string, attempt uint64) error {
	if err := o.importing.Take(ctx); err != nil {
		return err
	}
	defer o.importing.Leave()
	switch m := topology.MoveOf(o.now().Taking, attempt); {
	case m == nil || m.Group != from || m.State == topology.MoveVoid:
		return errNoSuchMove
	case m.State == topology.MoveComplete:
		return nil
	}
	err := o.agree(ctx, func(m topology.Assignment) (topology.Assignment, error) {
		return o.become(m, attempt, topology.MoveOpen, topology.MoveComplete)
	},
		func(m topology.Assignment) bool {
			now := topology.MoveOf(m.Taking, attempt)
			return now != nil && now.State == topology.MoveComplete
		})
	return err
}

// become returns the assignment with another state of a move that has one now.
func (o *Slots) become(m topology.Assignment, attempt uint64, from, to topology.MoveState) (topology.Assignment, error) {
	now := topology.MoveOf(m.Taking, attempt)
	if now == nil || now.State != from {
		return topology.Assignment{}, errNoSuchMove
	}
	next, c := *now, m
	next.State = to
	c.Taking = topology.WithMove(c.Taking, next)
	return c, nil
}

// takeGiven takes slots that the other group says it has given away: such a thing is never taken back.
func (o *Slots) takeGiven(ctx context.Context, q *moveRequest) (string, error) {
	m := topology.MoveOf(o.now().Taking, q.Attempt)
	if m != nil && m.Group != q.Group {
		return "", errNoSuchMove
	}
	if m != nil {
		if err := o.claim(ctx, q.Attempt); err != nil {
			return "", err
		}
	}
	of, err := slots.Parse(q.Slots)
	switch now := o.now(); {
	case err != nil:
		return "", topology.ErrDecode
	case !o.held():
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
func (o *Slots) elsewhere(but string) *slots.Set {
	of := topology.SlotsOf(o.now().Given)
	for _, g := range o.cluster.Division().Others {
		if g.Name != but {
			of = of.Union(g.Slots)
		}
	}
	return of
}

// claim takes the slots of a complete move, which the other group has given away.
func (o *Slots) claim(ctx context.Context, attempt uint64) error {
	if err := o.importing.Take(ctx); err != nil {
		return err
	}
	defer o.importing.Leave()
	if topology.MoveOf(o.now().Taking, attempt) == nil {
		return nil
	}
	var got topology.Move
	err := o.agree(ctx, func(m topology.Assignment) (topology.Assignment, error) {
		now := topology.MoveOf(m.Taking, attempt)
		if now == nil {
			return m, nil
		}
		if o.cluster.Removed(o.cluster.Name()) && !o.cluster.Removed(now.Group) { // which takes them back
			return topology.Assignment{}, retryable{topology.ErrSelfRemoved}
		}
		if now.State != topology.MoveComplete {
			return topology.Assignment{}, fmt.Errorf("cluster: slots %s were given away, and their keys are not here: %w", now.Slots, errNoSuchMove)
		}
		for _, g := range o.cluster.Division().Others {
			if taken := g.Slots.Both(now.Slots); taken.Len() > 0 {
				return topology.Assignment{}, retryable{fmt.Errorf("%s of %s: %w", taken, topology.GroupLabel(o.opts.Secret, g.Name, g.Group), ErrSlotsTaken)}
			}
		}
		got = *now
		return m.Takes(now, o.wall()), nil
	}, func(m topology.Assignment) bool { return topology.MoveOf(m.Taking, attempt) == nil })
	if err != nil {
		return err
	}
	o.cluster.Broadcast()
	if got.Slots != nil {
		o.opts.Logf(logs.Notice, "the group has the slots %s with their keys, which were those of %s", got.Slots, o.cluster.Label(got.Group))
	}
	return nil
}

// settle goes on with slots that come, as the leader of the group that has them says. If it says that the attempt has
// ended, the keys that have come are removed.
func (o *Slots) settle(ctx context.Context, m topology.Move) error {
	if m.State != topology.MoveVoid {
		over, err := o.ended(ctx, m)
		if err != nil || !over {
			return err
		}
		if err := o.agree(ctx, func(now topology.Assignment) (topology.Assignment, error) {
			return o.become(now, m.Attempt, m.State, topology.MoveVoid)
		},
			func(now topology.Assignment) bool {
				m := topology.MoveOf(now.Taking, m.Attempt)
				return m == nil || m.State == topology.MoveVoid
			}); err != nil {
			return err
		}
	}
	allowed := func() bool {
		now := o.now()
		left := topology.MoveOf(now.Taking, m.Attempt)
		return left != nil && left.State == topology.MoveVoid && now.Slots.Both(m.Slots).Len() == 0
	}
	if err := o.removeKeys(ctx, m, allowed, voidKeys); err != nil {
		return err
	}
	err := o.agree(ctx, func(now topology.Assignment) (topology.Assignment, error) {
		c := now
		c.Taking = topology.WithoutMove(c.Taking, m.Attempt)
		return c, nil
	}, func(now topology.Assignment) bool { return topology.MoveOf(now.Taking, m.Attempt) == nil })
	return err
}

// removeKeys removes the keys of a move while allowed says so, unless a bug is planted that leaves them.
func (o *Slots) removeKeys(ctx context.Context, m topology.Move, allowed func() bool, left mutant) error {
	if planted == left {
		return nil
	}
	return o.opts.RemoveKeys(ctx, m.Slots, allowed)
}

// ended reports whether the keys of a move that have come are of no use, and takes its slots if they were given. A removed
// group cannot be asked: its slots are taken if all their keys have come and no other group has some of them.
func (o *Slots) ended(ctx context.Context, m topology.Move) (bool, error) {
	if o.cluster.Removed(m.Group) {
		if m.State == topology.MoveOpen {
			return true, nil
		}
		err := o.claim(ctx, m.Attempt)
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
		if err := o.cluster.Take(a.Gossip); err != nil {
			return false, err
		}
		return false, o.claim(ctx, m.Attempt)
	}
	return a.State == attemptUnknown, nil
}

// Run goes on with all moves that are in the log of the group, while this server leads it.
func (o *Slots) Run() {
	for clock.Rest(o.opts.Done, o.opts.Clock, lookAtMoves) == nil {
		m := o.now()
		if !m.Moving() || !o.leads() {
			continue
		}
		for _, comes := range m.Taking {
			o.report("slots "+comes.Slots.String()+" do not come", o.settle(o.opts.Done, comes))
		}
		for _, gone := range m.Given {
			o.report("slots "+gone.Slots.String()+" are still given away", o.finish(o.opts.Done, gone))
		}
	}
}

// report logs what keeps a move from going on, once a minute.
func (o *Slots) report(what string, err error) {
	if err != nil && o.opts.Done.Err() == nil && o.opts.Due(what+err.Error()) {
		o.opts.Logf(logs.Notice, "%s: %v", what, err)
	}
}

// Passing returns the slots that are being moved: those that other groups have given to this server's, which has not
// taken them yet; those whose keys may come, or have come; and those that it has given away, whose keys may still be
// here. All are nil in the usual case that there are none.
func (o *Slots) Passing() (importing, expected, left *slots.Set) {
	if d := o.cluster.Division(); d.Importing.Len() > 0 {
		importing = d.Importing
	}
	if now := o.now(); now.Moving() {
		expected, left = topology.SlotsOf(now.Taking), topology.SlotsOf(now.Given)
	}
	return importing, expected, left
}
