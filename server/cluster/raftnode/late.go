package raftnode

import (
	"slices"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

// lateness is for how long a leader that has more entries to send does not tell others that one
// is committed. Only reads at followers notice.
const lateness = 2 * time.Millisecond

// lateMessage is one that is kept.
type lateMessage struct {
	*raftpb.Message
	since time.Duration
}

// later keeps a message which tells a member what is committed, and nothing else, and
// reports whether it did. As a rule the next entries follow soon, and say it too: so each
// entry costs a message and its reply for each member instead of two.
func (d *Driver) later(m *raftpb.Message) bool {
	if m.GetType() != raftpb.MsgApp {
		return false
	}
	d.late = slices.DeleteFunc(d.late, func(old lateMessage) bool { return old.GetTo() == m.GetTo() })
	if len(m.GetEntries()) > 0 {
		return false
	}
	d.late = append(d.late, lateMessage{m, d.now})
	return true
}

// Late returns when the first message for SendLate is to be sent. ok is false if there is none.
func (d *Driver) Late() (due time.Duration, ok bool) {
	if len(d.late) == 0 {
		return 0, false
	}
	return d.late[0].since + lateness, true
}

// SendLate sends what is due and nothing has come for meanwhile.
func (d *Driver) SendLate(now time.Duration) {
	for len(d.late) > 0 && d.late[0].since+lateness <= now {
		d.sendNow(d.late[0].Message)
		d.late = d.late[1:]
	}
}

// sendAllLate is SendLate for what is not due, too.
func (d *Driver) sendAllLate() {
	for _, m := range d.late {
		d.sendNow(m.Message)
	}
	d.late = nil
}

func (d *Driver) sendNow(m *raftpb.Message) {
	d.says(m)
	d.hold(m)
	d.Mesh.Send(m)
}
