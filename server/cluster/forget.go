package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
)

var errForgetsLeader = errors.New("the member leads its group")

// Forget removes the member with a public ID from its group, unless it leads that. known is false if no group
// has or had such a member.
func (h *Handle) Forget(ctx context.Context, id string) (known bool, err error) {
	n := h.Node()
	err = n.inCluster(func(*raftnode.Runner) error {
		g, member := n.cluster.MemberOf(id)
		if g == nil {
			return nil
		}
		known = true
		if n.cluster.Removed(g.Name) {
			return nil
		}
		there := slices.ContainsFunc(g.Members, func(m topology.GroupMember) bool { return m.ID == member })
		switch {
		case !there:
			return nil // it has left
		case member == g.Leader:
			return errForgetsLeader
		}
		ctx, cancel := context.WithTimeout(ctx, moveTimeout)
		defer cancel()
		err := n.expel(ctx, g, member)
		if err != nil && g.Name != n.self.Name && !n.cluster.Up(g.Name) {
			err = fmt.Errorf("%w: if all members of the group are lost for good, VIGIL.CLUSTER BURY gives its slots up", err)
		}
		return err
	})
	return known, err
}

// expel asks the leader of a group to let a member go.
func (n *Node) expel(ctx context.Context, g *topology.Group, member uint64) error {
	var members []string
	for _, m := range g.Members {
		if m.Address != n.self.Address {
			members = append(members, m.Address)
		}
	}
	if g.Name == n.self.Name && g.Leader == n.self.Member {
		err := n.runner.Load().Leave(ctx, member, false)
		if slices.Contains(n.roster().Left, member) {
			return nil // another one was asked at the same time
		}
		return err
	}
	m := n.visitor(&topology.Identity{Group: topology.GroupID(n.config.Secret, g.Name), Starts: n.self.Starts, Address: n.self.Address})
	defer m.Close()
	_, err := ask(ctx, m, members, &request{What: asksExpel, Leaves: member})
	return err
}
