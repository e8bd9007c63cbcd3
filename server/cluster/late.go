package cluster

import (
	"slices"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

// lateness is how long a leader that goes on to have entries does not tell others that one
// is committed. Only reads at followers notice.
const lateness = 2 * time.Millisecond

// later keeps a message which tells a member what is committed, and nothing else, and
// reports whether it did. As a rule the next entries follow soon, and say it too: so each
// entry costs a message and its reply for each member instead of two.
func (d *Driver) later(m *raftpb.Message) bool {
	if m.GetType() != raftpb.MsgApp {
		return false
	}
	d.late = slices.DeleteFunc(d.late, func(old *raftpb.Message) bool { return old.GetTo() == m.GetTo() })
	if len(m.GetEntries()) > 0 {
		return false
	}
	d.late = append(d.late, m)
	return true
}

// Late reports whether there are messages for SendLate.
func (d *Driver) Late() bool { return len(d.late) > 0 }

// SendLate sends what nothing has come for meanwhile. It is to be called after lateness; Advance calls it too.
func (d *Driver) SendLate() {
	for _, m := range d.late {
		d.sendNow(m)
	}
	d.late = nil
}

func (d *Driver) sendNow(m *raftpb.Message) {
	d.says(m)
	d.hold(m)
	d.Mesh.Send(m)
}
