package members

import (
	"context"
	"time"

	"github.com/vigildb/vigil/commands"
)

// ClusterSnapshots is a server of a cluster of several groups that makes snapshots of all of them.
type ClusterSnapshots interface {
	// CreateClusterSnapshot asks every group for a snapshot with a name; "" asks for a name made of the time. With an error
	// nothing is left of it at servers that can be reached.
	CreateClusterSnapshot(ctx context.Context, name string) (*ClusterSnapshot, error)
	// ClusterSnapshots lists those that some server has a part of, the oldest first, and the addresses of servers that
	// were not heard.
	ClusterSnapshots(ctx context.Context) (all []*ClusterSnapshot, silent []string, err error)
	// DeleteClusterSnapshot removes the parts of all snapshots of a cluster with a name, and returns how many there were.
	DeleteClusterSnapshot(ctx context.Context, name string) (parts int, err error)
}

// ClusterSnapshot is a snapshot of a whole cluster: one of each group that has slots.
type ClusterSnapshot struct {
	Name, ID string
	Made     int64         // when it was begun, in ms of Unix time
	Within   time.Duration // the moments of the parts are no farther apart; 0 if that is not known any more
	Groups   int           // that had slots
	Parts    []ClusterSnapshotPart
}

// ClusterSnapshotPart is what one server has of it.
type ClusterSnapshotPart struct {
	Group, Slots  string // ID of the group, and its slots at that moment
	Node, Address string // of the server that has the part
	Dir           string // at that server
	Bytes         int64  // of its files, some of which may be shared with the store
}

// Complete reports whether there is a part of each group.
func (s *ClusterSnapshot) Complete() bool {
	groups := map[string]bool{}
	for i := range s.Parts {
		groups[s.Parts[i].Group] = true
	}
	return len(groups) == s.Groups
}

// snapshot makes, lists and removes snapshots of the whole cluster.
func snapshot(c *commands.Ctx) error {
	switch c.Args.Word() {
	case "CREATE":
		return createSnapshot(c)
	case "LIST":
		return listSnapshots(c)
	case "DELETE":
		return deleteSnapshot(c)
	}
	c.Args.Syntax()
	return c.Args.Err()
}

// ofCluster returns what makes snapshots of the cluster, unless the server is of none.
func ofCluster(c *commands.Ctx) (ClusterSnapshots, *commands.Membership, error) {
	if err := c.Args.Done(); err != nil {
		return nil, nil, err
	}
	m, err := group(c)
	switch {
	case err != nil:
		return nil, nil, err
	case !c.Host.Limits().Slots:
		return nil, nil, errNoSlots
	}
	return c.Host.(ClusterSnapshots), m, c.MayCompute(0)
}

// createSnapshot is for leaders: one that follows may be asked by mistake, and hears of other groups later.
func createSnapshot(c *commands.Ctx) error {
	name := ""
	if c.Args.More() {
		if name = c.Args.String(); name == "" {
			return commands.ErrSnapshotName
		}
	}
	to, m, err := ofCluster(c)
	switch {
	case err != nil:
		return err
	case !m.Leads:
		return errNotLeader(m)
	}
	return c.Compute(func(ctx context.Context) (func(*commands.Reply), error) {
		s, err := to.CreateClusterSnapshot(ctx, name)
		return func(r *commands.Reply) { writeSnapshot(r, s) }, wire(err)
	})
}

func listSnapshots(c *commands.Ctx) error {
	to, _, err := ofCluster(c)
	if err != nil {
		return err
	}
	return c.Compute(func(ctx context.Context) (func(*commands.Reply), error) {
		all, silent, err := to.ClusterSnapshots(ctx)
		return func(r *commands.Reply) {
			r.Map(2)
			r.BulkString("snapshots")
			r.Array(len(all))
			for _, s := range all {
				writeSnapshot(r, s)
			}
			r.BulkString("not-heard")
			r.Array(len(silent))
			for _, address := range silent {
				r.BulkString(address)
			}
		}, wire(err)
	})
}

func deleteSnapshot(c *commands.Ctx) error {
	name := c.Args.String()
	to, _, err := ofCluster(c)
	if err != nil {
		return err
	}
	return c.Compute(func(ctx context.Context) (func(*commands.Reply), error) {
		n, err := to.DeleteClusterSnapshot(ctx, name)
		return func(r *commands.Reply) { r.Int(int64(n)) }, wire(err)
	})
}

// writeSnapshot writes a snapshot with its parts.
func writeSnapshot(r *commands.Reply, s *ClusterSnapshot) {
	r.MapLater(func() int {
		d := &description{reply: r}
		d.text("name", s.Name)
		d.text("id", s.ID)
		d.number("time-ms", uint64(s.Made))
		if s.Within > 0 {
			d.number("within-ms", uint64(s.Within.Milliseconds()))
		}
		d.name("complete")
		r.Bool(s.Complete())
		d.number("groups", uint64(s.Groups))
		d.name("parts")
		r.Array(len(s.Parts))
		for i := range s.Parts {
			p := &s.Parts[i]
			r.MapLater(func() int {
				d := &description{reply: r}
				d.text("node", p.Node)
				d.text("address", p.Address)
				d.text("group", p.Group)
				d.text("slots", p.Slots)
				d.text("directory", p.Dir)
				d.number("bytes", uint64(p.Bytes))
				return d.pairs
			})
		}
		return d.pairs
	})
}

// wire makes an error one for clients.
func wire(err error) error {
	if _, ours := commands.Text(err); err != nil && !ours {
		return commands.Errorf("ERR %s", err.Error())
	}
	return err
}
