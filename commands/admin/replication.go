package admin

import (
	"strconv"

	"github.com/vigildb/vigil/commands"
)

func replicationRows() []commands.Command {
	return []commands.Command{
		{Name: "ROLE", Arity: 1, Flags: commands.NoScript | commands.Loading | commands.Stale | commands.Fast | commands.Dangerous, Category: "admin",
			Since: "2.8.12", Cost: "O(n) for n members of the group",
			Summary: "Returns the replication role: a master, or a follower in a group.", Run: role},
		{Name: "REPLICAOF", Arity: 3, Flags: commands.Admin | commands.NoScript | commands.Stale | commands.NoAsyncLoading,
			Syntax: "<host port | NO ONE>", Since: "5.0.0", Cost: "O(1)",
			Summary: "Accepts only NO ONE of a master: no server follows another one by command.", Run: replicaOf},
		{Name: "SLAVEOF", Arity: 3, Flags: commands.Admin | commands.NoScript | commands.Stale | commands.NoAsyncLoading,
			Syntax: "<host port | NO ONE>", Since: "1.0.0", Cost: "O(1)",
			Summary: "Old name of REPLICAOF.", Run: replicaOf},
	}
}

// role shows entries of the group's log where Redis has offsets. A leader shows the
// followers that reply to it.
func role(c *commands.Ctx) error {
	m := c.Membership()
	switch {
	case m == nil:
		c.Reply.Array(3)
		c.Reply.BulkString("master")
		c.Reply.Int(0)
		c.Reply.Array(0)
	case m.Leads:
		c.Reply.Array(3)
		c.Reply.BulkString("master")
		c.Reply.Int(int64(m.Last))
		c.Reply.ArrayLater(func() (n int) {
			m.Others(m.Self, func(_ int, o *commands.Member) {
				if !o.Active {
					return
				}
				n++
				c.Reply.Strings([]string{o.Host, strconv.Itoa(o.Port), strconv.FormatUint(o.Entry, 10)})
			})
			return n
		})
	default:
		followerRole(c, m)
	}
	return nil
}

func followerRole(c *commands.Ctx, m *commands.Membership) {
	leader := m.Master()
	state := "connect"
	if m.Led {
		state = "connected"
	}
	c.Reply.Array(5)
	c.Reply.BulkString("slave")
	c.Reply.BulkString(leader.Host)
	c.Reply.Int(int64(leader.Port))
	c.Reply.BulkString(state)
	c.Reply.Int(int64(m.Commits))
}

func replicaOf(c *commands.Ctx) error {
	m := c.Membership()
	if c.Args.Is("NO") && c.Args.Is("ONE") && (m == nil || m.Leads) {
		c.Reply.OK()
		return nil
	}
	if m != nil {
		return errGroupElects
	}
	all := c.Args.All()
	if port, ok := commands.ParseInt(all[2]); !ok || port < 0 || port > 65535 {
		return errMasterPort
	}
	return errNoReplication
}
