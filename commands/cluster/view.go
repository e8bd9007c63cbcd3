package cluster

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/commands"
)

// busOffset is how much higher than that of clients the port is at which members reach each other.
const busOffset = 10000

// seen is a call about the group.
func seen(run func(c *commands.Ctx, m *commands.Membership) error) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		m := c.Membership()
		if m == nil {
			return errNotKnown
		}
		return run(c, m)
	}
}

// named is a call about the member with the ID that is the next argument.
func named(run func(c *commands.Ctx, m *commands.Membership, i int) error) func(*commands.Ctx) error {
	return seen(func(c *commands.Ctx, m *commands.Membership) error {
		id := c.Args.Bytes()
		for i := range m.Members {
			if m.Members[i].ID == string(id) {
				return run(c, m, i)
			}
		}
		return errUnknownNode(id)
	})
}

// ledAndUp reports whether keys can be used, as far as this member knows.
func ledAndUp(m *commands.Membership) bool { return m.Led && (m.Leads || m.Leader != m.Self) }

func info(c *commands.Ctx, m *commands.Membership) error {
	var b strings.Builder
	field := func(name string, value any) { fmt.Fprintf(&b, "%s:%v\r\n", name, value) }
	state, assigned, working, masters := "fail", 0, 0, 0
	if m.Leader >= 0 {
		assigned, masters = commands.Slots, 1
	}
	if ledAndUp(m) {
		state, working = "ok", commands.Slots
	}
	field("cluster_state", state)
	field("cluster_slots_assigned", assigned)
	field("cluster_slots_ok", working)
	field("cluster_slots_pfail", 0)
	field("cluster_slots_fail", assigned-working)
	field("cluster_known_nodes", len(m.Members))
	field("cluster_size", masters)
	field("cluster_current_epoch", m.Term)
	field("cluster_my_epoch", m.Term)
	field("cluster_stats_messages_sent", 0)
	field("cluster_stats_messages_received", 0)
	field("total_cluster_links_buffer_limit_exceeded", 0)
	c.Reply.Verbatim("txt", []byte(b.String()))
	return nil
}

func myID(c *commands.Ctx, m *commands.Membership) error {
	c.Reply.BulkString(m.Members[m.Self].ID)
	return nil
}

func myShardID(c *commands.Ctx, m *commands.Membership) error {
	c.Reply.BulkString(m.ID)
	return nil
}

// there reports whether a member can be used: the leader of old, while there is no other one,
// cannot.
func there(m *commands.Membership, i int) bool {
	if i == m.Leader {
		return ledAndUp(m)
	}
	return m.Up(i)
}

// line describes a member as CLUSTER NODES does.
func line(c *commands.Ctx, m *commands.Membership, i int) string {
	o := &m.Members[i]
	var flags []string
	if i == m.Self {
		flags = append(flags, "myself")
	}
	role, master, slots := "slave", "-", ""
	switch {
	case i == m.Leader:
		role, slots = "master", " 0-"+strconv.Itoa(commands.Slots-1)
	case m.Leader >= 0:
		master = m.Members[m.Leader].ID
	}
	flags = append(flags, role)
	pong, link := c.Now, "connected"
	if i == m.Self {
		pong = 0
	} else if !there(m, i) {
		flags = append(flags, "fail")
		pong, link = 0, "disconnected"
	}
	address := fmt.Sprintf("%s:%d@%d", o.Host, o.Port, o.Port+busOffset)
	if o.Named {
		address += "," + o.Host
	}
	return fmt.Sprintf("%s %s %s %s 0 %d %d %s%s", o.ID, address, strings.Join(flags, ","), master, pong, m.Term, link, slots)
}

func nodes(c *commands.Ctx, m *commands.Membership) error {
	var b strings.Builder
	for i := range m.Members {
		if i == m.Self || !m.Members[i].Learner { // which may have nothing yet
			b.WriteString(line(c, m, i) + "\n")
		}
	}
	c.Reply.Verbatim("txt", []byte(b.String()))
	return nil
}

