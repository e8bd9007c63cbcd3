package topology

import (
	"fmt"
	"slices"
)

// NodeLabel names a member of a group by its address, if it is known, and its ID.
func NodeLabel(secret, group string, id uint64, address string) string {
	if address == "" {
		return MemberPublicID(secret, group, id)
	}
	return fmt.Sprintf("%s (%s)", address, MemberPublicID(secret, group, id))
}

// GroupLabel names a group by its leader, or another member of it; g is what is known of it, nil for nothing.
func GroupLabel(secret, name string, g *Group) string {
	if g == nil || len(g.Members) == 0 {
		return "the group " + GroupPublicID(secret, name)
	}
	of := g.Members[max(0, slices.IndexFunc(g.Members, func(m GroupMember) bool { return m.ID == g.Leader }))]
	return "the group of " + NodeLabel(secret, name, of.ID, of.Address)
}
