package raftnode

import (
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// Left to itself raft campaigns when a member has heard of no leader for one to two election
// timeouts, drawn by lot, and draws again when a vote is split, when the others still
// trusted the leader, or when this member's log is behind. Members take turns instead: the first campaigns
// after one timeout, the next a tick later, and all ask again within a few ticks. Whether a vote is
// granted is for raft alone: the pre-vote keeps those that are cut off from disturbing others.

// campaigns is when the member campaigns.
type campaigns struct {
	due   time.Duration // for the first of the voters
	tries int
}

// firstRetry is how many ticks a candidate waits before it asks again; it doubles.
const firstRetry = 3

// heard notes that a leader lives, after raft has taken its message.
func (d *Driver) heard(m *raftpb.Message) {
	switch m.GetType() {
	case raftpb.MsgApp, raftpb.MsgHeartbeat, raftpb.MsgSnap:
		if d.node.BasicStatus().Lead == m.GetFrom() {
			d.campaigns = campaigns{due: d.now + d.timeout()}
		}
	case raftpb.MsgAppResp, raftpb.MsgHeartbeatResp:
		d.replied[m.GetFrom()] = d.now
	}
}

// active reports whether a member has replied within an election timeout, or is this one. What Raft itself reports begins anew with
// each such time, so that all members may be missing at once then.
func (d *Driver) active(id uint64) bool {
	at, ever := d.replied[id]
	return id == d.ID || ever && d.now-at < d.timeout()
}

// says notes that a vote is granted: its candidate goes first.
func (d *Driver) says(m *raftpb.Message) {
	switch m.GetType() {
	case raftpb.MsgPreVoteResp, raftpb.MsgVoteResp:
		if !m.GetReject() {
			d.campaigns.due = max(d.campaigns.due, d.now+firstRetry*d.Tick)
		}
	}
}

// awake notes that time passes. A member that was away itself has heard nothing: what waits for it comes first.
func (d *Driver) awake(now time.Duration) {
	if now-d.advanced > firstRetry*d.Tick {
		d.campaigns.due = max(d.campaigns.due, now+firstRetry*d.Tick)
	}
	d.advanced = now
}

// campaign asks for votes when it is this member's turn.
func (d *Driver) campaign() error {
	if d.now < d.campaigns.due {
		return nil
	}
	s := d.node.Status()
	if s.RaftState == raft.StateLeader {
		d.campaigns = campaigns{due: d.now + d.timeout()}
		return nil
	}
	voters := s.Config.Voters.IDs()
	if _, votes := voters[d.ID]; !votes {
		return nil
	}
	turn := s.HardState.GetTerm()
	for id := range voters {
		if id < d.ID {
			turn++
		}
	}
	if d.now < d.campaigns.due+time.Duration(turn%uint64(len(voters)))*d.Tick {
		return nil
	}
	d.campaigns.due = d.now + min(firstRetry*d.Tick<<d.campaigns.tries, d.timeout())
	d.campaigns.tries = min(d.campaigns.tries+1, 8)
	return d.node.Campaign()
}
