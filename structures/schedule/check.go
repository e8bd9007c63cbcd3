package schedule

import (
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// CheckAdd returns the error that Add of a node would. A caller that adds
// several asks for each before it adds the first; it has to see to it that they
// are not too many together. A policy that needs an arrival rate gets one from
// callers: without, ErrArrival is returned. Add takes such a node, since records of
// earlier versions have them, and goes by the estimate of its rate.
func (s *Schedule) CheckAdd(ch *structures.Change, node []byte, p scheduler.Params) error {
	if !s.plan.created() {
		return ErrNotCreated
	}
	if err := s.checkNode(node, &p); err != nil {
		return err
	}
	if s.plan.spec.Arrival && p.Arrival == scheduler.Unknown {
		return scheduler.ErrArrival
	}
	return ch.Permit(opOf(&p))
}

// CheckLease returns the error that Observe or Fail of a node would return,
// regardless of what was found: nil if its lease is running.
func (s *Schedule) CheckLease(node []byte, nowMillis int64) error {
	_, _, err := s.leased(node, nowMillis)
	return err
}
