package schedule

import (
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// Past is what was known of a node before it came into the schedule.
type Past struct {
	// Age is how many steps ago the last probe was, as the next Next sees it. -1: not
	// said.
	Age int64
	// Probes were completed and found Items. -1: not said. With them the rate of the
	// node is what they told, not a first guess.
	Probes int64
	Items  float64
}

// NoPast says nothing.
func NoPast() Past { return Past{Age: -1, Probes: -1} }

func (p *Past) empty() bool { return p.Age < 0 && p.Probes < 0 }

// CheckPast returns the error that SetPast of a node that is there would.
func (s *Schedule) CheckPast(ch *structures.Change, p Past) error {
	switch {
	case !s.plan.created():
		return ErrNotCreated
	case p.Age > scheduler.MaxStep:
		return scheduler.ErrMaxAge
	case p.Probes > scheduler.MaxStep || scheduler.CheckNumber(p.Items) != nil:
		return scheduler.ErrNumber
	case p.empty():
		return nil
	}
	return ch.Permit(opPast)
}

// SetPast tells what was known of a node, as after an import. Errors: ErrNotCreated,
// ErrNoNode, scheduler.ErrMaxAge, scheduler.ErrNumber.
func (s *Schedule) SetPast(ch *structures.Change, node []byte, p Past, nowMillis int64) error {
	if err := s.CheckPast(ch, p); err != nil || p.empty() {
		return err
	}
	slot, ok := s.slots.find(node)
	if !ok {
		return ErrNoNode
	}
	p.Items += 0 // -0 becomes 0
	now := s.clock.at(nowMillis)
	ch.Op(opPast, 5)
	ch.Uint(uint64(slot))
	ch.Uint(uint64(p.Age + 1))
	ch.Uint(uint64(p.Probes + 1))
	ch.Uint(floatBits(p.Items))
	ch.Uint(uint64(now))
	s.setPast(slot, p, now)
	return nil
}

func (s *Schedule) setPast(slot int, p Past, now int64) {
	s.later(now)
	n := &s.node
	s.table.Load(slot, n)
	if p.Age >= 0 {
		n.Last = s.clock.next(s.clock.now) - p.Age
	}
	if p.Probes >= 0 {
		n.Probes, n.Items = p.Probes, p.Items
		scheduler.Recall(n, s.plan.estimator)
	}
	s.table.Store(slot, n)
	s.plan.policy.Touch(slot)
	s.changed.touch(slot)
}
