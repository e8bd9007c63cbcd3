package topology

import (
	"maps"
	"slices"

	"github.com/vigildb/vigil/structures/slots"
)

// Without returns the table without a group, and with what is to be known of the own one: that nobody is a member of it
// any more, or if it has let this server go and lives on, what it is without it.
func (c *Cluster) Without(name string) Table {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := maps.Clone(c.table)
	delete(t, name)
	switch {
	case !t.hasRoom():
	case !c.opts.Own.Gone():
		t[c.name] = c.dissolvedLocked()
	case c.own != nil:
		g := *c.own
		g.Members = slices.DeleteFunc(slices.Clone(g.Members), func(m GroupMember) bool { return m.ID == c.opts.Self.Member })
		t[c.name] = &g
	}
	return t
}

// dissolvedLocked is what is told of a group that nobody is a member of any more: news behind all that
// was told before.
func (c *Cluster) dissolvedLocked() *Group {
	g := &Group{Name: c.name, Assignment: Assignment{Slots: new(slots.Set)}}
	g.Index = c.opts.Own.Last()
	if c.own != nil {
		g.Index, g.Term, g.Assignment.Since = max(g.Index, c.own.Index), c.own.Term, c.own.Assignment.Since
		g.Assignment.Tombstones, g.Assignment.Revived = c.own.Assignment.Tombstones, c.own.Assignment.Revived
	}
	g.Index++
	return g
}

// Farewell is gossip that tells that nobody is a member of the own group any more, nil if it lives on.
func (c *Cluster) Farewell() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opts.Own.Gone() {
		return nil
	}
	return AppendGossip(nil, "", false, Table{c.name: c.dissolvedLocked()})
}
