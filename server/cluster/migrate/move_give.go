package migrate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/server/internal/clock"
	"github.com/vigildb/vigil/structures/slots"
)

const (
	// movePause is how long a leader waits before it asks another one again.
	movePause = 50 * time.Millisecond
	// lookAtMoves is how often a leader looks at moves whose other leader is to be heard.
	lookAtMoves = 200 * time.Millisecond
	// takePatience is how long Give waits until the other group has slots that are given away.
	takePatience = time.Second
)

// leaving is a move of slots to another group, at the leader that makes it.
type leaving struct {
	topology.Move
	term uint64
}

var (
	errNotOwn     = errors.New("cluster: the group does not have all of the slots")
	errOtherMove  = errors.New("cluster: the group is about to move other slots")
	errManyMoves  = errors.New("cluster: too many moves wait for other groups")
	errMoveEnded  = errors.New("cluster: the move has ended")
	errNoSuchMove = errors.New("cluster: no such move is expected")
)

// Order tells the leader of another group to move slots of that to a third one, or to this server's. Clients know both
// by their IDs. It returns when that has begun.
func (o *Slots) Order(ctx context.Context, from, to string, of *slots.Set) error {
	if to == topology.GroupPublicID(o.opts.Secret, o.cluster.Name()) {
		to = o.cluster.Name()
	} else if name, err := o.cluster.NameOf(to); err == nil {
		to = name
	} else {
		return err
	}
	name, err := o.cluster.NameOf(from)
	if err == nil {
		_, err = o.askMove(ctx, name, &moveRequest{What: asksMoveOff, To: to, Slots: of.String()})
	}
	return err
}

// Begin tells the group that clients know by an ID to expect the keys of slots, which this server's group has and this
// server leads. It returns a number for this attempt, to which End belongs, and how many databases the other group has. There is
// one at a time.
func (o *Slots) Begin(ctx context.Context, to string, of *slots.Set) (attempt uint64, databases int, err error) {
	name, err := o.cluster.NameOf(to)
	if err != nil {
		return 0, 0, err
	}
	l := &leaving{Move: topology.Move{Attempt: rand.Uint64() | 1, Group: name, Slots: of}, term: o.opts.Group.Leading()}
	if l.term == 0 {
		return 0, 0, raftnode.ErrNotLeading
	}
	if err := o.mayGive(o.now(), l); err != nil {
		return 0, 0, err
	}
	if err := o.leave(ctx, l); err != nil {
		return 0, 0, err
	}
	reply, err := o.insistMove(ctx, name, &moveRequest{What: asksExpect, Attempt: l.Attempt, Slots: of.String()})
	if err != nil {
		o.End(l.Attempt)
		return 0, 0, fmt.Errorf("%s does not expect the slots: %w", o.cluster.Label(name), err)
	}
	return l.Attempt, max(1, reply.Databases), nil
}

// leave notes a move that this leader is about to make, once moves may begin.
func (o *Slots) leave(ctx context.Context, l *leaving) error {
	for {
		still, err := o.tryLeave(l)
		if still <= 0 {
			return err
		}
		select {
		case <-clock.After(o.opts.Clock, still): // and perhaps longer by then
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-o.opts.Done.Done():
			return raftnode.ErrStopped
		}
	}
}

// tryLeave notes a move, unless it has to wait: for as long as still says.
func (o *Slots) tryLeave(l *leaving) (still time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if still = o.still - o.opts.Now(); still > 0 {
		return still, nil
	}
	if o.leaving != nil {
		return 0, errOtherMove
	}
	o.leaving = l
	return 0, nil
}

func (o *Slots) mayGive(m topology.Assignment, l *leaving) error {
	switch {
	case l.Slots.Without(m.Slots).Len() > 0, l.Slots.Without(o.cluster.Division().Slots).Len() > 0:
		return errNotOwn
	case len(m.Given) >= topology.MaxMoves:
		return errManyMoves
	case o.cluster.Removed(l.Group):
		return topology.ErrRemoved
	}
	return nil
}

// Send sends keys to the other group, and returns when they are in its log. After an error, with which they may be there or
// not, the attempt is over: keys that are sent again could come behind later ones.
func (o *Slots) Send(ctx context.Context, attempt uint64, keys []byte) error {
	l := o.leaves(attempt)
	if l == nil || o.opts.Group.Leading() != l.term {
		return errMoveEnded
	}
	if err := o.sendKeys(ctx, l.Group, attempt, keys); planted != lostFrame {
		return err
	}
	return nil
}

