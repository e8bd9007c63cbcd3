package cluster

import (
	"maps"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// A leader whose last vote goes with a change of the members steps down when it applies that. The others
// go on to ask for its vote until they know that the change is committed. They do not get it if its log has more
// entries, and it cannot lead: if they do not hear of the commit the group waits for ever.

// farewell is what a leader that has stepped down so tells the others until another one leads.
type farewell struct {
	messages []*raftpb.Message
	due      time.Duration
}

// bidFarewell tells the members what is committed at the end of a leadership, up to the entry that has ended it.
func (d *Driver) bidFarewell(led raft.Status, index uint64) {
	d.farewell = farewell{due: d.now}
	for _, id := range slices.Sorted(maps.Keys(led.Progress)) {
		if commit := min(led.Progress[id].Match, index); id != d.ID && commit > 0 {
			d.farewell.messages = append(d.farewell.messages, d.word(id, led.HardState.GetTerm(), commit))
		}
	}
	d.sayFarewell()
}

// word tells a member, which has them, up to where entries are committed in a term that this one leads or led.
func (d *Driver) word(to, term, commit uint64) *raftpb.Message {
	kind := raftpb.MsgHeartbeat
	return &raftpb.Message{Type: &kind, From: &d.ID, To: &to, Term: &term, Commit: &commit}
}

// sayFarewell says it again if there is still no leader. To those who hear it a leader seems to be there, so that
// it must not come often.
func (d *Driver) sayFarewell() {
	f := &d.farewell
	if len(f.messages) == 0 {
		return
	}
	if s := d.node.BasicStatus(); s.Lead != raft.None || s.HardState.GetTerm() != f.messages[0].GetTerm() {
		*f = farewell{}
		return
	}
	if d.now >= f.due {
		f.due = d.now + 5*d.timeout()
		for _, m := range f.messages {
			d.Mesh.Send(m)
		}
	}
}
