package sentinel

import (
	"fmt"
	"strings"

	"github.com/vigildb/vigil/commands"
)

// Group returns the rows.
func Group() commands.Group {
	const flags = commands.Admin | commands.Loading | commands.Stale
	row := func(name string, arity int, syntax, since, summary string, run func(*commands.Ctx) error) commands.Command {
		return commands.Command{Name: "SENTINEL " + name, Arity: arity, Flags: flags, Syntax: syntax, Since: since,
			Cost: "O(n) for n members of the group", Summary: summary, Run: run}
	}
	return commands.Group{Name: "sentinel", Commands: []commands.Command{
		{Name: "SENTINEL", Arity: -2, Since: "2.8.4", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands by which clients find the leader of a group."},
		row("CKQUORUM", 3, "master-name", "2.8.4", "Reports whether enough members are there to elect a leader.", named(checkQuorum)),
		row("FAILOVER", 3, "master-name", "2.8.0", "Transfers leadership to another member. The leader takes the call.", named(failover)),
		row("GET-MASTER-ADDR-BY-NAME", 3, "master-name", "2.8.4", "Returns the host and port of the member that leads.", masterAddress),
		row("MASTER", 3, "master-name", "2.8.4", "Describes the member that leads.", named(master)),
		row("MASTERS", 2, "", "2.8.4", "Describes the members that lead: one, or none for a server that is alone.", masters),
		row("MYID", 2, "", "6.2.0", "Returns the ID of this member.", myID),
		row("REPLICAS", 3, "master-name", "5.0.0", "Describes the members that follow.", named(replicas)),
		row("SENTINELS", 3, "master-name", "2.8.4", "Describes the other members, each of which can be asked the same.", named(sentinels)),
		row("SLAVES", 3, "master-name", "2.8.0", "Old name of SENTINEL REPLICAS.", named(replicas)),
		commands.Help("SENTINEL", "6.2.0", commands.Loading|commands.Stale),
	}}
}

// named is a call about the group with the name that is the next argument.
func named(run func(c *commands.Ctx, m *commands.Membership) error) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		m := c.Membership()
		if name := c.Args.String(); m == nil || m.Leader < 0 || m.Name != name {
			return errNoMaster
		}
		return run(c, m)
	}
}

// masterAddress returns the last leader that was known while none is: a client that
// connects to it in vain asks again.
func masterAddress(c *commands.Ctx) error {
	m := c.Membership()
	if name := c.Args.String(); m == nil || m.Leader < 0 || m.Name != name {
		c.Reply.NullArray()
		return nil
	}
	leader := &m.Members[m.Leader]
	c.Reply.Array(2)
	c.Reply.BulkString(leader.Host)
	c.Reply.BulkInt(int64(leader.Port))
	return nil
}

// checkQuorum counts the members that can vote. A follower that hears a leader knows that
// a majority does.
func checkQuorum(c *commands.Ctx, m *commands.Membership) error {
	usable := 0
	if !m.Members[m.Self].Learner && !m.Gone {
		usable = 1
	}
	if m.Leads {
		m.Others(m.Self, func(_ int, o *commands.Member) {
			if o.Active {
				usable++
			}
		})
	} else if m.Led {
		usable = m.Quorum()
	}
	if usable < m.Quorum() {
		return errNoQuorum(usable)
	}
	c.Reply.Status(fmt.Sprintf("OK %d usable Sentinels. Quorum and failover authorization can be reached", usable))
	return nil
}

// Leader is a server that can give its leadership away.
type Leader interface {
	// HandOver transfers leadership to another member, soon after it has returned.
	HandOver()
}

// failover replies at once, as a Sentinel does, and can come to nothing if the others are lost
// meanwhile.
func failover(c *commands.Ctx, m *commands.Membership) error {
	if !m.Leads {
		return commands.ErrLeaderOnly(c.Command)
	}
	others := 0
	m.Others(m.Self, func(_ int, o *commands.Member) {
		if o.Active {
			others++
		}
	})
	if others == 0 {
		return errNoSuccessor
	}
	c.Host.(Leader).HandOver()
	c.Reply.OK()
	return nil
}

func myID(c *commands.Ctx) error {
	id := strings.Repeat("0", 40)
	if m := c.Membership(); m != nil {
		id = m.Members[m.Self].ID
	}
	c.Reply.BulkString(id)
	return nil
}

func master(c *commands.Ctx, m *commands.Membership) error {
	writeMaster(c, m)
	return nil
}

func masters(c *commands.Ctx) error {
	m := c.Membership()
	if m == nil || m.Leader < 0 {
		c.Reply.Array(0)
		return nil
	}
	c.Reply.Array(1)
	writeMaster(c, m)
	return nil
}

func replicas(c *commands.Ctx, m *commands.Membership) error {
	writeOthers(c, m, m.Leader, writeReplica)
	return nil
}

func sentinels(c *commands.Ctx, m *commands.Membership) error {
	writeOthers(c, m, m.Self, writeSentinel)
	return nil
}

// writeOthers describes the members that vote, but one. Learners may have nothing yet: a client
// that reads from replicas must not find them.
func writeOthers(c *commands.Ctx, m *commands.Membership, than int, write func(c *commands.Ctx, m *commands.Membership, i int, o *commands.Member)) {
	c.Reply.ArrayLater(func() (n int) {
		m.Others(than, func(i int, o *commands.Member) {
			write(c, m, i, o)
			n++
		})
		return n
	})
}