// leaves returns the move that this leader makes if it has the number.
func (o *Slots) leaves(attempt uint64) *leaving {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.leaving == nil || o.leaving.Attempt != attempt {
		return nil
	}
	return o.leaving
}

// End ends an attempt, which changes nothing unless the slots were given away.
func (o *Slots) End(attempt uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.leaving != nil && o.leaving.Attempt == attempt {
		o.leaving = nil
	}
}

// Give gives the slots of an attempt away, whose keys have all been sent and must not change any more. It returns
// when the group has agreed on that, and the other one has the slots, unless that takes a while. With an error
// the slots are still this group's if decided says so. Otherwise the outcome is not known before this
// leadership ends, and keys must not change until then.
func (o *Slots) Give(ctx context.Context, attempt uint64) (decided bool, err error) {
	l := o.leaves(attempt)
	if l == nil {
		return true, errMoveEnded
	}
	if _, err := o.insistMove(ctx, l.Group, &moveRequest{What: asksComplete, Attempt: attempt}); err != nil {
		return true, err
	}
	proposed, err := o.opts.Group.Agree(ctx, topology.Change{Patient: true, Next: func(term uint64, now topology.Assignment) (topology.Assignment, error) {
		if term != l.term {
			return topology.Assignment{}, raftnode.ErrNotLeading
		}
		if err := o.mayGive(now, l); err != nil {
			return topology.Assignment{}, err
		}
		return now.Gives(l.Move), nil
	}, Done: func(now topology.Assignment) bool { return topology.MoveOf(now.Given, attempt) != nil }})
	if err != nil {
		return !proposed, err
	}
	o.cluster.Broadcast()
	late, cancel := context.WithTimeout(o.opts.Done, takePatience)
	defer cancel()
	if err := o.deliver(late, l.Move); err != nil {
		o.opts.Logf(logs.Notice, "the slots %s were given to %s, which has not taken them yet: %v", l.Slots, o.cluster.Label(l.Group), err)
	}
	return true, nil
}

// deliver tells the other group to take slots that were given to it.
func (o *Slots) deliver(ctx context.Context, m topology.Move) error {
	a, err := o.insistMove(ctx, m.Group, &moveRequest{What: asksTake, Attempt: m.Attempt, Slots: m.Slots.String(), Gossip: o.cluster.Gossip()})
	switch {
	case err != nil:
		return err
	case a.State != attemptTaken:
		return fmt.Errorf("cluster: %s knows nothing of slots %s, which it was given: %s", o.cluster.Label(m.Group), m.Slots, a.State)
	}
	return nil
}

// attempt says how one of this group's attempts is, which the group that gets the slots asks. That it is unknown is
// said only when it will be so for ever: the first of the questions must come first, as an attempt
// that runs may give the slots away before it ends. A removed group is not told of slots that were given to it: they
// are about to come back.
func (o *Slots) attempt(from string, attempt uint64) (string, error) {
	if o.leaves(attempt) != nil {
		return attemptRuns, nil
	}
	if !o.held() {
		return "", raftnode.ErrNotLeading
	}
	switch given := topology.MoveOf(o.now().Given, attempt); {
	case given == nil:
	case o.cluster.Removed(from):
		return "", retryable{topology.ErrRemoved}
	default:
		return attemptGiven, nil
	}
	return attemptUnknown, nil
}

// finish goes on with slots that were given away: when the other group has them their keys go.
func (o *Slots) finish(ctx context.Context, m topology.Move) error {
	switch lost := o.cluster.Removed(m.Group); {
	case lost && !o.cluster.TookBefore(m):
		return o.takeBack(ctx, m)
	case lost:
	default:
		late, cancel := context.WithTimeout(ctx, topology.ExchangeTimeout)
		defer cancel()
		if err := o.deliver(late, m); err != nil {
			return err
		}
		if !o.cluster.HeardOf(m) {
			return nil // the message that says so is under way: the next time
		}
	}
	allowed := func() bool {
		now := o.now()
		return topology.MoveOf(now.Given, m.Attempt) != nil && now.Slots.Both(m.Slots).Len() == 0
	}
	if err := o.removeKeys(ctx, m, allowed, leftKeys); err != nil {
		return err
	}
	err := o.agree(ctx, func(now topology.Assignment) (topology.Assignment, error) {
		c := now
		c.Given = topology.WithoutMove(c.Given, m.Attempt)
		return c, nil
	}, func(now topology.Assignment) bool { return topology.MoveOf(now.Given, m.Attempt) == nil })
	return err
}
