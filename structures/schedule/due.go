package schedule

import (
	"context"
	"maps"
	"slices"
)

// Preview is a copy of a schedule that goes on by itself. It is independent of it.
type Preview struct {
	s   *Schedule
	now int64
}

// Preview copies the schedule at a time: about as many bytes as it has, in some tens of
// milliseconds for 10^6 nodes. Error: ErrNotCreated.
func (s *Schedule) Preview(nowMillis int64) (*Preview, error) {
	if !s.plan.created() {
		return nil, ErrNotCreated
	}
	s.ready()
	now := s.clock.at(nowMillis)
	s.hidden.expire(s.plan.policy, now, s.clock.now)
	c := New(s.slots.key)
	c.configure(s.config, s.plan.spec, s.plan.learns)
	c.version, c.clock, c.calls, c.purse = s.version, s.clock, s.calls, s.purse
	c.table, c.names = s.table.Clone(), s.names.clone()
	c.hidden.leases, c.hidden.pauses = s.hidden.leases.clone(), s.hidden.pauses.clone()
	c.groups.numbers, c.groups.names = maps.Clone(s.groups.numbers), slices.Clone(s.groups.names)
	return &Preview{c, now}, nil
}

// Coming is what a Next would hand out.
type Coming struct {
	Step  int64
	Nodes []string
}

// Due is what the next calls of Next would hand out, if each probe found what is
// expected, so that no estimate changes, and nothing else happened: up to count nodes
// each, the configured number if it is 0. By the wall clock they are a step apart, and
// otherwise time stands still, so that a group that is closed for a time stays so. It
// returns the error of ctx if that ends first. Errors: ErrCount, ErrSteps.
func (p *Preview) Due(ctx context.Context, calls, count int) ([]Coming, error) {
	list, now := make([]Coming, 0, calls), p.now
	for range calls {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		picks, err := p.s.Next(nil, count, now, 0, NamesOnly)
		if err != nil {
			return nil, err
		}
		c := Coming{Step: p.s.clock.step}
		for _, pick := range picks {
			c.Nodes = append(c.Nodes, pick.Node)
		}
		list = append(list, c)
		now += p.s.config.StepMillis
	}
	return list, nil
}

// clone is a copy that shares no memory that changes.
func (n *names) clone() names {
	c := names{pages: make([]*namePage, len(n.pages)), bytes: n.bytes}
	for i, p := range n.pages {
		if p == nil {
			continue
		}
		q := *p
		q.text = q.text[:len(q.text):len(q.text)]
		if p.wide != nil {
			wide := *p.wide
			q.wide = &wide
		}
		c.pages[i] = &q
	}
	return c
}

func (l *leases) clone() leases {
	return leases{list: slices.Clone(l.list), spare: l.spare, at: maps.Clone(l.at), running: slices.Clone(l.running), over: slices.Clone(l.over)}
}
