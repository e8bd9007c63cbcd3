package schedule

import (
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// Alter changes the numbers of a configuration that may change: Probes, LeaseMillis,
// Explore and QuietMillis are those of c. Nodes, leases and what was learnt stay; the
// new numbers count from the next call on. Errors: ErrNotCreated, ErrCount, ErrLease,
// ErrExplore, ErrQuiet.
func (s *Schedule) Alter(ch *structures.Change, c Config) error {
	if !s.plan.created() {
		return ErrNotCreated
	}
	next := s.config
	next.Probes, next.LeaseMillis, next.Explore, next.QuietMillis = c.Probes, c.LeaseMillis, c.Explore+0, c.QuietMillis
	if err := next.checkNumbers(); err != nil {
		return err
	}
	if err := ch.Permit(opAlter); err != nil {
		return err
	}
	ch.Op(opAlter, 4)
	ch.Uint(uint64(next.Probes))
	ch.Uint(uint64(next.LeaseMillis))
	ch.Uint(floatBits(next.Explore))
	ch.Uint(uint64(next.QuietMillis))
	s.alter(next)
	return nil
}

func (s *Schedule) alter(next Config) {
	if next.Probes != s.config.Probes {
		s.table.Probes = next.Probes
		s.plan.attached = false // policies plan by it
	}
	if next.QuietMillis != 0 {
		s.version = versionSignals
	}
	s.config = next
}

// CheckBudget returns the error that AlterBudget would; a budget below 0 is none that is
// asked for.
func (s *Schedule) CheckBudget(ch *structures.Change, budget float64) error {
	next := s.config
	switch next.Budget = budget + 0; {
	case !s.plan.created():
		return ErrNotCreated
	case budget < 0:
		return nil
	case next.checkNumbers() != nil:
		return ErrBudget
	case budget > 0 && !s.plan.spec.Ranks:
		return ErrNoBudget
	}
	return ch.Permit(opBudget)
}

// AlterBudget changes the budget; 0 is none. Errors: ErrNotCreated, ErrBudget,
// ErrNoBudget.
func (s *Schedule) AlterBudget(ch *structures.Change, budget float64) error {
	if err := s.CheckBudget(ch, budget); err != nil {
		return err
	}
	ch.Op(opBudget, 1)
	ch.Uint(floatBits(budget + 0))
	s.setBudget(budget + 0)
	return nil
}

// CheckPolicy returns the error that AlterPolicy would, if the budget is another then.
func (s *Schedule) CheckPolicy(ch *structures.Change, policy string, budget float64) error {
	if !s.plan.created() {
		return ErrNotCreated
	}
	p, err := scheduler.PolicyNamed(policy)
	if err != nil {
		return err
	}
	if err := s.plan.suits(&p, budget); err != nil {
		return err
	}
	return ch.Permit(opPolicy)
}

// AlterPolicy changes the policy. Nodes, leases, ages, the estimator and estimates stay; what another policy keeps of its own
// begins anew. Errors: ErrNotCreated, that of an unknown policy, scheduler.ErrDecay and
// scheduler.ErrArrival if nodes lack what it needs, scheduler.ErrNoDeadlines and
// ErrNoBudget.
func (s *Schedule) AlterPolicy(ch *structures.Change, policy string) error {
	if err := s.CheckPolicy(ch, policy, s.config.Budget); err != nil {
		return err
	}
	p, err := scheduler.PolicyNamed(policy)
	if err != nil {
		return err
	}
	ch.Op(opPolicy, 1)
	ch.Uint(uint64(p.Number))
	s.setPolicy(&p)
	return nil
}

// setPolicy replaces the policy. Memos are of the old one.
func (s *Schedule) setPolicy(p *scheduler.PolicySpec) {
	if p.Number == s.plan.spec.Number {
		return
	}
	s.ready()
	if old := s.plan.spec.Memo; p.Memo != old || old > 0 {
		s.table.Memo = nil
		s.table.ClearMemos()
	}
	s.configure(s.config, *p, s.plan.learns)
	s.MarkAllDirty()
	s.ready()
}

// AlterPrice changes the price of probes; 0: it is learnt. Errors: ErrNotCreated,
// ErrPriceOf.
func (s *Schedule) AlterPrice(ch *structures.Change, price float64) error {
	if err := s.CheckPrice(ch, price); err != nil {
		return err
	}
	ch.Op(opPrice, 1)
	ch.Uint(floatBits(price + 0))
	s.setPrice(price + 0)
	return nil
}

// CheckPrice returns the error that AlterPrice would.
func (s *Schedule) CheckPrice(ch *structures.Change, price float64) error {
	next := s.config
	switch next.Price = price + 0; {
	case !s.plan.created():
		return ErrNotCreated
	case next.checkNumbers() != nil:
		return ErrPriceOf
	}
	return ch.Permit(opPrice)
}

func (s *Schedule) setPrice(price float64) {
	s.config.Price, s.table.Price = price, price
	s.version = versionSignals
}
