package cluster

import (
	"fmt"
	"strings"

	"github.com/vigildb/vigil/commands"
)

// node is a member of one of the groups of the cluster, as the one that is asked sees it.
type node struct {
	*commands.Member
	m      *commands.Membership
	shard  *commands.Shard
	own    bool // of the group of the member that is asked
	i      int  // index in the shard
	leads  bool // or was the last one to be known as the leader
	myself bool
	usable bool // if that is known: the leader of old, while there is no other one, is not
	listed bool // clients are told of it: a learner may have nothing yet
}

// each calls f with all nodes of a shard, which is that of m if own says so: the leader first.
func each(m *commands.Membership, shard *commands.Shard, own bool, f func(n node)) {
	visit := func(i int) {
		n := node{Member: &shard.Members[i], m: m, shard: shard, own: own, i: i, leads: i == shard.Leader, myself: own && i == m.Self}
		switch {
		case n.leads || !own:
			n.usable = shard.Up
		default:
			n.usable = m.Up(i)
		}
		n.listed = n.myself || !n.Hidden()
		f(n)
	}
	if shard.Leader >= 0 {
		visit(shard.Leader)
	}
	for i := range shard.Members {
		if i != shard.Leader {
			visit(i)
		}
	}
}

// eachNode calls f with all nodes of the cluster, one shard after the other.
func eachNode(m *commands.Membership, f func(n node)) {
	all := m.Shards()
	for k := range all {
		each(m, &all[k], k == 0, f)
	}
}

// find returns the node with an ID.
func find(m *commands.Membership, id string) (found node, known bool) {
	eachNode(m, func(n node) {
		if n.ID == id {
			found, known = n, true
		}
	})
	return found, known
}

// named is a call about the node with the ID that is the next argument.
func named(run func(c *commands.Ctx, n node) error) func(*commands.Ctx) error {
	return seen(func(c *commands.Ctx, m *commands.Membership) error {
		id := c.Args.Bytes()
		n, known := find(m, string(id))
		if !known {
			return errUnknownNode(id)
		}
		return run(c, n)
	})
}

// line describes a node as CLUSTER NODES does.
func (n node) line(c *commands.Ctx) string {
	var flags []string
	if n.myself {
		flags = append(flags, "myself")
	}
	role, master, slots := "slave", "-", ""
	switch {
	case n.leads:
		if role = "master"; n.shard.Slots.Len() > 0 {
			slots = " " + n.shard.Slots.String()
		}
	case n.shard.Leader >= 0:
		master = n.shard.Members[n.shard.Leader].ID
	}
	flags = append(flags, role)
	pong, link := c.Now, "connected"
	if n.myself {
		pong = 0
	} else if !n.usable {
		flags = append(flags, "fail")
		pong, link = 0, "disconnected"
	}
	address := fmt.Sprintf("%s:%d@%d", n.Host, n.Port, n.BusPort())
	if name := n.Name(); name != "" {
		address += "," + name
	}
	return fmt.Sprintf("%s %s %s %s 0 %d %d %s%s", n.ID, address, strings.Join(flags, ","), master, pong, n.shard.Term, link, slots)
}

// listSlots describes a node as CLUSTER SLOTS does. Beside the host that clients are to use it tells the others that
// the node has.
func (n node) listSlots(c *commands.Ctx) {
	c.Reply.Array(4)
	e := c.Host.Limits().Endpoint
	if e == commands.EndpointUnknown {
		c.Reply.Null()
	} else {
		c.Reply.BulkString(n.Endpoint(e))
	}
	c.Reply.Int(int64(n.Port))
	c.Reply.BulkString(n.ID)
	var others []string
	if !n.Named && e != commands.EndpointIP {
		others = append(others, "ip", n.Host)
	}
	if name := n.Name(); name != "" && e != commands.EndpointHostname && (e != commands.EndpointIP || name != n.Host) {
		others = append(others, "hostname", name)
	}
	if n.Zone != "" {
		others = append(others, "availability-zone", n.Zone)
	}
	c.Reply.Map(len(others) / 2)
	for _, text := range others {
		c.Reply.BulkString(text)
	}
}

// describe describes a node of a shard. What others have is known to the leader of the shard alone.
func (n node) describe(c *commands.Ctx) {
	role, health, entry := "replica", "online", n.Entry
	if n.leads {
		role = "master"
	}
	if n.myself {
		entry = n.m.Last
	}
	if !n.usable {
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
		text("id", n.ID)
		number("port", int64(n.Port))
		ip := n.Host
		if n.Named {
			ip = ""
		}
		text("ip", ip)
		text("endpoint", n.Endpoint(c.Host.Limits().Endpoint))
		if name := n.Name(); name != "" {
			text("hostname", name)
		}
		text("role", role)
		number("replication-offset", int64(entry))
		text("health", health)
		if n.Zone != "" {
			text("availability-zone", n.Zone)
		}
		return pairs
	})
}
