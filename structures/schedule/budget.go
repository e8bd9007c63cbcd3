package schedule

import (
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

func (s *Schedule) setBudget(b float64) {
	s.config.Budget = b
	s.purse = scheduler.Purse{Budget: b, Left: min(s.purse.Left, b), Step: max(s.purse.Step, s.clock.step)}
	s.version = versionSignals
}

// Pay says what the probe of a leased node has cost: the difference to the cost of the
// node goes to the purse, and a cost that is learnt is learnt. To be called before
// Observe. Errors: ErrNotCreated, ErrPrice, ErrNoNode, ErrNotLeased.
func (s *Schedule) Pay(ch *structures.Change, node []byte, cost float64, nowMillis int64) error {
	if scheduler.CheckNumber(cost) != nil {
		return ErrPrice
	}
	slot, now, err := s.leased(node, nowMillis)
	if err != nil {
		return err
	}
	if err := ch.Permit(opPay); err != nil {
		return err
	}
	cost += 0 // -0 becomes 0
	ch.Op(opPay, 3)
	ch.Uint(uint64(slot))
	ch.Uint(floatBits(cost))
	ch.Uint(uint64(now))
	s.paid(slot, cost, now)
	return nil
}

// MayPay returns the error of Pay for a change that may not have costs.
func MayPay(ch *structures.Change) error { return ch.Permit(opPay) }

func (s *Schedule) paid(slot int, cost float64, now int64) {
	s.later(now)
	n := &s.node
	s.table.Load(slot, n)
	s.purse.Pay(cost - n.Cost)
	n.Pay(cost)
	s.table.Store(slot, n)
	s.plan.policy.Touch(slot)
	s.changed.touch(slot)
}
