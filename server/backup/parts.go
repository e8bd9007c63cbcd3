package backup

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/members"
	"github.com/vigildb/vigil/persistence/snapshot"
)

// What a server does for a snapshot of the cluster: it makes, lists and removes parts, in the directory of its snapshots. The server
// that was asked for the snapshot (cluster.go) asks for that.

// What is asked for.
const (
	AsksStill  = "still"  // the leader of a group: have no move of slots begin, and say which slots the group has
	AsksPart   = "part"   // the leader of a group: make a part of Whole, if the group still has those slots by the entry Index
	AsksParts  = "parts"  // any server: list all parts
	AsksRemove = "remove" // any server: remove its part with the name and the ID of Whole; "" is any
)

// Request is what a server asks another one for.
type Request struct {
	What  string
	Index uint64          `json:",omitempty"`
	Node  string          `json:",omitempty"` // its ID, of a server that Other is about
	Whole *snapshot.Whole `json:",omitempty"`
	Task  json.RawMessage `json:",omitempty"` // likewise
}

// Reply is what it is told.
type Reply struct {
	Group   string // ID of the group of the server that replies
	Error   string `json:",omitempty"`
	Again   bool   `json:",omitempty"` // the same request may be taken later
	Follows bool   `json:",omitempty"` // the leader alone takes the request
	Leader  string `json:",omitempty"` // its address, if it is known
	Index   uint64 `json:",omitempty"`
	Slots   string `json:",omitempty"`
	Parts   []Part `json:",omitempty"`
	Removed int    `json:",omitempty"`

	Task json.RawMessage `json:",omitempty"` // what Other has to say
}

// Part is a part of a snapshot of the cluster that a server has.
type Part struct {
	members.ClusterSnapshotPart
	Whole *snapshot.Whole `json:",omitempty"`
}

// Respond responds to another server.
func (c *Cluster) Respond(ctx context.Context, request []byte) []byte {
	var q Request
	a := &Reply{Error: "the request does not decode"}
	if json.Unmarshal(request, &q) == nil {
		a = c.Serve(ctx, &q)
	}
	out, err := json.Marshal(a)
	if err != nil {
		return nil
	}
	return out
}

// Serve is Respond for a request that is decoded.
func (c *Cluster) Serve(ctx context.Context, q *Request) *Reply {
	m := c.v.o.Membership()
	if m == nil || m.Gone {
		return &Reply{Error: "the server is of no group now", Again: true, Follows: true}
	}
	a := c.serveAs(ctx, m, q)
	a.Group = m.ID
	return a
}

// servePartAs does what a member of a group is asked for.
func (c *Cluster) serveAs(ctx context.Context, m *commands.Membership, q *Request) *Reply {
	w := q.Whole
	if (q.What == AsksPart || q.What == AsksRemove) && (w == nil || !valid(w.Name)) {
		return &Reply{Error: string(commands.ErrSnapshotName)}
	}
	switch q.What {
	case AsksParts:
		return c.parts()
	case AsksRemove:
		return c.removePart(w)
	case AsksStill, AsksPart:
		if !m.Leads {
			return Follows(m)
		}
		if q.What == AsksPart {
			return c.makePart(ctx, q)
		}
		return c.standStill()
	}
	if a := c.v.o.Other(ctx, m, q); a != nil {
		return a
	}
	return &Reply{Error: "the server does not know what it is asked: it is of an earlier version"}
}

// Follows is the reply of a member that does not lead its group to what the leader alone does.
func Follows(m *commands.Membership) *Reply {
	a := &Reply{Error: "the server does not lead its group", Again: true, Follows: true}
	if m.Led && m.Leader >= 0 {
		a.Leader = m.Members[m.Leader].Address()
	}
	return a
}

// standStill says which slots the group has, if none is on its way.
func (c *Cluster) standStill() *Reply {
	index, own, err := c.v.o.Group.HoldStill(stillFor)
	if err != nil {
		return &Reply{Error: err.Error(), Again: true}
	}
	return &Reply{Index: index, Slots: own.String()}
}

// makePart makes a part. Before and after, the group has the slots that the part is said to have: so has the part, whose log
// is as of a moment between.
func (c *Cluster) makePart(ctx context.Context, q *Request) *Reply {
	part := c.v.origin(q.Whole).Part()
	if part == nil {
		return &Reply{Error: "the group has no part in the snapshot", Again: true}
	}
	if a := c.stands(q.Index, part.Slots); a != nil {
		return a
	}
	switch err := c.v.makeIn(q.Whole.Name, q.Whole); {
	case errors.Is(err, fs.ErrExist):
		return &Reply{Error: textOf(commands.ErrSnapshotExists)}
	case err != nil:
		c.v.o.Logf(true, "a part of the cluster snapshot %s: %v", q.Whole.Name, err)
		return &Reply{Error: err.Error()}
	}
	a := c.stands(q.Index, part.Slots)
	if a == nil && ctx.Err() != nil {
		a = &Reply{Error: "the snapshot took too long: " + context.Cause(ctx).Error()}
	}
	if a == nil {
		if a = c.parts(); a.Error == "" {
			c.v.o.Logf(false, "snapshot %s is complete, as a part of a snapshot of the cluster", q.Whole.Name)
			return a
		}
	}
	c.removePart(q.Whole) // nobody waits for it any more
	return a
}

// stands returns an error unless the group has the same slots by the same entry as when they were asked for.
func (c *Cluster) stands(index uint64, slots string) *Reply {
	a := c.standStill()
	switch {
	case a.Error != "":
		return a
	case a.Index != index || a.Slots != slots:
		return &Reply{Error: "slots or members of the group have changed meanwhile", Again: true}
	}
	return nil
}

// parts lists the parts that this server has.
func (c *Cluster) parts() *Reply {
	found, err := c.v.List()
	if err != nil {
		return &Reply{Error: err.Error()}
	}
	a := &Reply{}
	for _, f := range found {
		p := f.Origin.Part()
		if p == nil || f.Origin.Whole.Name != f.Name {
			continue
		}
		dir, err := filepath.Abs(filepath.Join(c.v.o.Settings().Dir, f.Name))
		if err != nil {
			return &Reply{Error: err.Error()}
		}
		a.Parts = append(a.Parts, Part{members.ClusterSnapshotPart{Group: p.Group, Slots: p.Slots, Node: f.Origin.Node, Address: f.Origin.Address,
			Dir: dir, Bytes: f.Bytes}, f.Origin.Whole})
	}
	return a
}

// removePart removes the part of a snapshot, if this server has it.
func (c *Cluster) removePart(w *snapshot.Whole) *Reply {
	c.v.mu.Lock()
	defer c.v.mu.Unlock()
	had := c.parts()
	if had.Error != "" {
		return had
	}
	a := &Reply{}
	for _, p := range had.Parts {
		if p.Whole.Name != w.Name || w.ID != "" && p.Whole.ID != w.ID {
			continue
		}
		if err := c.v.o.Store.RemoveSnapshot(filepath.Join(c.v.o.Settings().Dir, w.Name)); err != nil {
			c.v.o.Logf(true, "%v", err)
			return &Reply{Error: err.Error()}
		}
		a.Removed++
	}
	return a
}

// textOf is an error of clients without the word in front.
func textOf(err commands.WireError) string { return string(err)[len("ERR "):] }
