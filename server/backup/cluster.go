package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/members"
	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/server/internal/clock"
	"github.com/vigildb/vigil/server/peers"
	"github.com/vigildb/vigil/structures/slots"
)

// Snapshots of a whole cluster. The server that is asked makes each group with slots write a part of the whole. Before,
// no move of slots is under way, and none begins; each part is made only if its group still has the same slots by the same
// entry of its log. So the parts have every slot once, whatever moment each of them is of. ADR 0077.

var errNoGroup = errors.New("this server is not a member of a group")

// Cluster makes snapshots of the cluster, and the parts of this server.
type Cluster struct{ v *Snapshots }

// ClusterOf returns the cluster of a server, which responds to requests about snapshots from now on.
func ClusterOf(v *Snapshots) *Cluster {
	c := &Cluster{v}
	StandStill.Handle(v.o.Peers, c.standStill)
	MakePart.Handle(v.o.Peers, c.makePart)
	ListParts.Handle(v.o.Peers, c.listParts)
	RemovePart.Handle(v.o.Peers, c.removePart)
	return c
}

const (
	// patience is how long slots may be on their way, or a group without a leader, before a snapshot is given up, and
	// pause how long it is waited in between.
	patience, pause = 30 * time.Second, 100 * time.Millisecond
	// stillFor is how long no move of slots begins after a group was asked for that.
	stillFor = 5 * time.Second
	// partPatience is how long a server may take for what it is asked, and listPatience the same for all servers at once, some of
	// which may be gone.
	partPatience, listPatience = 20 * time.Second, 5 * time.Second
)

// Create makes a snapshot with a name; "" is the time. After an error what was made of it is removed.
func (c *Cluster) Create(ctx context.Context, name string) (s *members.ClusterSnapshot, err error) {
	switch {
	case name == "":
		name = c.v.Name()
	case !valid(name) || Automatic(name):
		return nil, commands.ErrSnapshotName
	}
	for end := c.v.o.Clock.Now().Add(patience); ; clock.Rest(ctx, c.v.o.Clock, pause) {
		s, err = c.try(ctx, name)
		if !peers.IsTransient(err) || ctx.Err() != nil || c.v.o.Clock.Now().After(end) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("no snapshot of the cluster is made: %w", err)
	}
	return s, nil
}

// try tries once to make a snapshot. After an error what was made of it is removed.
func (c *Cluster) try(ctx context.Context, name string) (*members.ClusterSnapshot, error) {
	id := fmt.Sprintf("%016x", c.v.o.ID())
	w := &snapshot.Whole{Name: name, ID: id, Made: c.v.o.Clock.Now().UnixMilli()}
	shards, entries, err := c.allStill(ctx, w)
	if err != nil {
		return nil, err
	}
	s := &members.ClusterSnapshot{Name: name, ID: w.ID, Made: w.Made, Groups: len(shards), Parts: make([]members.ClusterSnapshotPart, len(shards))}
	began := c.v.o.Clock.Now()
	late, cancel := clock.Within(ctx, c.v.o.Clock, partPatience)
	err = MakePart.AskLeaders(late, c.v.o.Peers, shards, func(i int) *PartOrder { return &PartOrder{Index: entries[i], Whole: w} },
		func(i int, a *Parts) error {
			for _, p := range a.Parts {
				if p.Whole.ID == w.ID && p.Group == shards[i].ID {
					s.Parts[i] = p.ClusterSnapshotPart
					return nil
				}
			}
			return errors.New("the group says nothing of its part")
		})
	cancel()
	if s.Within = max(c.v.o.Clock.Since(began), time.Millisecond); err == nil {
		c.v.o.Logf(false, "the snapshot %s of the cluster is complete: %d groups, within %v", name, len(shards), s.Within)
		return s, nil
	}
	if _, silent, _ := c.remove(context.WithoutCancel(ctx), w); len(silent) > 0 {
		c.v.o.Logf(true, "%s may have a part of the snapshot %s of the cluster, which is not complete: VIGIL.CLUSTER SNAPSHOT DELETE removes it", strings.Join(silent, ", "), name)
	}
	return nil, err
}

