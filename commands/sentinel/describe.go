package sentinel

import (
	"strconv"

	"github.com/vigildb/vigil/commands"
)

// description writes the names and values by which Sentinel describes an instance.
// Clients look at a few of them: address, flags and numbers of others. What Sentinel
// measures by its pings, and the times since, are 0 for members that are there.
type description struct {
	reply *commands.Reply
	pairs int
}

func (d *description) text(name, value string) {
	d.reply.BulkString(name)
	d.reply.BulkString(value)
	d.pairs++
}

func (d *description) number(name string, value int64) { d.text(name, strconv.FormatInt(value, 10)) }

// describe writes what all kinds of instances have, and then what more adds.
func describe(c *commands.Ctx, m *commands.Membership, name, kind string, i int, more func(d *description)) {
	c.Reply.MapLater(func() int {
		d := &description{reply: &c.Reply}
		o, flags := &m.Members[i], kind
		down := !m.Up(i)
		if down {
			flags = "s_down," + kind + ",disconnected"
		}
		d.text("name", name)
		d.text("ip", o.Host)
		d.number("port", int64(o.Port))
		d.text("runid", o.ID)
		d.text("flags", flags)
		for _, zero := range []string{"link-pending-commands", "last-ping-sent", "last-ok-ping-reply", "last-ping-reply"} {
			d.number(zero, 0)
		}
		d.number("link-refcount", 1)
		more(d)
		return d.pairs
	})
}

func writeMaster(c *commands.Ctx, m *commands.Membership) {
	describe(c, m, m.Name, "master", m.Leader, func(d *description) {
		d.text("role-reported", "master")
		d.number("config-epoch", int64(m.Term))
		d.number("num-slaves", int64(m.Voters()-1))
		d.number("num-other-sentinels", int64(m.Voters()-1))
		d.number("quorum", int64(m.Quorum()))
	})
}

func writeReplica(c *commands.Ctx, m *commands.Membership, i int, o *commands.Member) {
	link := "ok"
	if !m.Led || !m.Up(i) {
		link = "err"
	}
	describe(c, m, address(o), "slave", i, func(d *description) {
		d.text("role-reported", "slave")
		d.number("master-link-down-time", 0)
		d.text("master-link-status", link)
		d.text("master-host", m.Members[m.Leader].Host)
		d.number("master-port", int64(m.Members[m.Leader].Port))
		d.number("slave-priority", 100)
		d.number("slave-repl-offset", int64(o.Entry))
		d.number("replica-announced", 1)
	})
}

func writeSentinel(c *commands.Ctx, m *commands.Membership, i int, o *commands.Member) {
	describe(c, m, o.ID, "sentinel", i, func(d *description) {
		d.number("last-hello-message", 0)
		d.text("voted-leader", m.Members[m.Leader].ID)
		d.number("voted-leader-epoch", int64(m.Term))
	})
}

// address is the name of a replica. Hosts of IPv6 have no brackets, as in Sentinel.
func address(o *commands.Member) string { return o.Host + ":" + strconv.Itoa(o.Port) }
