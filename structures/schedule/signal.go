package schedule

import (
	"math"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// Signal says that a node may have changed, agoMillis before now. Its precision is
// the share of such signals that are true; scheduler.Unknown: what is known or
// believed of the node's. Known reports whether there is such a node.
//
// A signal is dropped that came before the quiet time after the last hand-out was
// over, as the probe saw what it tells of, or before the step of the last probe by
// the wall clock; so is one whose precision is below scheduler.LeastPrecision.
// Signals during a lease are of the period after it if the probe is observed.
// Errors: ErrNotCreated, ErrAgo, scheduler.ErrShare.
func (s *Schedule) Signal(ch *structures.Change, node []byte, precision float64, agoMillis, nowMillis int64) (known bool, err error) {
	switch {
	case !s.plan.created():
		return false, ErrNotCreated
	case agoMillis < 0 || agoMillis > MaxMillis:
		return false, ErrAgo
	case precision != scheduler.Unknown && !(precision >= 0 && precision <= 1):
		return false, scheduler.ErrShare
	}
	slot, ok := s.slots.find(node)
	if !ok {
		return false, nil
	}
	now := s.clock.at(nowMillis)
	n := &s.node
	s.table.Load(slot, n)
	nats := n.SignalNats(s.table.CrowdOf(n.Group))
	if precision != scheduler.Unknown {
		nats = scheduler.NatsOf(precision)
	}
	if nats == 0 || s.old(n, now-agoMillis) {
		return true, nil
	}
	if err := ch.Permit(opSignal); err != nil {
		return false, err
	}
	ch.Op(opSignal, 3)
	ch.Uint(uint64(slot))
	ch.Uint(floatBits(nats))
	ch.Uint(uint64(now))
	s.signal(slot, nats, now)
	return true, nil
}

// old says that what was signalled at a time was seen by the last probe, or is by
// the one that is under way.
func (s *Schedule) old(n *scheduler.Node, at int64) bool {
	if n.Handed > 0 && at < n.Handed+s.config.QuietMillis {
		return true
	}
	return s.clock.stepMillis > 0 && n.Probes > 0 && s.clock.wall(at) < n.Last
}

// later begins a change, at a time, that versions before do not know.
func (s *Schedule) later(now int64) {
	s.ready()
	s.setTime(now)
	s.version = versionSignals
}

func (s *Schedule) signal(slot int, nats float64, now int64) {
	s.later(now)
	n := &s.node
	s.table.Load(slot, n)
	n.Hear(s.table.CrowdOf(n.Group), nats)
	s.table.Store(slot, n)
	if s.signals < math.MaxInt64 {
		s.signals++
	}
	s.plan.policy.Touch(slot)
	s.changed.touch(slot)
}

// handedOut notes the time of a hand-out if signals are compared with it.
func (s *Schedule) handedOut(slot int, now int64) {
	if s.config.QuietMillis == 0 {
		return
	}
	n := &s.node
	s.table.Load(slot, n)
	n.Handed = now
	s.table.Store(slot, n)
}
