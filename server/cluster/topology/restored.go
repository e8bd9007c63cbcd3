package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/structures/slots"
)

// claimed reports whether the own group has ever claimed slots.
func (c *Cluster) claimed() bool {
	g := c.opts.Own.Group()
	return g != nil && g.Assignment.Assigned()
}

// Part returns which part of a cluster snapshot the group is restored from, as long as it has not claimed the slots of that:
// nil for other groups.
func (c *Cluster) Part() (origin *snapshot.Origin, of *slots.Set) {
	origin = c.opts.Self.Restored
	if p := origin.Part(); p != nil && !c.claimed() {
		if of, err := slots.Parse(p.Slots); err == nil {
			return origin, of
		}
	}
	return nil, nil
}

// unrelated is why a restored group exchanges nothing with a server of cluster-peers.
type unrelated struct{ text string }

func (e unrelated) Error() string { return e.text }

// related returns an error unless the server at an address is of a group that was restored from another part of the same cluster
// snapshot. A group that is no restored one, or has its slots, may exchange tables with all servers.
func (c *Cluster) related(ctx context.Context, address string) error {
	own, _ := c.Part()
	if own == nil {
		return nil
	}
	reply, err := c.askServer(ctx, address, 0, []byte{originRequest})
	if err != nil && !errors.Is(err, ErrSilent) {
		return err
	}
	theirs := new(snapshot.Origin)
	if err == nil {
		err = json.Unmarshal(reply, theirs)
	}
	p := theirs.Part()
	switch {
	case errors.Is(err, ErrSilent), err == nil && p == nil:
		return unrelated{fmt.Sprintf("%s of cluster-peers is not restored from a part of the cluster snapshot %s, as this group is: nothing is exchanged with it", address, own.Whole.Name)}
	case err != nil:
		return err
	case theirs.Whole.ID != own.Whole.ID:
		return unrelated{fmt.Sprintf("%s of cluster-peers is restored from another cluster snapshot: %s (%s), and this group from %s (%s)",
			address, theirs.Whole.Name, theirs.Whole.ID, own.Whole.Name, own.Whole.ID)}
	case theirs.Group == own.Group:
		return unrelated{fmt.Sprintf("%s of cluster-peers is restored from the same part of the cluster snapshot %s as this group, slots %s: stop one of the two",
			address, own.Whole.Name, p.Slots)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parts == nil {
		c.parts = map[string]bool{}
	}
	c.parts[theirs.Group] = true
	return nil
}

// Missing logs which parts of a cluster snapshot no server of cluster-peers is restored from.
func (c *Cluster) Missing(own *snapshot.Origin) {
	of := new(slots.Set)
	c.mu.Lock()
	for _, p := range own.Whole.Parts {
		if theirs, err := slots.Parse(p.Slots); err == nil && p.Group != own.Group && !c.parts[p.Group] {
			of = of.Union(theirs)
		}
	}
	c.mu.Unlock()
	if of.Len() > 0 {
		c.opts.Logf(logs.Warn, "no server of cluster-peers is restored from the parts of the cluster snapshot %s with the slots %s: no group has these until CLUSTER MEET leads to one", own.Whole.Name, of)
	}
}
