package schedule

import "github.com/vigildb/vigil/structures"

// Alter changes the numbers of a configuration that may change: Probes, LeaseMillis,
// Explore and QuietMillis are those of c. Nodes, leases and what was learnt stay; the
// new numbers count from the next call on. Errors: ErrNotCreated, ErrCount, ErrLease,
// ErrExplore, ErrQuiet.
func (s *Schedule) Alter(ch *structures.Change, c Config) error {
	if s.policyNum == 0 {
		return ErrNotCreated
	}
	next := s.altered(c)
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

// altered is the present configuration with the numbers of another that may change.
func (s *Schedule) altered(c Config) Config {
	next := s.config
	next.Probes, next.LeaseMillis, next.Explore, next.QuietMillis = c.Probes, c.LeaseMillis, c.Explore+0, c.QuietMillis
	return next
}

func (s *Schedule) alter(next Config) {
	if next.Probes != s.config.Probes {
		s.table.Probes = next.Probes
		s.attached = false // policies plan by it
	}
	if next.QuietMillis != 0 {
		s.version = versionSignals
	}
	s.config = next
}
