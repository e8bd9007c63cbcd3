package schedule

import (
	"encoding/binary"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// Pick is a node to be probed. Age and Index are 0 unless asked for WithStats.
type Pick struct {
	Node string
	// Age is the number of steps since its last probe.
	Age int64
	// Index is what the policy ranked or drew the node by.
	Index float64
}

// Stats says whether picks come with Age and Index, which cost a look at the
// node and the policy's arithmetic for each.
type Stats uint8

const (
	NamesOnly Stats = iota
	WithStats
)

// Next advances the clock (one step, or to the step of the wall clock) and
// hands out the nodes to probe now: up to count of them, the configured number
// if count is 0; fewer, or none, when the policy idles or the nodes are
// leased. A negative lease is the configured one; with a lease of 0 the probes
// count as done. The result is valid until the next call of Next or Peek.
//
// Errors: ErrNotCreated, ErrCount, ErrLease, ErrSteps.
func (s *Schedule) Next(ch *structures.Change, count int, nowMillis, leaseMillis int64, stats Stats) ([]Pick, error) {
	if leaseMillis < 0 {
		leaseMillis = s.config.LeaseMillis
	}
	if leaseMillis > MaxMillis {
		return nil, ErrLease
	}
	now, step, err := s.choose(count, nowMillis, leaseMillis, stats)
	if err != nil {
		return nil, err
	}
	ch.Op(opNext, 4)
	ch.Uint(uint64(now))
	ch.Uint(uint64(step))
	ch.Uint(uint64(leaseMillis))
	if ch != nil {
		var room [64]byte
		list := room[:0]
		for _, slot := range s.chosen {
			list = binary.AppendUvarint(list, uint64(slot))
		}
		ch.Bytes(list)
	}
	s.calls++
	s.give(now, step, leaseMillis, s.chosen)
	return s.picks, nil
}

// Peek returns what Next would, with the same count and time, and changes
// nothing. The result is valid until the next call of Next or Peek. Errors:
// ErrNotCreated, ErrCount, ErrSteps.
func (s *Schedule) Peek(count int, nowMillis int64, stats Stats) ([]Pick, error) {
	if _, _, err := s.choose(count, nowMillis, s.config.LeaseMillis, stats); err != nil {
		return nil, err
	}
	return s.picks, nil
}

// choose fills s.chosen and s.picks. It changes only what is derived.
func (s *Schedule) choose(count int, nowMillis, leaseMillis int64, stats Stats) (now, step int64, err error) {
	if !s.plan.created() {
		return 0, 0, ErrNotCreated
	}
	if count == 0 && s.config.Budget == 0 {
		count = s.config.Probes
	}
	if count < 0 || count > MaxCount {
		return 0, 0, ErrCount
	}
	s.ready()
	now = s.clock.at(nowMillis)
	if step = s.clock.next(now); step > scheduler.MaxStep {
		return 0, 0, ErrSteps
	}
	s.hidden.expire(s.plan.policy, now, s.clock.now)
	s.table.Groups.Open(s.plan.policy, now, step)
	s.table.Groups.Brief = leaseMillis == 0
	if s.config.Budget > 0 {
		if count == 0 {
			count = MaxCount
		}
		s.chosen = s.purse.Afford(&s.table, step, count, func(count int) []int { return s.plan.pick(s.chosen[:0], count, step, &s.config, s.calls) })
	} else {
		s.chosen = s.plan.pick(s.chosen[:0], count, step, &s.config, s.calls)
	}
	s.picks = s.picks[:0]
	for _, slot := range s.chosen {
		p := Pick{Node: s.names.of(slot)}
		if stats == WithStats {
			s.table.Load(slot, &s.node)
			p.Age, p.Index = s.node.Age(step), s.plan.policy.Value(slot, step)
		}
		s.picks = append(s.picks, p)
	}
	return now, step, nil
}

// give hands out nodes in a step.
func (s *Schedule) give(now, step, leaseMillis int64, slots []int) {
	s.ready()
	s.setTime(now)
	s.clock.step = step
	s.handed += uint64(len(slots))
	s.purse.Fill(step)
	for _, slot := range slots {
		s.hidden.unlease(s.plan.policy, slot, s.clock.now)
		s.table.Load(slot, &s.node)
		s.purse.Pay(s.node.Cost)
		if late := step - s.node.Last - s.node.Deadline; s.node.Deadline > 0 && late > 0 {
			s.missed++
			s.worst = max(s.worst, late)
		}
		if leaseMillis == 0 {
			n := s.table.Node(slot)
			n.Last = max(n.Last, step)
			n.Probes++
			n.Discard()
			s.table.Store(slot, &n)
		} else {
			s.hidden.lease(lease{slot: int32(slot), until: now + leaseMillis, step: step, nats: s.node.Nats, heard: s.node.Signals.Count})
		}
		s.handedOut(slot, now)
		s.plan.policy.Touch(slot)
		s.changed.touch(slot)
		if group := s.table.GroupOf(slot); group != 0 {
			s.table.Groups.Give(s.plan.policy, group, now, step, leaseMillis == 0)
			s.groups.touch(group)
		}
	}
}

// Observe says what the probe of a leased node found: a count of items, or the
// interest collected. The lease ends, the age counts from the step of the Next,
// and policy and estimator learn. Errors: ErrNotCreated, ErrItems, ErrNoNode,
// ErrNotLeased.
func (s *Schedule) Observe(ch *structures.Change, node []byte, items float64, nowMillis int64) error {
	if scheduler.CheckNumber(items) != nil {
		return ErrItems
	}
	items += 0 // -0 becomes 0
	slot, now, err := s.leased(node, nowMillis)
	if err != nil {
		return err
	}
	ch.Op(opObserve, 3)
	ch.Uint(uint64(slot))
	ch.Uint(floatBits(items))
	ch.Uint(uint64(now))
	s.observe(slot, items, now)
	return nil
}

// Fail says that the probe of a leased node did not happen. The lease ends and
// the age is as if it had not begun. Errors: ErrNotCreated, ErrNoNode,
// ErrNotLeased.
func (s *Schedule) Fail(ch *structures.Change, node []byte, nowMillis int64) error {
	slot, now, err := s.leased(node, nowMillis)
	if err != nil {
		return err
	}
	ch.Op(opFail, 2)
	ch.Uint(uint64(slot))
	ch.Uint(uint64(now))
	s.fail(slot, now)
	return nil
}

// leased finds a node whose lease is running.
func (s *Schedule) leased(node []byte, nowMillis int64) (slot int, now int64, err error) {
	if !s.plan.created() {
		return 0, 0, ErrNotCreated
	}
	slot, ok := s.slots.find(node)
	if !ok {
		return 0, 0, ErrNoNode
	}
	now = s.clock.at(nowMillis)
	if l, ok := s.hidden.leases.of(slot); !ok || l.until <= now {
		return 0, 0, ErrNotLeased
	}
	return slot, now, nil
}

func (s *Schedule) observe(slot int, items float64, now int64) {
	s.ready()
	s.setTime(now)
	l := s.hidden.storedOf(&s.hidden.leases, slot, s.clock.now)
	s.hidden.unlease(s.plan.policy, slot, s.clock.now)
	scheduler.ObserveWhile(&s.table, s.plan.policy, s.plan.estimator, slot, items, l.step, l.nats, l.heard)
	s.observed++
	s.changed.touch(slot)
	s.groups.touch(s.table.GroupOf(slot)) // what it learnt
}

func (s *Schedule) fail(slot int, now int64) {
	s.ready()
	s.setTime(now)
	s.hidden.unlease(s.plan.policy, slot, s.clock.now)
	s.failed++
	s.plan.policy.Touch(slot)
	s.changed.touch(slot)
}
