package schedule

import (
	"encoding/binary"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// Pause keeps a node from being handed out for some milliseconds, or until Resume if
// they are 0, whatever pause it had. Its age goes on, it is told of signals, and a
// lease that it has is kept. Known reports whether there is such a node. Errors:
// ErrNotCreated, ErrPause.
func (s *Schedule) Pause(ch *structures.Change, node []byte, millis, nowMillis int64) (known bool, err error) {
	switch {
	case !s.plan.created():
		return false, ErrNotCreated
	case millis < 0 || millis > MaxMillis:
		return false, ErrPause
	}
	slot, ok := s.slots.find(node)
	if !ok {
		return false, nil
	}
	if err := MayPause(ch); err != nil {
		return false, err
	}
	now, until := s.clock.at(nowMillis), int64(forever)
	if millis > 0 {
		until = now + millis
	}
	ch.Op(opPause, 3)
	ch.Uint(uint64(slot))
	ch.Uint(uint64(until))
	ch.Uint(uint64(now))
	s.pause(slot, until, now)
	return true, nil
}

// MayPause returns the error of Pause for a change that may not have pauses.
func MayPause(ch *structures.Change) error { return ch.Permit(opPause) }

// pause pauses a node until a time, or ends its pause if that has come.
func (s *Schedule) pause(slot int, until, now int64) {
	s.ready()
	s.setTime(now)
	if until > s.clock.now {
		s.version = versionSignals
		s.hidden.pause(slot, until)
	} else {
		s.hidden.unpause(slot)
	}
	s.plan.policy.Touch(slot)
	s.changed.touch(slot)
}

// Resume ends the pause of a node and reports whether it had one. Error:
// ErrNotCreated.
func (s *Schedule) Resume(ch *structures.Change, node []byte, nowMillis int64) (paused bool, err error) {
	if !s.plan.created() {
		return false, ErrNotCreated
	}
	slot, ok := s.slots.find(node)
	if !ok {
		return false, nil
	}
	now := s.clock.at(nowMillis)
	if s.hidden.pauseLeft(slot, now) == 0 {
		return false, nil
	}
	if err := ch.Permit(opResume); err != nil {
		return false, err
	}
	ch.Op(opResume, 2)
	ch.Uint(uint64(slot))
	ch.Uint(uint64(now))
	s.pause(slot, 0, now)
	return true, nil
}

// Take leases those of the nodes that are free, neither leased nor paused nor of a
// closed group, whatever the policy says, and returns their places in nodes. The step stays the same, but
// for the wall clock. With a lease of 0 the probes count as done. Errors:
// ErrNotCreated, ErrCount, ErrLease, ErrSteps.
func (s *Schedule) Take(ch *structures.Change, nodes [][]byte, leaseMillis, nowMillis int64) ([]int, error) {
	switch {
	case !s.plan.created():
		return nil, ErrNotCreated
	case len(nodes) > MaxCount:
		return nil, ErrCount
	case leaseMillis < 0 || leaseMillis > MaxMillis:
		return nil, ErrLease
	}
	if err := ch.Permit(opTake); err != nil {
		return nil, err
	}
	now, step := s.clock.at(nowMillis), s.clock.step
	if s.clock.stepMillis > 0 {
		step = s.clock.next(now)
	}
	if step > scheduler.MaxStep {
		return nil, ErrSteps
	}
	s.ready()
	s.hidden.expire(s.plan.policy, now, s.clock.now)
	s.table.Groups.Open(s.plan.policy, now, step)
	s.table.Groups.Brief = leaseMillis == 0
	rooms := s.table.Begin()
	var places, slots []int
	var list []byte
	taken := make(map[int]bool, len(nodes))
	for i, node := range nodes {
		slot, ok := s.slots.find(node)
		if !ok || s.table.Hidden(slot) || taken[slot] {
			continue
		}
		if group := s.table.GroupOf(slot); s.table.Groups.Closed(group, now, step) || !rooms.Take(group) {
			continue
		}
		taken[slot] = true
		places, slots = append(places, i), append(slots, slot)
		list = binary.AppendUvarint(list, uint64(slot))
	}
	if len(slots) == 0 {
		return nil, nil
	}
	ch.Op(opTake, 4)
	ch.Uint(uint64(now))
	ch.Uint(uint64(step))
	ch.Uint(uint64(leaseMillis))
	ch.Bytes(list)
	s.give(now, step, leaseMillis, slots)
	return places, nil
}
