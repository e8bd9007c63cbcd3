package schedule

import (
	"math"
	"net/url"
	"strings"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// Groups are numbered, and stored beside the nodes of the page of their number. The
// names are here, the rest is in scheduler.Groups: limits, holds, and what is learnt of
// signals. A group goes with its last node, unless it has limits or is held.

// maxGroups bounds the groups of a schedule: numbers begin with 1.
const maxGroups = scheduler.MaxNodes - 1

// groups are the names of groups.
type groups struct {
	numbers map[string]int32
	names   []string // by number
	bytes   int      // of names
	// counted: what is derived from nodes, leases and groups is right.
	counted bool
	// renumbered maps numbers of pages that are appended to those that they get.
	renumbered map[int32]int32
}

func (g *groups) put(number int32, name string) {
	if g.numbers == nil {
		g.numbers = make(map[string]int32)
	}
	for len(g.names) <= int(number) {
		g.names = append(g.names, "")
	}
	g.names[number] = name
	g.numbers[name] = number
	g.bytes += len(name)
}

func (g *groups) drop(number int32) {
	g.bytes -= len(g.names[number])
	delete(g.numbers, g.names[number])
	g.names[number] = ""
	for n := len(g.names); n > 0 && g.names[n-1] == ""; n-- {
		g.names = g.names[:n-1]
	}
}

// size is the memory held, in bytes: a map entry takes 20 bytes and a control byte, at a
// load of about two thirds.
func (g *groups) size() int {
	const mapEntry = 34
	return g.bytes + 16*cap(g.names) + mapEntry*len(g.numbers)
}

// groupName is the name of a group, "" for none.
func (s *Schedule) groupName(number int32) string {
	if number <= 0 || int(number) >= len(s.groups.names) {
		return ""
	}
	return s.groups.names[number]
}

// numberOf is the number of a group, which is made if there is none.
func (s *Schedule) numberOf(name string) int32 {
	number, ok := s.groups.numbers[name]
	if !ok {
		number = s.table.Groups.Free()
		s.groups.put(number, name)
		s.table.Groups.Put(number, scheduler.Group{})
		s.touchGroup(number)
	}
	return number
}

// checkGroup returns ErrName or ErrFull if there cannot be a group of this name.
func (s *Schedule) checkGroup(name []byte) error {
	if len(name) == 0 || len(name) > MaxName {
		return ErrName
	}
	if len(s.groups.numbers) >= maxGroups {
		if _, ok := s.groups.numbers[string(name)]; !ok {
			return ErrFull
		}
	}
	return nil
}

// CheckGroup returns the error that SetGroup of a node that is there would, if so many
// are given a group together.
func (s *Schedule) CheckGroup(ch *structures.Change, group []byte, more int) error {
	switch {
	case s.policyNum == 0:
		return ErrNotCreated
	case len(group) > MaxName:
		return ErrName
	case len(s.groups.numbers)+more > maxGroups:
		return ErrFull
	}
	return ch.Permit(opGroup)
}

// touchGroup marks the page of a group as changed.
func (s *Schedule) touchGroup(number int32) {
	if number > 0 {
		s.touch(int(number))
	}
}

// SetGroup puts a node into a group, which is made if there is none; an empty name
// takes the node out of its group. Errors: ErrNotCreated, ErrNoNode, ErrName, ErrFull.
func (s *Schedule) SetGroup(ch *structures.Change, node, group []byte, nowMillis int64) error {
	if s.policyNum == 0 {
		return ErrNotCreated
	}
	slot, ok := s.slots.find(node)
	if !ok {
		return ErrNoNode
	}
	if s.groupName(s.table.GroupOf(slot)) == string(group) {
		return nil
	}
	if len(group) > 0 {
		if err := s.checkGroup(group); err != nil {
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
		number = s.numberOf(group)
	}
	n := &s.node
	s.table.Load(slot, n)
	old, leased := n.Group, s.leases.runs(slot)
	n.Group = number
	s.table.Store(slot, n)
	if leased {
		s.table.Groups.Leave(s.policy, old)
		s.table.Groups.Join(s.policy, number)
	}
	s.policy.Touch(slot)
	s.touch(slot)
	s.touchGroup(number)
	s.sweepGroup(old)
}

// sweepGroup forgets a group that is not needed any more.
func (s *Schedule) sweepGroup(number int32) {
	if s.table.Groups.Idle(number, s.clock.now) {
		s.table.Groups.Remove(number)
		s.groups.drop(number)
		s.touchGroup(number)
	}
}

// Limit changes limits of a group, which is made if there is none. What is nil stays;
// 0 is no limit. Errors: ErrNotCreated, ErrName, ErrFull, ErrLimit.
func (s *Schedule) Limit(ch *structures.Change, group []byte, gap, rest, steps, concurrency *int64, nowMillis int64) error {
	if s.policyNum == 0 {
		return ErrNotCreated
	}
	if err := s.checkGroup(group); err != nil {
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
	number := s.numberOf(group)
	g := *s.table.Groups.Of(number)
	change(&g)
	s.table.Groups.Put(number, g)
	s.table.Groups.Look(s.policy, number)
	s.touchGroup(number)
}

// Hold closes a group for some milliseconds from now, whatever its limits, or ends
// that if they are 0. A group that is not there is made. Errors: ErrNotCreated,
// ErrName, ErrFull, ErrPause.
func (s *Schedule) Hold(ch *structures.Change, group []byte, millis, nowMillis int64) error {
	switch {
	case s.policyNum == 0:
		return ErrNotCreated
	case millis < 0 || millis > MaxMillis:
		return ErrPause
	}
	if err := s.checkGroup(group); err != nil {
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
	s.expire(now)
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
	for at := max(cursor, 1); at < uint64(len(s.groups.names)); at++ {
		if s.groups.names[at] == "" {
			continue
		}
		if count--; count < 0 {
			return at
		}
		visit(s.groups.names[at])
	}
	return 0
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
