package raftnode

import (
	"slices"

	"go.etcd.io/raft/v3"
)

// View is what a member knows of its group.
type View struct {
	ID, Leader, Term uint64 // Leader is 0 if none is known
	Leads            bool   // this member takes changes
	Lost             bool   // it may lack what it has acknowledged (R6): its vote is missing
	Committed, Last  uint64 // entries
	Level            uint64 // of the group
	// Members are all members and this one, in the order of their ids.
	Members []MemberView
	// Received is how many bytes of a state have come that is on its way to this member, 0 for none.
	Received int64
}

// MemberView is what the leader knows of a member. Others know only which ones there are.
type MemberView struct {
	ID      uint64
	Address string // where clients connect to it, "" if that is not known
	Votes   bool   // it is no learner
	Ready   bool   // this member knows that it is a learner that has what there was when it joined
	Leaves  bool   // it votes until the change that is under way is done
	Sent    int64  // bytes that were sent of a state that is on its way to it, 0 for none
	Match   uint64 // last entry that it has
	Record  uint64 // last record of those entries
	Active  bool   // it replied within an election timeout
	// NewestLevel is the newest level that it knows, 0 if it was not heard.
	NewestLevel uint64
}

// View returns what this member knew of the group a tick ago, or when View was called the
// last time, or another leadership began or ended, if that is later. It waits for nothing: its callers may hold locks that the
// driver waits for.
func (r *Runner) View() *View {
	r.awaited.Store(true)
	if !r.watched.Swap(true) {
		r.config.Proposals.signal()
	}
	return r.view.Load()
}

// Seen returns the last view. Nobody looks because of it.
func (r *Runner) Seen() *View { return r.view.Load() }

// Reads reports whether this member votes, or has what there was when it joined: clients may read it.
func (r *Runner) Reads() bool { return r.reads.Load() }

// show makes the view anew if somebody has asked for it, or waits for what there may be to see now, and with each
// change of the leadership: clients that look for the leader find none meanwhile.
func (r *Runner) show() {
	s, v := r.driver.node.BasicStatus(), r.view.Load()
	look := r.watched.Swap(false) || s.Lead != v.Leader || s.HardState.GetTerm() != v.Term || r.driver.leads() != v.Leads
	if !look && r.awaited.Load() {
		look = r.acked || s.HardState.GetCommit() > v.Committed
	}
	r.acked = false
	if look {
		r.look()
	}
}

// progress is a number that grows with what the members have, and with what is committed.
func (v *View) progress() (n uint64) {
	n = v.Committed
	for i := range v.Members {
		n += v.Members[i].Record
	}
	return n
}

// Heard reports whether a leader has heard what a member has.
func (v *View) Heard(id uint64) bool {
	i := slices.IndexFunc(v.Members, func(m MemberView) bool { return m.ID == id })
	return i >= 0 && v.Members[i].Match > 0
}

// look makes the view anew, and tells those that wait for what is new in it.
func (r *Runner) look() {
	s := r.driver.node.Status()
	v := &View{ID: r.config.ID, Leader: s.Lead, Term: s.HardState.GetTerm(), Committed: s.HardState.GetCommit(),
		Leads: r.driver.leads(), Lost: r.replica.Lost()}
	_, v.Last = r.replica.log.Bounds()
	members := r.replica.Members()
	v.Level = members.EffectiveLevel()
	ids := members.IDs()
	if at, there := slices.BinarySearch(ids, r.config.ID); !there { // it has not read yet that it has joined, or has left
		ids = slices.Insert(ids, at, r.config.ID)
	}
	for _, id := range ids {
		m := MemberView{ID: id, Address: r.config.Address(members, id), Votes: members.Voter(id), Sent: r.states.sent(id), NewestLevel: r.driver.newestOf(id)}
		m.Ready = r.config.Odd && !m.Votes && (id != r.config.ID || slices.Contains(members.IDs(), id))
		m.Leaves = m.Votes && !slices.Contains(members.Conf.GetVoters(), id)
		if p, ok := s.Progress[id]; ok && s.RaftState == raft.StateLeader {
			m.Match, m.Active = p.Match, r.driver.active(id)
			m.Ready = m.Ready && p.Match > 0
			m.Record, _ = r.replica.log.LastRecord(p.Match) // 0 for a member that lacks more than the log has
		}
		v.Members = append(v.Members, m)
	}
	r.reads.Store(members.Voter(r.config.ID) || r.config.Odd && slices.Contains(members.IDs(), r.config.ID))
	v.Received = r.states.received.Load()
	old := r.view.Swap(v)
	if r.config.Led != nil && (old == nil || old.Leader != v.Leader || old.Lost != v.Lost) {
		r.config.Led(old, v)
	}
	if old != nil && v.progress() != old.progress() && r.awaited.Swap(false) && r.config.Role.Acknowledged != nil {
		r.config.Role.Acknowledged()
	}
}
