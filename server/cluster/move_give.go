package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/vigildb/vigil/structures/slots"
)

const (
	// movePause is how long a leader waits before it asks another one again.
	movePause = 50 * time.Millisecond
	// lookAtMoves is how often a leader looks at moves whose other leader is to be heard.
	lookAtMoves = 200 * time.Millisecond
	// takePatience is how long GiveSlots waits until the other group has slots that are given away.
	takePatience = time.Second
)

// moves is what the leader of a group does about slots that leave or come.
type moves struct {
	// arrivals is held while keys or slots are taken: none of an attempt come when its slots have.
	arrivals turn

	mu       sync.Mutex
	leaving  *leaving          // the move that this leader makes; guarded by mu
	still    time.Duration     // by Now: until then none begins; guarded by mu
	emptied  map[uint64]uint64 // attempts before whose keys old ones were removed, to the term in which that was; guarded by mu
	emptying map[uint64]bool   // guarded by mu
}

// leaving is a move of slots to another group, at the leader that makes it.
type leaving struct {
	Move
	term uint64
}

var (
	errNotOwn     = errors.New("cluster: the group does not have all of the slots")
	errOtherMove  = errors.New("cluster: the group is about to move other slots")
	errManyMoves  = errors.New("cluster: too many moves wait for other groups")
	errMoveEnded  = errors.New("cluster: the move has ended")
	errNoSuchMove = errors.New("cluster: no such move is expected")
)

// OrderMove has the leader of another group move slots of that to a third one, or to this server's. Clients know both
// by their IDs. It returns when that has begun.
func (n *Node) OrderMove(ctx context.Context, from, to string, of *slots.Set) error {
	return n.asked(func(*Runner) error {
		if n.others == nil {
			return errNoCluster
		}
		if to == GroupPublicID(n.config.Secret, n.Name()) {
			to = n.Name()
		} else if name, err := n.others.group(to); err == nil {
			to = name
		} else {
			return err
		}
		name, err := n.others.group(from)
		if err == nil {
			_, err = n.others.askMove(ctx, name, &moveRequest{What: asksMoveOff, To: to, Slots: of.String()})
		}
		return err
	})
}

// BeginMove has the group that clients know by an ID expect the keys of slots, which this server's group has and this
// server leads. It returns a number for this attempt, to which EndMove belongs, and how many databases the other group has. There
// is one at a time.
func (n *Node) BeginMove(ctx context.Context, to string, of *slots.Set) (attempt uint64, databases int, err error) {
	err = n.asked(func(r *Runner) error {
		if n.others == nil {
			return errNoCluster
		}
		attempt, databases, err = n.others.begin(ctx, r, to, of)
		return err
	})
	return attempt, databases, err
}

func (o *others) begin(ctx context.Context, r *Runner, to string, of *slots.Set) (attempt uint64, databases int, err error) {
	name, err := o.group(to)
	if err != nil {
		return 0, 0, err
	}
	l := &leaving{Move: Move{Attempt: rand.Uint64() | 1, Group: name, Slots: of}, term: r.Leading()}
	if l.term == 0 {
		return 0, 0, ErrNotLeading
	}
	if err := o.mayGive(o.n.roster(), l); err != nil {
		return 0, 0, err
	}
	if err := o.leave(ctx, l); err != nil {
		return 0, 0, err
	}
	a, err := o.insistMove(ctx, name, &moveRequest{What: asksExpect, Attempt: l.Attempt, Slots: of.String()})
	if err != nil {
		o.endMove(l.Attempt)
		return 0, 0, fmt.Errorf("%s does not expect the slots: %w", o.label(name), err)
	}
	return l.Attempt, max(1, a.Databases), nil
}

// leave notes a move that this leader is about to make, once moves may begin.
func (o *others) leave(ctx context.Context, l *leaving) error {
	for {
		still, err := o.tryLeave(l)
		if still <= 0 {
			return err
		}
		select {
		case <-time.After(still): // and perhaps longer by then
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-o.n.ctx.Done():
			return ErrStopped
		}
	}
}

// tryLeave notes a move, unless it has to wait: for as long as still says.
func (o *others) tryLeave(l *leaving) (still time.Duration, err error) {
	m := &o.moves
	m.mu.Lock()
	defer m.mu.Unlock()
	if still = m.still - o.n.monotonic(); still > 0 {
		return still, nil
	}
	if m.leaving != nil {
		return 0, errOtherMove
	}
	m.leaving = l
	return 0, nil
}

// group returns the name of another group that clients know by an ID.
func (o *others) group(id string) (string, error) {
	for _, g := range o.division.Load().Others {
		if GroupPublicID(o.n.config.Secret, g.Name) == id {
			return g.Name, nil
		}
	}
	return "", fmt.Errorf("cluster: no other group has the ID %s", id)
}

func (o *others) mayGive(m *Members, l *leaving) error {
	switch {
	case l.Slots.Without(m.Slots).Len() > 0, l.Slots.Without(o.division.Load().Slots).Len() > 0:
		return errNotOwn
	case len(m.Given) >= maxMoves:
		return errManyMoves
	case o.lies(l.Group):
		return errLies
	}
	return nil
}

// leaves returns the move that this leader makes if it has the number.
func (o *others) leaves(attempt uint64) *leaving {
	m := &o.moves
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leaving == nil || m.leaving.Attempt != attempt {
		return nil
	}
	return m.leaving
}

func (o *others) endMove(attempt uint64) {
	m := &o.moves
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leaving != nil && m.leaving.Attempt == attempt {
		m.leaving = nil
	}
}

