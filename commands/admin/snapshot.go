package admin

import "github.com/vigildb/vigil/commands"

// Snapshots keeps snapshots by name.
type Snapshots interface {
	// Snapshots lists the complete ones, the oldest first.
	Snapshots() ([]Snapshot, error)
	// CreateSnapshot makes one and returns its name; "" asks for a name made of
	// the time.
	CreateSnapshot(name string) (string, error)
	DeleteSnapshot(name string) error
}

// Snapshot is a complete snapshot in the directory of the server.
type Snapshot struct {
	Name      string
	Made      int64 // unix seconds
	Bytes     int64 // of its files, those included that others share
	Automatic bool  // made by a save point, and removed by snapshot-keep
}

func snapshotRows() []commands.Command {
	return []commands.Command{
		{Name: "VIGIL.SNAPSHOT", Arity: -2, Since: "0.2.0", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands about snapshots."},
		{Name: "VIGIL.SNAPSHOT LIST", Arity: 2, Flags: commands.Admin | commands.NoScript | commands.Stale, Since: "0.2.0",
			Cost:    "O(f) for f files of all snapshots",
			Summary: "Lists the complete snapshots, oldest first: name, time, size, and whether a save point made it.",
			Run:     snapshotList},
		{Name: "VIGIL.SNAPSHOT CREATE", Arity: -2, Flags: commands.Admin | commands.NoScript | commands.NoMulti | commands.NoAsyncLoading, Syntax: "[name]",
			Since: "0.2.0", Cost: "O(f) for f files of the store",
			Summary: "Writes a snapshot and returns its name, which by default is the current time.", Run: snapshotCreate},
		{Name: "VIGIL.SNAPSHOT DELETE", Arity: 3, Flags: commands.Admin | commands.NoScript | commands.NoMulti, Syntax: "name",
			Since: "0.2.0", Cost: "O(f) for f files of the snapshot",
			Summary: "Removes a snapshot.", Run: snapshotDelete},
		commands.Help("VIGIL.SNAPSHOT", "0.2.0", commands.Admin|commands.NoScript|commands.Loading|commands.Stale),
	}
}

func snapshotList(c *commands.Ctx) error {
	list, err := c.Host.(Snapshots).Snapshots()
	if err != nil {
		return err
	}
	c.Reply.Array(len(list))
	for _, s := range list {
		c.Reply.Map(4)
		c.Reply.BulkString("name")
		c.Reply.BulkString(s.Name)
		c.Reply.BulkString("time")
		c.Reply.Int(s.Made)
		c.Reply.BulkString("bytes")
		c.Reply.Int(s.Bytes)
		c.Reply.BulkString("automatic")
		c.Reply.Bool(s.Automatic)
	}
	return nil
}

func snapshotCreate(c *commands.Ctx) error {
	name := ""
	if c.Args.More() {
		if name = c.Args.String(); name == "" {
			return commands.ErrSnapshotName
		}
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	name, err := c.Host.(Snapshots).CreateSnapshot(name)
	if err != nil {
		return err
	}
	c.Reply.BulkString(name)
	return nil
}

func snapshotDelete(c *commands.Ctx) error {
	if err := c.Host.(Snapshots).DeleteSnapshot(c.Args.String()); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}