// allStill prevents moves of slots, and notes the parts of a snapshot: the groups that have slots, in the order of their
// IDs, and the entries of their logs that say so.
func (c *Cluster) allStill(ctx context.Context, w *snapshot.Whole) (shards []commands.Shard, entries []uint64, err error) {
	m := c.v.o.Membership()
	if m == nil {
		return nil, nil, errNoGroup
	}
	for _, s := range m.Shards() {
		if s.Slots.Len() > 0 {
			shards = append(shards, s)
		}
	}
	slices.SortFunc(shards, func(a, b commands.Shard) int { return strings.Compare(a.ID, b.ID) })
	entries = make([]uint64, len(shards))
	w.Parts = make([]snapshot.Part, len(shards))
	late, cancel := clock.Within(ctx, c.v.o.Clock, partPatience)
	defer cancel()
	err = StandStill.AskLeaders(late, c.v.o.Peers, shards, func(int) *peers.Nothing { return &peers.Nothing{} }, func(i int, a *Still) error {
		entries[i], w.Parts[i] = a.Index, snapshot.Part{Group: shards[i].ID, Slots: a.Slots}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	all, n := new(slots.Set), 0
	for _, p := range w.Parts {
		of, err := slots.Parse(p.Slots)
		if err != nil {
			return nil, nil, fmt.Errorf("the slots of the group %s: %w", p.Group, err)
		}
		all, n = all.Union(of), n+of.Len()
	}
	switch free := slots.All().Without(all); {
	case free.Len() > 0:
		return nil, nil, peers.Transient(fmt.Errorf("the slots %s have no group", free))
	case n > slots.Count:
		return nil, nil, peers.Transient(errors.New("some slots are of two groups"))
	}
	return shards, entries, nil
}

// List lists the snapshots of the cluster that some server has a part of.
func (c *Cluster) List(ctx context.Context) (all []*members.ClusterSnapshot, silent []string, err error) {
	of := map[string]*members.ClusterSnapshot{} // by their IDs
	late, cancel := clock.Within(ctx, c.v.o.Clock, listPatience)
	defer cancel()
	silent, err = ListParts.AskAll(late, c.v.o.Peers, &peers.Nothing{}, func(a *Parts) {
		for _, p := range a.Parts {
			s := of[p.Whole.ID]
			if s == nil {
				s = &members.ClusterSnapshot{Name: p.Whole.Name, ID: p.Whole.ID, Made: p.Whole.Made, Groups: len(p.Whole.Parts)}
				of[p.Whole.ID] = s
			}
			s.Parts = append(s.Parts, p.ClusterSnapshotPart)
		}
	})
	all = slices.SortedFunc(maps.Values(of), func(a, b *members.ClusterSnapshot) int {
		return cmp.Or(cmp.Compare(a.Made, b.Made), strings.Compare(a.ID, b.ID))
	})
	for _, s := range all {
		slices.SortFunc(s.Parts, func(a, b members.ClusterSnapshotPart) int {
			return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Address, b.Address))
		})
	}
	return all, silent, cmp.Or(err, ctx.Err())
}

// Delete removes the parts of all snapshots of the cluster with a name.
func (c *Cluster) Delete(ctx context.Context, name string) (parts int, err error) {
	if !valid(name) {
		return 0, commands.ErrSnapshotName
	}
	parts, silent, err := c.remove(ctx, &snapshot.Whole{Name: name})
	switch {
	case err != nil:
		return parts, err
	case len(silent) > 0:
		return parts, commands.Errorf("ERR %d parts are removed, and these servers have not replied, which may have others: %s", parts, strings.Join(silent, " "))
	case parts == 0:
		return 0, commands.ErrNoSnapshot
	}
	return parts, nil
}

// remove removes the parts of a snapshot at all servers. It returns how many they were, and the addresses of the servers that
// have not replied.
func (c *Cluster) remove(ctx context.Context, w *snapshot.Whole) (parts int, silent []string, err error) {
	late, cancel := clock.Within(ctx, c.v.o.Clock, listPatience)
	defer cancel()
	silent, err = RemovePart.AskAll(late, c.v.o.Peers, &PartOrder{Whole: w}, func(a *Removed) { parts += a.Removed })
	return parts, silent, err
}