// SendKeys has the other group take keys, and returns when they are in its log. After an error, with which they may be there or
// not, the attempt is of no use any more: keys that are sent again could come behind later ones.
func (n *Node) SendKeys(ctx context.Context, attempt uint64, keys []byte) error {
	return n.asked(func(r *Runner) error {
		if n.others == nil {
			return errNoCluster
		}
		l := n.others.leaves(attempt)
		if l == nil || r.Leading() != l.term {
			return errMoveEnded
		}
		if err := n.others.sendKeys(ctx, l.Group, attempt, keys); planted != lostFrame {
			return err
		}
		return nil
	})
}

// GiveSlots gives the slots of an attempt away, whose keys have all been sent and must not change any more. It returns
// when the group has agreed on that, and the other one has the slots, unless that takes a while. With an error
// the slots are still this group's if decided says so. Otherwise the outcome is not known before this
// leadership ends, and keys must not change until then.
func (n *Node) GiveSlots(ctx context.Context, attempt uint64) (decided bool, err error) {
	decided = true
	err = n.asked(func(r *Runner) error {
		if n.others == nil {
			return errNoCluster
		}
		decided, err = n.others.give(ctx, r, attempt)
		return err
	})
	return decided, err
}

func (o *others) give(ctx context.Context, r *Runner, attempt uint64) (decided bool, err error) {
	l := o.leaves(attempt)
	if l == nil {
		return true, errMoveEnded
	}
	if _, err := o.insistMove(ctx, l.Group, &moveRequest{What: asksComplete, Attempt: attempt}); err != nil {
		return true, err
	}
	proposed, err := r.reclaim(ctx, func(d *Driver, m *Members) (Claim, error) {
		if !d.leads() || d.leading != l.term {
			return Claim{}, ErrNotLeading
		}
		if err := o.mayGive(m, l); err != nil {
			return Claim{}, err
		}
		return m.gives(l.Move), nil
	}, func(m *Members) bool { return moveOf(m.Given, attempt) != nil })
	if err != nil {
		return !proposed, err
	}
	o.tell()
	late, cancel := context.WithTimeout(o.n.ctx, takePatience)
	defer cancel()
	if err := o.deliver(late, r, l.Move); err != nil {
		o.n.config.Logf(LogNotice, "the slots %s were given to %s, which has not taken them yet: %v", l.Slots, o.label(l.Group), err)
	}
	return true, nil
}

// EndMove ends an attempt, which changes nothing unless the slots were given away.
func (n *Node) EndMove(attempt uint64) {
	if n.others != nil {
		n.others.endMove(attempt)
	}
}

// deliver has the other group take slots that were given to it.
func (o *others) deliver(ctx context.Context, r *Runner, m Move) error {
	a, err := o.insistMove(ctx, m.Group, &moveRequest{What: asksTake, Attempt: m.Attempt, Slots: m.Slots.String(), Letter: o.letter()})
	switch {
	case err != nil:
		return err
	case a.State != attemptTaken:
		return fmt.Errorf("cluster: %s knows nothing of slots %s, which it was given: %s", o.label(m.Group), m.Slots, a.State)
	}
	return nil
}

// attempt says how one of this group's attempts is, which the group that gets the slots asks. That it is unknown is
// said only when it will be so for ever: the first of the questions must come first, as an attempt
// that runs may give the slots away before it ends. A group that lies buried is not told of slots that were given to it: they
// are about to come back.
func (o *others) attempt(r *Runner, from string, attempt uint64) (string, error) {
	if o.leaves(attempt) != nil {
		return attemptRuns, nil
	}
	if !r.Held() {
		return "", ErrNotLeading
	}
	switch given := moveOf(o.n.roster().Given, attempt); {
	case given == nil:
	case o.lies(from):
		return "", retryable{errLies}
	default:
		return attemptGiven, nil
	}
	return attemptUnknown, nil
}

// heardOf reports whether this server has heard that other groups have the slots of a move. Before that what the own
// group says of it must not go, which this server tells the others: for a moment they would believe that no group had them.
func (o *others) heardOf(m Move) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := *o.own
	own.Claim.Given = withoutMove(own.Claim.Given, m.Attempt)
	t := maps.Clone(o.table)
	t[o.name] = &own
	_, _, taken := t.divide()
	return m.Slots.Without(taken).Len() == 0
}

// finish goes on with slots that were given away: when the other group has them their keys go.
func (o *others) finish(ctx context.Context, r *Runner, m Move) error {
	switch lost := o.lies(m.Group); {
	case lost && !o.tookBefore(m):
		return o.takeBack(ctx, r, m)
	case lost:
	default:
		late, cancel := context.WithTimeout(ctx, exchangeTimeout)
		defer cancel()
		if err := o.deliver(late, r, m); err != nil {
			return err
		}
		if !o.heardOf(m) {
			return nil // the letter that says so is under way: the next time
		}
	}
	allowed := func() bool {
		now := o.n.roster()
		return moveOf(now.Given, m.Attempt) != nil && now.Slots.Both(m.Slots).Len() == 0
	}
	if err := o.removeKeys(ctx, m, allowed, leftKeys); err != nil {
		return err
	}
	_, err := r.reclaim(ctx, func(_ *Driver, now *Members) (Claim, error) {
		c := now.Claim
		c.Given = withoutMove(c.Given, m.Attempt)
		return c, nil
	}, func(now *Members) bool { return moveOf(now.Given, m.Attempt) == nil })
	return err
}
