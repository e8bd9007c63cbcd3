package admin

import (
	"strconv"
	"time"

	"github.com/vigildb/vigil/commands"
)

// Replication is what the server knows of a master that it follows, and how it is made to follow one.
type Replication interface {
	// Master describes the master, nil if the server follows none.
	Master() *Master
	// ReplicaOf makes the server follow a master. already: it does.
	ReplicaOf(host string, port int) (already bool, err error)
	// ReplicaOfNoOne makes it a master with the data that it has.
	ReplicaOfNoOne() error
	// Succeed makes it a master because its own asks for that, and names its stream.
	Succeed(stream string) error
	// Failover begins to hand over to a replica, or ends that.
	Failover(o Failover) error
}

// Failover says to whom a master hands over.
type Failover struct {
	Host    string // "": the replica that has most
	Port    int
	Force   bool          // after the timeout although it has not everything
	Timeout time.Duration // 0: none
	Abort   bool
}

// Master is one that the server follows.
type Master struct {
	Host   string
	Port   int
	State  string // of the connection: connect, connecting, handshake, sync, connected
	Offset int64  // of its stream, up to which this was applied; -1: none of it
}

// mostFailover is the longest timeout in ms.
const mostFailover = 1 << 40

func replicationRows() []commands.Command {
	return []commands.Command{
		{Name: "ROLE", Arity: 1, Flags: commands.NoScript | commands.Loading | commands.Stale | commands.Fast | commands.Dangerous, Category: "admin",
			Since: "2.8.12", Cost: "O(n) for n members of the group",
			Summary: "Returns the replication role: a master, a replica, or a follower in a group.", Run: role},
		{Name: "REPLICAOF", Arity: 3, Flags: commands.Admin | commands.NoScript | commands.Stale | commands.NoAsyncLoading,
			Syntax: "<host port | NO ONE>", Since: "5.0.0", Cost: "O(1)",
			Summary: "Makes the server the replica of a master of Redis's protocol, or a master again.", Run: replicaOf},
		{Name: "FAILOVER", Arity: -1, Flags: commands.Admin | commands.NoScript | commands.Stale | commands.NoMulti,
			Syntax: "[TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]", Since: "6.2.0", Cost: "O(1)",
			Summary: "Hands over to a replica, in the background, when that has everything.", Run: failover},
		{Name: "SLAVEOF", Arity: 3, Flags: commands.Admin | commands.NoScript | commands.Stale | commands.NoAsyncLoading,
			Syntax: "<host port | NO ONE>", Since: "1.0.0", Cost: "O(1)",
			Summary: "Old name of REPLICAOF.", Run: replicaOf},
	}
}

// role shows entries of the group's log where Redis has offsets. A leader shows the
// followers that reply to it.
func role(c *commands.Ctx) error {
	m := c.Membership()
	master := c.Host.(Replication).Master()
	switch {
	case master != nil:
		c.Reply.Array(5)
		c.Reply.BulkString("slave")
		c.Reply.BulkString(master.Host)
		c.Reply.Int(int64(master.Port))
		c.Reply.BulkString(master.State)
		c.Reply.Int(master.Offset)
	case m == nil:
		offset, replicas := c.Host.(Source).Replicas()
		c.Reply.Array(3)
		c.Reply.BulkString("master")
		c.Reply.Int(offset)
		c.Reply.Array(len(replicas))
		for _, r := range replicas {
			c.Reply.Strings([]string{r.Host, strconv.Itoa(r.Port), strconv.FormatInt(r.Offset, 10)})
		}
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

func failover(c *commands.Ctx) error {
	if c.Membership() != nil {
		return errFailoverGroup
	}
	var o Failover
	var once commands.Once
	for alone := c.Args.Left() == 1; c.Args.More(); {
		switch word := once.Word(&c.Args); {
		case word == "TO" && c.Args.Left() >= 2:
			o.Host = c.Args.String()
			o.Port = int(c.Args.Int())
		case word == "FORCE":
			o.Force = true
		case word == "ABORT" && alone:
			o.Abort = true
		case word == "TIMEOUT" && c.Args.Left() >= 1:
			ms := c.Args.Int()
			if c.Args.Err() == nil && ms <= 0 {
				return errFailoverTimeout
			}
			o.Timeout = time.Duration(min(ms, mostFailover)) * time.Millisecond
		default:
			c.Args.Syntax()
		}
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	if err := c.Host.(Replication).Failover(o); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}

func replicaOf(c *commands.Ctx) error {
	m, r := c.Membership(), c.Host.(Replication)
	none := c.Args.Is("NO") && c.Args.Is("ONE")
	switch {
	case m != nil && !m.Leads:
		return errGroupFollows
	case none:
		if err := r.ReplicaOfNoOne(); err != nil {
			return err
		}
		c.Reply.OK()
		return nil
	}
	all := c.Args.All()
	port, ok := commands.ParseInt(all[2])
	if !ok || port < 0 || port > 65535 {
		return errMasterPort
	}
	already, err := r.ReplicaOf(string(all[1]), int(port))
	switch {
	case err != nil:
		return err
	case already:
		c.Reply.Status("OK Already connected to specified master")
	default:
		c.Reply.OK()
	}
	return nil
}
