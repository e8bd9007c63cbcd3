package schedule

import (
	"math"
	"net/url"
	"strings"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// CheckGroup returns the error that SetGroup of a node that is there would, if so many
// are given a group together.
func (s *Schedule) CheckGroup(ch *structures.Change, group []byte, more int) error {
	switch {
	case !s.plan.created():
		return ErrNotCreated
	case len(group) > MaxName:
		return ErrName
	case len(s.groups.numbers)+more > maxGroups:
		return ErrFull
	}
	return ch.Permit(opGroup)
}

// SetGroup puts a node into a group, which is made if there is none; an empty name
// takes the node out of its group. Errors: ErrNotCreated, ErrNoNode, ErrName, ErrFull.
func (s *Schedule) SetGroup(ch *structures.Change, node, group []byte, nowMillis int64) error {
	if !s.plan.created() {
		return ErrNotCreated
	}
	slot, ok := s.slots.find(node)
	if !ok {
		return ErrNoNode
	}
	if s.groups.name(s.table.GroupOf(slot)) == string(group) {
		return nil
	}
	if len(group) > 0 {
		if err := s.groups.check(group); err != nil {
			return err
		}
	}
	if err := ch.Permit(opGroup); err != nil {
		return err
	}
	now := s.clock.at(nowMillis)
	ch.Op(opGroup, 3)
	ch.Uint(uint64(slot))
	ch.Bytes(group)
	ch.Uint(uint64(now))
	s.setGroup(slot, string(group), now)
	return nil
}

func (s *Schedule) setGroup(slot int, group string, now int64) {
	s.later(now)
	number := int32(0)
	if group != "" {
		number = s.groups.number(group)
	}
	n := &s.node
	s.table.Load(slot, n)
	old, leased := n.Group, s.hidden.leases.runs(slot)
	n.Group = number
	s.table.Store(slot, n)
	if leased {
		s.table.Groups.Leave(s.plan.policy, old)
		s.table.Groups.Join(s.plan.policy, number)
	}
	s.plan.policy.Touch(slot)
	s.changed.touch(slot)
	s.groups.touch(number)
	s.groups.sweep(old, s.clock.now)
}

// Limit changes limits of a group, which is made if there is none. What is nil stays;
// 0 is no limit. Errors: ErrNotCreated, ErrName, ErrFull, ErrLimit.
func (s *Schedule) Limit(ch *structures.Change, group []byte, gap, rest, steps, concurrency *int64, nowMillis int64) error {
	if !s.plan.created() {
		return ErrNotCreated
	}
	if err := s.groups.check(group); err != nil {
		return err
	}
	var l scheduler.Limits
	if g := s.table.Groups.Of(s.groups.numbers[string(group)]); g != nil {
		l = g.Limits
	}
	for _, f := range [...]struct {
		from *int64
		most int64
		to   func(int64)
	}{
		{gap, MaxMillis, func(v int64) { l.Gap = v }},
		{rest, MaxMillis, func(v int64) { l.Rest = v }},
		{steps, scheduler.MaxStep, func(v int64) { l.Steps = v }},
		{concurrency, math.MaxInt32, func(v int64) { l.Concurrency = int32(v) }},
	} {
		if f.from == nil {
			continue
		}
		if *f.from < 0 || *f.from > f.most {
			return ErrLimit
		}
		f.to(*f.from)
	}
	if err := ch.Permit(opLimit); err != nil {
		return err
	}
	now := s.clock.at(nowMillis)
	ch.Op(opLimit, 6)
	ch.Bytes(group)
	ch.Uint(uint64(l.Gap))
	ch.Uint(uint64(l.Rest))
	ch.Uint(uint64(l.Steps))
	ch.Uint(uint64(l.Concurrency))
	ch.Uint(uint64(now))
	s.limit(string(group), l, now)
	return nil
}

func (s *Schedule) limit(group string, l scheduler.Limits, now int64) {
	s.changeGroup(group, now, func(g *scheduler.Group) {
		g.Limits = l
		if (l == scheduler.Limits{}) {
			g.Handed, g.Ended, g.Last = 0, 0, 0
		}
	})
}

// changeGroup changes a group, which is made if it is not there.
func (s *Schedule) changeGroup(group string, now int64, change func(g *scheduler.Group)) {
	s.later(now)
	number := s.groups.number(group)
	g := *s.table.Groups.Of(number)
	change(&g)
	s.table.Groups.Put(number, g)
	s.table.Groups.Look(s.plan.policy, number)
	s.groups.touch(number)
}

// Hold closes a group for some milliseconds from now, whatever its limits, or ends
// that if they are 0. A group that is not there is made. Errors: ErrNotCreated,
// ErrName, ErrFull, ErrPause.
func (s *Schedule) Hold(ch *structures.Change, group []byte, millis, nowMillis int64) error {
	switch {
	case !s.plan.created():
		return ErrNotCreated
	case millis < 0 || millis > MaxMillis:
		return ErrPause
	}
	if err := s.groups.check(group); err != nil {
		return err
	}
	if err := ch.Permit(opHold); err != nil {
		return err
	}
	now, until := s.clock.at(nowMillis), int64(0)
	if millis > 0 {
		until = now + millis
	}
	ch.Op(opHold, 3)
	ch.Bytes(group)
	ch.Uint(uint64(until))
	ch.Uint(uint64(now))
	s.hold(string(group), until, now)
	return nil
}

func (s *Schedule) hold(group string, until, now int64) {
	s.changeGroup(group, now, func(g *scheduler.Group) { g.Held = until })
}

// Group describes a group, in the order to be shown: open-in-ms is how long gap, rest
// and hold keep it closed, held the time left of a hold, precision what is believed of
// signals. It returns ErrNoGroup for an unknown one.
func (s *Schedule) Group(group []byte, nowMillis int64) ([]Field, error) {
	number, ok := s.groups.numbers[string(group)]
	if !ok {
		return nil, ErrNoGroup
	}
	s.ready()
	now := s.clock.at(nowMillis)
	s.hidden.expire(s.plan.policy, now, s.clock.now)
	g := s.table.Groups.Of(number)
	precision := float64(scheduler.Unknown)
	if g.Crowd.Theta > 0 {
		precision = -math.Expm1(-g.Crowd.Theta)
	}
	return []Field{
		{"group", string(group)},
		{"nodes", int64(g.Nodes)},
		{"leased", int64(g.Leased)},
		{"gap", g.Gap},
		{"rest", g.Rest},
		{"steps", g.Steps},
		{"concurrency", int64(g.Concurrency)},
		{"open-in-ms", max(0, g.Opens()-now)},
		{"precision", precision},
		{"held", max(0, g.Held-now)},
	}, nil
}

// Groups is the number of groups.
func (s *Schedule) Groups() int { return len(s.groups.numbers) }

// ScanGroups is Scan of groups.
func (s *Schedule) ScanGroups(cursor uint64, count int, visit func(group string)) uint64 {
	return s.groups.scan(cursor, count, visit)
}

// HostOf is the group of a node that is an address, by GroupHost: its host, in lower
// case, with the port if it names one; "" if it is none.
func HostOf(node []byte) string {
	text := string(node)
	if !strings.Contains(text, "://") {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || len(u.Host) > MaxName {
		return ""
	}
	return strings.ToLower(u.Host)
}
