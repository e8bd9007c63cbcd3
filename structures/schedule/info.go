package schedule

import "github.com/vigildb/vigil/scheduler"

// Field is one line of SCHED.INFO or SCHED.NODE. Value is a string, an int64 or
// a float64.
type Field struct {
	Name  string
	Value any
}

// Info describes the schedule at a time, in the order to be shown. It costs
// O(1), except after loading.
func (s *Schedule) Info(nowMillis int64) []Field {
	if !s.plan.created() {
		return nil
	}
	s.ready()
	now := s.clock.at(nowMillis)
	s.hidden.expire(s.plan.policy, now, s.clock.now)
	opens := int64(0)
	if at := s.table.Groups.Opening(); at > 0 {
		opens = at - now
	}
	deadlines, density := s.plan.policy.Deadlines()
	kind := "step"
	if s.config.StepMillis > 0 {
		kind = "wall"
	}
	return []Field{
		{"policy", s.config.Policy},
		{"probes", int64(s.config.Probes)},
		{"estimator", s.config.Estimator},
		{"window", s.config.Window},
		{"seed", int64(s.config.Seed)},
		{"clock", kind},
		{"step-ms", s.config.StepMillis},
		{"lease-ms", s.config.LeaseMillis},
		{"explore", s.config.Explore},
		{"nodes", int64(s.table.Live())},
		{"leased", int64(len(s.hidden.leases.running))},
		{"step", s.clock.step},
		{"calls", int64(s.calls)},
		{"handed-out", int64(s.handed)},
		{"observed", int64(s.observed)},
		{"failed", int64(s.failed)},
		{"quiet-ms", s.config.QuietMillis},
		{"signals", int64(s.signals)},
		{"paused", int64(len(s.hidden.pauses.running))},
		{"groups", int64(len(s.groups.numbers))},
		{"open-in-ms", opens},
		{"deadlines", int64(deadlines)},
		{"density", density},
		{"overdue", int64(s.plan.policy.Overdue(s.clock.next(now)))},
		{"missed", int64(s.missed)},
		{"worst", s.worst},
		{"budget", s.config.Budget},
		{"purse", s.purse.Left},
		{"price", s.config.Price},
	}
}

// Node describes a node, in the order to be shown. Age and index are those of
// the step that a Next at this time would have; lease-ms is the time left, 0
// without a lease. Rate and arrival are -1 if none was given. Precision and recall
// are those that are believed, or -1; signals and nats are those since the last
// probe; paused-ms is the time left, 0 without a pause and -1 for one without end. It
// returns ErrNoNode for an unknown node.
func (s *Schedule) Node(node []byte, nowMillis int64) ([]Field, error) {
	slot, ok := s.slots.find(node)
	if !ok {
		return nil, ErrNoNode
	}
	s.ready()
	now := s.clock.at(nowMillis)
	s.hidden.expire(s.plan.policy, now, s.clock.now)
	l, _ := s.hidden.leases.of(slot)
	step := s.clock.next(now)
	n := s.table.Node(slot)
	precision, recall := n.Precision, n.Recall
	if _, p, r, ok := scheduler.SignalledRate(&n); ok {
		precision, recall = p, r
	}
	return []Field{
		{"node", s.names.of(slot)},
		{"rate", n.Rate},
		{"weight", n.Weight},
		{"decay", n.Decay},
		{"arrival", n.Arrival},
		{"cost", n.Cost},
		{"max-age", n.MaxAge},
		{"estimate", n.Estimate},
		{"age", n.Age(step)},
		{"index", s.plan.policy.Value(slot, step)},
		{"probes", n.Probes},
		{"items", n.Items},
		{"lease-ms", max(0, l.until-now)},
		{"precision", precision},
		{"recall", recall},
		{"signals", n.Signals.Count},
		{"nats", n.Nats},
		{"paused-ms", s.hidden.pauseLeft(slot, now)},
		{"group", s.groups.name(n.Group)},
		{"deadline", n.Deadline},
	}, nil
}

// Scan visits the names of up to count nodes starting at a cursor and returns the
// next cursor; 0 begins, and 0 is returned at the end. A node that exists
// during the whole iteration is visited exactly once: nodes keep their
// slots.
func (s *Schedule) Scan(cursor uint64, count int, visit func(node string)) uint64 {
	if cursor >= uint64(s.table.Len()) {
		return 0
	}
	slot := s.table.After(int(cursor))
	for ; slot >= 0 && count > 0; count-- {
		visit(s.names.of(slot))
		slot = s.table.After(slot + 1)
	}
	return uint64(max(slot, 0))
}
