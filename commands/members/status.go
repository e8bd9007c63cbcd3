package members

import "github.com/vigildb/vigil/commands"

// status describes the group as the member that is asked knows it. What others have is known to
// the leader alone.
func status(c *commands.Ctx) error {
	if err := c.Args.Done(); err != nil {
		return err
	}
	m := c.Membership()
	if m == nil {
		return errAlone
	}
	c.Reply.MapLater(func() int {
		d := &description{reply: &c.Reply}
		d.text("name", m.Name)
		d.text("group", m.ID)
		d.text("state", state(m))
		d.number("self", m.Members[m.Self].Number)
		leader := uint64(0)
		if m.Led && m.Leader >= 0 {
			leader = m.Master().Number
		}
		d.number("leader", leader)
		d.number("term", m.Term)
		d.number("level", m.Level)
		d.number("last-entry", m.Last)
		d.number("committed-entry", m.Commits)
		d.number("state-bytes-received", uint64(m.Received))
		d.number("voters", uint64(m.Voters()))
		d.number("quorum", uint64(m.Quorum()))
		d.name("members")
		writeMembers(&c.Reply, m)
		return d.pairs
	})
	return nil
}

// state says how the member that is asked takes part.
func state(m *commands.Membership) string {
	switch {
	case m.Gone:
		return "left"
	case m.Received > 0:
		return "receives-state"
	case m.Syncing:
		return "may-lack-writes" // it does not vote before it has heard what is committed
	case m.Leads:
		return "leads"
	case m.Led:
		return "follows"
	}
	return "no-leader"
}

// description writes names and values.
type description struct {
	reply *commands.Reply
	pairs int
}

func (d *description) name(name string) {
	d.reply.BulkString(name)
	d.pairs++
}

func (d *description) text(name, value string) {
	d.name(name)
	d.reply.BulkString(value)
}

func (d *description) number(name string, value uint64) {
	d.name(name)
	d.reply.Int(int64(value))
}

// writeMembers writes a map for each member.
func writeMembers(r *commands.Reply, m *commands.Membership) {
	r.Array(len(m.Members))
	for i := range m.Members {
		o := &m.Members[i]
		r.MapLater(func() int {
			d := &description{reply: r}
			d.number("member", o.Number)
			d.text("id", o.ID)
			d.text("address", o.Address())
			if o.Nodename != "" {
				d.text("nodename", o.Nodename)
			}
			d.text("role", role(m, i))
			d.text("link", link(m, i))
			if o.NewestLevel != 0 {
				d.number("newest-level", o.NewestLevel)
			}
			if m.Leads {
				d.number("entry", o.Entry)
				d.number("lag", m.Last-min(m.Last, o.Entry))
				d.number("state-bytes-sent", uint64(o.Sent))
			}
			return d.pairs
		})
	}
}

func role(m *commands.Membership, i int) string {
	o := &m.Members[i]
	switch {
	case m.Gone && i == m.Self:
		return "none"
	case m.Led && i == m.Leader:
		return "leader"
	case o.Learner:
		return "learner"
	case o.Leaves:
		return "leaving"
	}
	return "voter"
}

// link says whether a member is heard, by what the one that is asked knows.
func link(m *commands.Membership, i int) string {
	switch {
	case i == m.Self:
		return "self"
	case m.Leads && m.Members[i].Active, !m.Leads && m.Led && i == m.Leader:
		return "up"
	case m.Leads:
		return "down"
	}
	return "unknown"
}
