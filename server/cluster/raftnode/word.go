package raftnode

import (
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// A change of the members counts for those that know it as committed. One that does not goes by the members before, and
// asks for votes that it needs no more: of a leader that has left with entries which nobody else has, of a voter that may not vote (R6). It
// would not get them, and might wait for ever. So whoever is asked for a vote says which change was the last, also if it is not to vote.

// kindOfWord is of raft's messages to a member's own clients, which drivers drop when they come from another member.
const kindOfWord = raftpb.MsgReadIndexResp

// tellCandidate tells a member that asks for a vote in which entry the members have changed last, with its term.
func (d *Driver) tellCandidate(m *raftpb.Message) {
	index := d.Members().Index
	term, err := d.Log.Term(index)
	if err != nil || index == 0 { // it was cut off, or there is none
		return
	}
	from := m.GetFrom()
	d.Mesh.Send(&raftpb.Message{Type: kindOfWord.Enum(), From: &d.ID, To: &from, Index: &index, LogTerm: &term})
}

// told takes note that an entry is committed, if its log has that entry. To raft it is the heartbeat of a leader, which is trusted
// for an election timeout; the member's own next campaign comes when it would have come.
func (d *Driver) told(m *raftpb.Message) error {
	s := d.node.BasicStatus()
	if s.RaftState == raft.StateLeader || m.GetIndex() <= s.HardState.GetCommit() || d.node.HasReady() {
		return nil
	}
	if term, err := d.Log.Term(m.GetIndex()); err != nil || term != m.GetLogTerm() {
		return nil
	}
	return d.node.Step(&raftpb.Message{Type: raftpb.MsgHeartbeat.Enum(), From: m.From, To: &d.ID, Term: s.HardState.Term, Commit: m.Index})
}

// Message is what members send each other.
type Message = raftpb.Message
