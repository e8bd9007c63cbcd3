package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/members"
	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/server/peers"
)

// What a server does for a snapshot of the cluster: it makes, lists and removes parts, in the directory of its snapshots. The server
// that was asked for the snapshot (cluster.go) asks for that.

// What servers ask each other for.
var (
	// StandStill has no move of slots of a group begin, and returns which slots it has.
	StandStill = peers.Kind[peers.Nothing, Still]{What: "still", Leader: true}
	// MakePart makes the part of a group, if that still has the same slots by the same entry, and lists the parts of the server.
	MakePart = peers.Kind[PartOrder, Parts]{What: "part", Leader: true}
	// ListParts lists the parts that a server has.
	ListParts = peers.Kind[peers.Nothing, Parts]{What: "parts"}
	// RemovePart removes the part of a server with the name and the ID of Whole; "" is any.
	RemovePart = peers.Kind[PartOrder, Removed]{What: "remove"}
)

// Still is which slots a group has, by which entry of its log.
type Still struct {
	Index uint64 `json:",omitempty"`
	Slots string `json:",omitempty"`
}

// PartOrder names the snapshot whose part is made or removed, and the entry by which the group has the slots of the part.
type PartOrder struct {
	Index uint64          `json:",omitempty"`
	Whole *snapshot.Whole `json:",omitempty"`
}

// named returns an error if the order has no snapshot, or one with a name that is none.
func (o *PartOrder) named() error {
	if o.Whole == nil || !valid(o.Whole.Name) {
		return commands.ErrSnapshotName
	}
	return nil
}

// Parts are the parts that a server has.
type Parts struct {
	Parts []Part `json:",omitempty"`
}

// Part is a part of a snapshot of the cluster that a server has.
type Part struct {
	members.ClusterSnapshotPart
	Whole *snapshot.Whole `json:",omitempty"`
}

// Removed is how many parts were removed.
type Removed struct {
	Removed int `json:",omitempty"`
}

var errChanged = peers.Transient(errors.New("slots or members of the group have changed meanwhile"))

func (c *Cluster) standStill(context.Context, *commands.Membership, *peers.Nothing) (*Still, error) {
	return c.still()
}

func (c *Cluster) listParts(context.Context, *commands.Membership, *peers.Nothing) (*Parts, error) {
	return c.parts()
}

// still says which slots the group has, if none is on its way.
func (c *Cluster) still() (*Still, error) {
	index, own, err := c.v.o.Group.HoldStill(stillFor)
	if err != nil {
		return nil, peers.Transient(err)
	}
	return &Still{index, own.String()}, nil
}

// makePart makes a part. Before and after, the group has the slots that the part is said to have: so has the part, whose log
// is as of a moment between.
func (c *Cluster) makePart(ctx context.Context, _ *commands.Membership, q *PartOrder) (*Parts, error) {
	if err := q.named(); err != nil {
		return nil, err
	}
	part := c.v.origin(q.Whole).Part()
	if part == nil {
		return nil, peers.Transient(errors.New("the group has no part in the snapshot"))
	}
	want := Still{q.Index, part.Slots}
	if err := c.stands(want); err != nil {
		return nil, err
	}
	switch err := c.v.makeIn(q.Whole.Name, q.Whole); {
	case errors.Is(err, fs.ErrExist):
		return nil, commands.ErrSnapshotExists
	case err != nil:
		c.v.o.Logf(true, "a part of the cluster snapshot %s: %v", q.Whole.Name, err)
		return nil, err
	}
	err := c.stands(want)
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("the snapshot took too long: %w", context.Cause(ctx))
	}
	var all *Parts
	if err == nil {
		all, err = c.parts()
	}
	if err != nil {
		c.drop(q.Whole) // nobody waits for it any more
		return nil, err
	}
	c.v.o.Logf(false, "snapshot %s is complete, as a part of a snapshot of the cluster", q.Whole.Name)
	return all, nil
}

// stands returns an error unless the group has the same slots by the same entry as when they were asked for.
func (c *Cluster) stands(want Still) error {
	now, err := c.still()
	if err == nil && *now != want {
		err = errChanged
	}
	return err
}

// parts lists the parts that this server has.
func (c *Cluster) parts() (*Parts, error) {
	found, err := c.v.List()
	if err != nil {
		return nil, err
	}
	all := &Parts{}
	for _, f := range found {
		p := f.Origin.Part()
		if p == nil || f.Origin.Whole.Name != f.Name {
			continue
		}
		dir, err := filepath.Abs(filepath.Join(c.v.o.Settings().Dir, f.Name))
		if err != nil {
			return nil, err
		}
		all.Parts = append(all.Parts, Part{members.ClusterSnapshotPart{Group: p.Group, Slots: p.Slots, Node: f.Origin.Node,
			Address: f.Origin.Address, Dir: dir, Bytes: f.Bytes}, f.Origin.Whole})
	}
	return all, nil
}

func (c *Cluster) removePart(_ context.Context, _ *commands.Membership, q *PartOrder) (*Removed, error) {
	if err := q.named(); err != nil {
		return nil, err
	}
	return c.drop(q.Whole)
}

// drop removes the part of a snapshot, if this server has it.
func (c *Cluster) drop(w *snapshot.Whole) (*Removed, error) {
	c.v.mu.Lock()
	defer c.v.mu.Unlock()
	had, err := c.parts()
	if err != nil {
		return nil, err
	}
	n := &Removed{}
	for _, p := range had.Parts {
		if p.Whole.Name != w.Name || w.ID != "" && p.Whole.ID != w.ID {
			continue
		}
		if err := c.v.o.Copies.Remove(filepath.Join(c.v.o.Settings().Dir, w.Name)); err != nil {
			c.v.o.Logf(true, "%v", err)
			return nil, err
		}
		n.Removed++
	}
	return n, nil
}
