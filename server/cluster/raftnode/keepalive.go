package raftnode

import (
	"context"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/server/internal/clock"
)

const (
	// heavyBytes is from which size on what a turn writes and applies may take long.
	heavyBytes = 1 << 20
	// heavyRate is how many bytes a second a member writes or applies at least, or it is taken for lost.
	heavyRate = 16 << 20
)

// While a member writes a large entry its driver neither sends heartbeats nor replies to any, and the group would
// look for another leader, with the same entry. So others are told meanwhile that the member lives, for as
// long as that entry may take: a disk that hangs is noticed all the same.

// heavy returns how many bytes a turn writes and applies.
func heavy(rd *raft.Ready) (n int) {
	for _, entries := range [][]*raftpb.Entry{rd.Entries, rd.CommittedEntries} {
		for _, e := range entries {
			n += len(e.GetData())
		}
	}
	return n
}

// keepalive begins to tell others that this member lives, if the turn is a heavy one, until
// end is called. Neither message extends a lease: those follow from rounds, and these belong to none.
func (d *Driver) keepalive(rd *raft.Ready) (end func()) {
	n := heavy(rd)
	if n < heavyBytes || d.Keepalive == nil {
		return func() {}
	}
	s := d.node.Status()
	term := s.HardState.GetTerm()
	var messages []*raftpb.Message
	say := func(kind raftpb.MessageType, to uint64) {
		messages = append(messages, &raftpb.Message{Type: &kind, From: &d.ID, To: &to, Term: &term})
	}
	switch {
	case s.RaftState == raft.StateLeader:
		for id := range s.Progress {
			if id != d.ID {
				say(raftpb.MsgHeartbeat, id)
			}
		}
	case s.RaftState == raft.StateFollower && s.Lead != raft.None:
		say(raftpb.MsgHeartbeatResp, s.Lead)
	}
	return d.Keepalive(messages, d.timeout()+time.Duration(n)*time.Second/heavyRate)
}

// keepalive sends messages with each tick until end is called or the patience is over.
func (r *Runner) keepalive(messages []*raftpb.Message, patience time.Duration) (end func()) {
	ctx, end := context.WithTimeout(r.ctx, patience)
	go func() {
		for ended := false; !ended; ended = clock.Rest(ctx, r.config.Clock, r.config.Election/ticks) != nil {
			for _, m := range messages {
				r.config.Mesh.Send(m)
			}
		}
	}()
	return end
}
