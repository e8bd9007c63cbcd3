package topology

import (
	"fmt"
	"maps"
	"slices"

	"github.com/vigildb/vigil/structures/slots"
)

// maxFormer is how many ids beyond those of present members are tried: the last ones may have left.
const maxFormer = 2 * MaxMembers

// MemberOf returns the group and the number of a member by its public ID, be it a former one.
func (c *Cluster) MemberOf(id string) (g *Group, member uint64) {
	c.Look()
	c.mu.Lock()
	defer c.mu.Unlock()
	groups := slices.AppendSeq([]*Group{c.own}, maps.Values(c.table))
	for _, g := range groups {
		last := uint64(maxFormer)
		for _, m := range g.Members {
			last = max(last, m.ID+maxFormer)
			if MemberPublicID(c.opts.Secret, g.Name, m.ID) == id {
				return g, m.ID
			}
		}
		for k := max(last, 2*maxFormer) - 2*maxFormer + 1; k <= last; k++ {
			if MemberPublicID(c.opts.Secret, g.Name, k) == id {
				return g, k
			}
		}
	}
	return nil, 0
}

// ExpectedIn returns which learner of another group has the address of this server, 0 for none.
func (c *Cluster) ExpectedIn(group string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.table[group]; g != nil {
		for _, m := range g.Members {
			if m.Learner && m.Address == c.opts.Self.Address {
				return m.ID
			}
		}
	}
	return 0
}

// LeaderOf returns where clients connect to the leader of another group, "" if that is not known.
func (c *Cluster) LeaderOf(group string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.table[group]; g != nil {
		return g.LeaderAddress()
	}
	return ""
}

// NobodyIn reports whether another group is none any more.
func (c *Cluster) NobodyIn(group string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.table[group]
	return g == nil || len(g.Members) == 0 || c.Removed(group)
}

// Label names another group. The caller does not hold c.mu.
func (c *Cluster) Label(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.labelLocked(name)
}

func (c *Cluster) labelLocked(name string) string {
	return GroupLabel(c.opts.Secret, name, c.table[name])
}

// listenLocked tells the server the slots whose shard channels its clients may hear. Those that were given away are
// among them until another group has them: before that nobody takes a subscription, nor a message. What is
// new is told before it is stored, so that a subscription to a slot that has just come is not taken for one of before.
func (c *Cluster) listenLocked(own *slots.Set, come map[string]*slots.Set) {
	if c.own == nil || c.opts.ShardChannels == nil {
		return
	}
	for name, of := range come {
		if name != c.name {
			own = own.Union(of)
		}
	}
	own = own.Union(come[c.name].Both(SlotsOf(c.own.Assignment.Given))) // which come back
	if c.listens == nil || !c.listens.Equal(own) {
		c.listens = own
		c.opts.ShardChannels(own)
	}
}

// NameOf returns the name of another group that clients know by an ID.
func (c *Cluster) NameOf(id string) (string, error) {
	for _, g := range c.Division().Others {
		if GroupPublicID(c.opts.Secret, g.Name) == id {
			return g.Name, nil
		}
	}
	return "", fmt.Errorf("cluster: no other group has the ID %s", id)
}

// HeardOf reports whether this server has heard that other groups have the slots of a move. Before that what the own
// group says of it must not go, which this server tells the others: for a moment they would believe that no group had them.
func (c *Cluster) HeardOf(m Move) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := *c.own
	own.Assignment.Given = WithoutMove(own.Assignment.Given, m.Attempt)
	t := maps.Clone(c.table)
	t[c.name] = &own
	_, _, taken := t.divide()
	return m.Slots.Without(taken).Len() == 0
}

// LeadersOf returns the addresses at which the leader of another group may be found, the most likely one first.
func (c *Cluster) LeadersOf(name string) (addresses []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.table[name]
	if g == nil {
		return nil
	}
	for _, m := range g.Members {
		switch {
		case m.Address == "":
		case m.ID == g.Leader:
			addresses = append([]string{m.Address}, addresses...)
		default:
			addresses = append(addresses, m.Address)
		}
	}
	return addresses
}

// HasMet reports whether a contact has sent its table, be it this server itself.
func (c *Cluster) HasMet(contact string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.met[contact] || contact == c.opts.Self.Address
}