func replicas(c *commands.Ctx, m *commands.Membership, i int) error {
	if i != m.Leader {
		return errNotMaster
	}
	c.Reply.Array(m.Voters() - 1)
	m.Others(i, func(i int, _ *commands.Member) { c.Reply.BulkString(line(c, m, i)) })
	return nil
}

func countReports(c *commands.Ctx, _ *commands.Membership, _ int) error {
	c.Reply.Int(0)
	return nil
}

// slots lists the leader, be it there or not, and the followers that are.
func slots(c *commands.Ctx, m *commands.Membership) error {
	if m.Leader < 0 {
		c.Reply.Array(0)
		return nil
	}
	c.Reply.Array(1)
	c.Reply.ArrayLater(func() int {
		node := func(o *commands.Member) {
			c.Reply.Array(4)
			c.Reply.BulkString(o.Host)
			c.Reply.Int(int64(o.Port))
			c.Reply.BulkString(o.ID)
			c.Reply.Map(0)
		}
		c.Reply.Int(0)
		c.Reply.Int(commands.Slots - 1)
		n := 3
		node(&m.Members[m.Leader])
		m.Others(m.Leader, func(i int, o *commands.Member) {
			if there(m, i) {
				node(o)
				n++
			}
		})
		return n
	})
	return nil
}

func shards(c *commands.Ctx, m *commands.Membership) error {
	c.Reply.Array(1)
	c.Reply.Map(2)
	c.Reply.BulkString("slots")
	if m.Leader < 0 {
		c.Reply.Array(0)
	} else {
		c.Reply.Array(2)
		c.Reply.Int(0)
		c.Reply.Int(commands.Slots - 1)
	}
	c.Reply.BulkString("nodes")
	c.Reply.Array(m.Voters())
	if m.Leader >= 0 {
		shardNode(c, m, m.Leader)
	}
	m.Others(m.Leader, func(i int, _ *commands.Member) { shardNode(c, m, i) })
	return nil
}

// shardNode describes a member of the shard. What others have is known to the leader.
func shardNode(c *commands.Ctx, m *commands.Membership, i int) {
	o, role, health, entry := &m.Members[i], "replica", "online", m.Members[i].Entry
	if i == m.Leader {
		role = "master"
	}
	if i == m.Self {
		entry = m.Last
	}
	if !there(m, i) {
		health = "failed"
	}
	c.Reply.MapLater(func() int {
		pairs := 0
		text := func(name, value string) {
			c.Reply.BulkString(name)
			c.Reply.BulkString(value)
			pairs++
		}
		number := func(name string, value int64) {
			c.Reply.BulkString(name)
			c.Reply.Int(value)
			pairs++
		}
		text("id", o.ID)
		number("port", int64(o.Port))
		ip := o.Host
		if o.Named {
			ip = ""
		}
		text("ip", ip)
		text("endpoint", o.Host)
		if ip == "" {
			text("hostname", o.Host)
		}
		text("role", role)
		number("replication-offset", int64(entry))
		text("health", health)
		return pairs
	})
}

// links lists a connection in each direction for every other member that is there. How old it
// is and what waits in it is not told.
func links(c *commands.Ctx, m *commands.Membership) error {
	c.Reply.ArrayLater(func() (n int) {
		m.Others(m.Self, func(i int, o *commands.Member) {
			if !there(m, i) {
				return
			}
			for _, direction := range []string{"to", "from"} {
				c.Reply.Map(6)
				text := func(name, value string) { c.Reply.BulkString(name); c.Reply.BulkString(value) }
				zero := func(name string) { c.Reply.BulkString(name); c.Reply.Int(0) }
				text("direction", direction)
				text("node", o.ID)
				zero("create-time")
				text("events", "r")
				zero("send-buffer-allocated")
				zero("send-buffer-used")
				n++
			}
		})
		return n
	})
	return nil
}
