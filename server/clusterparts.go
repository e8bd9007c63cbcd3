package server

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
// that was asked for the snapshot (clustersnapshots.go) asks for that.

// What is asked for.
const (
	asksStill  = "still"  // the leader of a group: have no move of slots begin, and say which slots the group has
	asksPart   = "part"   // the leader of a group: make a part of Whole, if the group still has those slots by the entry Index
	asksParts  = "parts"  // any server: list all parts
	asksRemove = "remove" // any server: remove its part with the name and the ID of Whole; "" is any
)

// partRequest is what a server asks another one for.
type partRequest struct {
	What  string
	Index uint64          `json:",omitempty"`
	Node  string          `json:",omitempty"` // its ID, for asksDismiss
	Whole *snapshot.Whole `json:",omitempty"`
	Task  *taskRequest    `json:",omitempty"` // for asksTask
}

// partReply is what it is told.
type partReply struct {
	Group   string // ID of the group of the server that replies
	Error   string `json:",omitempty"`
	Again   bool   `json:",omitempty"` // the same request may be taken later
	Follows bool   `json:",omitempty"` // the leader alone takes the request
	Leader  string `json:",omitempty"` // its address, if it is known
	Index   uint64 `json:",omitempty"`
	Slots   string `json:",omitempty"`
	Parts   []part `json:",omitempty"`
	Removed int    `json:",omitempty"`
	Task    *taskReply `json:",omitempty"`
}

// part is a part of a snapshot of the cluster that a server has.
type part struct {
	members.ClusterSnapshotPart
	Whole *snapshot.Whole `json:",omitempty"`
}

// respond responds to another server.
func (srv *Server) respond(ctx context.Context, request []byte) []byte {
	var q partRequest
	a := &partReply{Error: "the request does not decode"}
	if json.Unmarshal(request, &q) == nil {
		a = srv.servePart(ctx, &q)
	}
	out, err := json.Marshal(a)
	if err != nil {
		return nil
	}
	return out
}

func (srv *Server) servePart(ctx context.Context, q *partRequest) *partReply {
	m := host{srv}.Membership()
	if m == nil || m.Gone {
		return &partReply{Error: "the server is of no group now", Again: true, Follows: true}
	}
	a := srv.servePartAs(ctx, m, q)
	a.Group = m.ID
	return a
}

// servePartAs does what a member of a group is asked for.
func (srv *Server) servePartAs(ctx context.Context, m *commands.Membership, q *partRequest) *partReply {
	w := q.Whole
	if (q.What == asksPart || q.What == asksRemove) && (w == nil || !validSnapshotName(w.Name)) {
		return &partReply{Error: string(commands.ErrSnapshotName)}
	}
	switch q.What {
	case asksDismiss:
		return srv.dismissed(ctx, m, q.Node)
	case asksParts:
		return srv.parts()
	case asksRemove:
		return srv.removePart(w)
	case asksStill, asksPart, asksTask:
		if !m.Leads {
			a := &partReply{Error: "the server does not lead its group", Again: true, Follows: true}
			if m.Led && m.Leader >= 0 {
				a.Leader = m.Members[m.Leader].Address()
			}
			return a
		}
		switch q.What {
		case asksPart:
			return srv.makePart(ctx, q)
		case asksTask:
			return srv.serveTask(q.Task)
		}
		return srv.standStill()
	}
	return &partReply{Error: "the server does not know what it is asked: it is of an earlier version"}
}

// standStill says which slots the group has, if none is on its way.
func (srv *Server) standStill() *partReply {
	index, own, err := srv.opts.Group.HoldStill(stillFor)
	if err != nil {
		return &partReply{Error: err.Error(), Again: true}
	}
	return &partReply{Index: index, Slots: own.String()}
}

// makePart makes a part. Before and after, the group has the slots that the part is said to have: so has the part, whose log
// is as of a moment between.
func (srv *Server) makePart(ctx context.Context, q *partRequest) *partReply {
	part := srv.origin(q.Whole).Part()
	if part == nil {
		return &partReply{Error: "the group has no part in the snapshot", Again: true}
	}
	if a := srv.stands(q.Index, part.Slots); a != nil {
		return a
	}
	switch err := srv.snapshotIn(q.Whole.Name, q.Whole); {
	case errors.Is(err, fs.ErrExist):
		return &partReply{Error: textOf(commands.ErrSnapshotExists)}
	case err != nil:
		srv.logf(LogWarning, "a part of the cluster snapshot %s: %v", q.Whole.Name, err)
		return &partReply{Error: err.Error()}
	}
	a := srv.stands(q.Index, part.Slots)
	if a == nil && ctx.Err() != nil {
		a = &partReply{Error: "the snapshot took too long: " + context.Cause(ctx).Error()}
	}
	if a == nil {
		if a = srv.parts(); a.Error == "" {
			srv.logf(LogNotice, "snapshot %s is complete, as a part of a snapshot of the cluster", q.Whole.Name)
			return a
		}
	}
	srv.removePart(q.Whole) // nobody waits for it any more
	return a
}

// stands returns an error unless the group has the same slots by the same entry as when they were asked for.
func (srv *Server) stands(index uint64, slots string) *partReply {
	a := srv.standStill()
	switch {
	case a.Error != "":
		return a
	case a.Index != index || a.Slots != slots:
		return &partReply{Error: "slots or members of the group have changed meanwhile", Again: true}
	}
	return nil
}

// parts lists the parts that this server has.
func (srv *Server) parts() *partReply {
	found, err := srv.store.Snapshots(srv.snapshotDir())
	if err != nil {
		return &partReply{Error: err.Error()}
	}
	a := &partReply{}
	for _, f := range found {
		p := f.Origin.Part()
		if p == nil || f.Origin.Whole.Name != f.Name {
			continue
		}
		dir, err := filepath.Abs(filepath.Join(srv.snapshotDir(), f.Name))
		if err != nil {
			return &partReply{Error: err.Error()}
		}
		a.Parts = append(a.Parts, part{members.ClusterSnapshotPart{Group: p.Group, Slots: p.Slots, Node: f.Origin.Node, Address: f.Origin.Address,
			Dir: dir, Bytes: f.Bytes}, f.Origin.Whole})
	}
	return a
}

// removePart removes the part of a snapshot, if this server has it.
func (srv *Server) removePart(w *snapshot.Whole) *partReply {
	srv.saves.mu.Lock()
	defer srv.saves.mu.Unlock()
	had := srv.parts()
	if had.Error != "" {
		return had
	}
	a := &partReply{}
	for _, p := range had.Parts {
		if p.Whole.Name != w.Name || w.ID != "" && p.Whole.ID != w.ID {
			continue
		}
		if err := srv.store.RemoveSnapshot(filepath.Join(srv.snapshotDir(), w.Name)); err != nil {
			srv.logf(LogWarning, "%v", err)
			return &partReply{Error: err.Error()}
		}
		a.Removed++
	}
	return a
}

// textOf is an error of clients without the word in front.
func textOf(err commands.WireError) string { return string(err)[len("ERR "):] }
