package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
)

// A server whose directory was made of a part of a cluster snapshot founds a group of its own from it: with another name, and
// as a stranger to the cluster that the snapshot is of, which may live. Until it has claimed the slots of its part it has none, and
// exchanges tables only with groups that were restored from the other parts. ADR 0077.

var (
	errRestoredMember = errors.New("cluster: the directory was made of a snapshot, which cannot take the place of the member that it is of: " +
		"start once with --recover alone, after all servers of its group were stopped; or with a new directory and cluster-join")
	errRestoredGroup = errors.New("cluster: the directory was made of a part of a cluster snapshot, from which a new group begins: " +
		"give cluster-enabled yes or cluster-view cluster, and neither cluster-group, cluster-members, cluster-member-id nor cluster-join")
)

// restores decides how a server begins whose directory was made of a snapshot: fresh says that it founds a new group from it,
// spent that it has done so already.
func (n *Node) restores(self *topology.Identity, origin *snapshot.Origin) (fresh, spent bool, err error) {
	part := origin.Part()
	switch c := &n.config; {
	case origin == nil || self == nil || c.Alone:
		return false, origin != nil && self != nil, nil
	case part != nil && self.Restored != nil && self.Restored.Whole.ID == origin.Whole.ID && self.Restored.Group == origin.Group:
		return false, true, nil // it was interrupted
	case part == nil:
		return false, false, fmt.Errorf("%w (it is %s)", errRestoredMember, origin)
	case c.Cluster == nil || c.Name != "" || c.ID != 0 || len(c.Members)+len(c.Join) > 0:
		return false, false, fmt.Errorf("%w (it is %s)", errRestoredGroup, origin)
	}
	if _, err := slots.Parse(part.Slots); err != nil {
		return false, false, fmt.Errorf("cluster: the slots of %s: %w", origin, err)
	}
	return true, true, nil
}

// livesPatience is how long a group may take to say that it lives.
const livesPatience = 2 * time.Second

// lives returns an error if the group that a snapshot is of has a leader: other groups would take the server that goes on as that
// group for its successor, and what clients write at the living one would be lost to them.
func (n *Node) lives(ctx context.Context, self *topology.Identity, was string, log *grouplog.Log) error {
	addresses, err := n.former(self, log)
	if err != nil {
		return err
	}
	m := n.visitor(self)
	defer m.Close()
	ctx, cancel := context.WithTimeout(ctx, livesPatience)
	defer cancel()
	found := make(chan string, len(addresses)+1)
	var asked sync.WaitGroup
	for _, address := range append(addresses, was) {
		if address == self.Address {
			continue // nobody but this server is there
		}
		asked.Go(func() { // ends with ctx
			a, err := ask(ctx, m, []string{address}, &request{What: asksLeader})
			var refused refusedRequest // by a leader of an earlier version
			if err == nil && !a.Gone || errors.As(err, &refused) {
				found <- address
			}
		})
	}
	asked.Wait()
	close(found)
	if address, lives := <-found; lives {
		return fmt.Errorf("cluster: the group that the snapshot is of has a leader, as %s says: with --recover alone this server would take its place. Stop all servers of the group first; a part of a cluster snapshot begins a new cluster without --recover alone", address)
	}
	return nil
}

// found makes this server a new group, of a part of a cluster snapshot.
func (n *Node) found(self *topology.Identity, store *member.Member, origin *snapshot.Origin) error {
	id, err := raftnode.StandAlone(store, self.Address, func(topology.Assignment) topology.Assignment { return topology.Assignment{} })
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	name := drawName()
	*self = topology.Identity{Group: topology.GroupID(n.config.Secret, name), Name: name, Member: id, Address: self.Address, Known: map[uint64]string{}, Restored: origin}
	n.config.Logf(logs.Warn, "this server is a new group, restored from %s", origin)
	return nil
}
