package cluster

import "github.com/vigildb/vigil/commands"

const errDisabled = commands.WireError("ERR This instance has cluster support disabled")

const (
	asks    = commands.Stale
	decides = commands.Admin | commands.Stale | commands.NoAsyncLoading
)

// Group returns the rows. But for READONLY and READWRITE, a call whose number of arguments
// is right is always the same error.
func Group() commands.Group {
	rows := []commands.Command{
		{Name: "READONLY", Arity: 1, Flags: commands.Loading | commands.Stale | commands.Fast, Since: "3.0.0", Cost: "O(1)",
			Category: "connection", Summary: "Lets a replica in a cluster be read."},
		{Name: "READWRITE", Arity: 1, Flags: commands.Loading | commands.Stale | commands.Fast, Since: "3.0.0", Cost: "O(1)",
			Category: "connection", Summary: "Ends READONLY."},
		{Name: "ASKING", Arity: 1, Flags: commands.Fast, Since: "3.0.0", Cost: "O(1)",
			Category: "connection", Summary: "Has the next command served by the node to which a slot moves."},
		{Name: "CLUSTER", Arity: -2, Since: "3.0.0", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands of cluster mode, which vigil does not have."},
	}
	for _, r := range subcommands {
		r.Name = "CLUSTER " + r.Name
		if r.Since == "" {
			r.Since = "3.0.0"
		}
		if r.Cost == "" {
			r.Cost = "O(1)"
		}
		rows = append(rows, r)
	}
	for i := range rows {
		switch rows[i].Name {
		case "CLUSTER":
		case "READONLY", "READWRITE":
			rows[i].Run = readOnly
		default:
			rows[i].Run = disabled
		}
	}
	return commands.Group{Name: "cluster", Commands: rows}
}

// readOnly notes whether old data of a follower will do for the client.
func readOnly(c *commands.Ctx) error {
	switch {
	case c.Membership() == nil:
		return errDisabled
	case c.Command.Name == "READONLY":
		c.Client.Set(commands.ClientReadOnly)
	default:
		c.Client.Clear(commands.ClientReadOnly)
	}
	c.Reply.OK()
	return nil
}

func disabled(*commands.Ctx) error { return errDisabled }

// changing is the tip of replies that differ from call to call.
const changing = "nondeterministic_output"

var subcommands = []commands.Command{
	{Name: "ADDSLOTS", Arity: -3, Flags: decides, Syntax: "slot [slot ...]", Cost: "O(n) for n slots", Summary: "Assigns slots to the node."},
	{Name: "ADDSLOTSRANGE", Arity: -4, Flags: decides, Syntax: "start-slot end-slot [start-slot end-slot ...]", Since: "7.0.0",
		Cost: "O(n) for n slots", Summary: "Assigns ranges of slots to the node."},
	{Name: "BUMPEPOCH", Arity: 2, Flags: decides, Tips: changing, Summary: "Raises the epoch of the configuration."},
	{Name: "COUNT-FAILURE-REPORTS", Arity: 3, Flags: commands.Admin | commands.Stale, Tips: changing, Syntax: "node-id",
		Cost: "O(n) for n reports", Summary: "Counts the reports that a node has failed."},
	{Name: "COUNTKEYSINSLOT", Arity: 3, Flags: asks, Syntax: "slot", Summary: "Counts the keys of a slot."},
	{Name: "DELSLOTS", Arity: -3, Flags: decides, Syntax: "slot [slot ...]", Cost: "O(n) for n slots", Summary: "Takes slots from the node."},
	{Name: "DELSLOTSRANGE", Arity: -4, Flags: decides, Syntax: "start-slot end-slot [start-slot end-slot ...]", Since: "7.0.0",
		Cost: "O(n) for n slots", Summary: "Takes ranges of slots from the node."},
	{Name: "FAILOVER", Arity: -2, Flags: decides, Syntax: "[FORCE | TAKEOVER]", Summary: "Makes a replica the master of its slots."},
	{Name: "FLUSHSLOTS", Arity: 2, Flags: decides, Summary: "Takes all slots from the node."},
	{Name: "FORGET", Arity: 3, Flags: decides, Syntax: "node-id", Summary: "Removes a node from the node's table."},
	{Name: "GETKEYSINSLOT", Arity: 4, Flags: asks, Tips: changing, Syntax: "slot count", Cost: "O(n) for n keys", Summary: "Lists keys of a slot."},
	{Name: "INFO", Arity: 2, Flags: asks, Tips: changing, Summary: "Returns the state of the node."},
	{Name: "KEYSLOT", Arity: 3, Flags: asks, Syntax: "key", Cost: "O(n) for n bytes", Summary: "Returns the slot of a key."},
	{Name: "LINKS", Arity: 2, Flags: asks, Tips: changing, Since: "7.0.0", Cost: "O(n) for n nodes", Summary: "Lists the connections to other nodes."},
	{Name: "MEET", Arity: -4, Flags: decides, Syntax: "ip port [cluster-bus-port]", Summary: "Connects the node to another one."},
	{Name: "MYID", Arity: 2, Flags: asks, Summary: "Returns the ID of the node."},
	{Name: "MYSHARDID", Arity: 2, Flags: asks, Tips: changing, Since: "7.2.0", Summary: "Returns the ID of the node's shard."},
	{Name: "NODES", Arity: 2, Flags: asks, Tips: changing, Cost: "O(n) for n nodes", Summary: "Returns what the node knows of the cluster."},
	{Name: "REPLICAS", Arity: 3, Flags: commands.Admin | commands.Stale, Tips: changing, Syntax: "node-id", Since: "5.0.0",
		Cost: "O(n) for n replicas", Summary: "Lists the replicas of a master."},
	{Name: "REPLICATE", Arity: 3, Flags: decides, Syntax: "node-id", Summary: "Makes the node a replica."},
	{Name: "RESET", Arity: -2, Flags: commands.Admin | commands.Stale | commands.NoScript, Syntax: "[HARD | SOFT]",
		Cost: "O(n) for n nodes", Summary: "Makes the node forget the cluster."},
	{Name: "SAVECONFIG", Arity: 2, Flags: decides, Summary: "Writes what the node knows of the cluster to disk."},
	{Name: "SET-CONFIG-EPOCH", Arity: 3, Flags: decides, Syntax: "config-epoch", Summary: "Sets the epoch of a new node."},
	{Name: "SETSLOT", Arity: -4, Flags: decides, Syntax: "slot <IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE>",
		Summary: "Moves a slot to another node."},
	{Name: "SHARDS", Arity: 2, Flags: asks | commands.Loading, Tips: changing, Since: "7.0.0", Cost: "O(n) for n nodes", Summary: "Returns the slots of each shard."},
	{Name: "SLAVES", Arity: 3, Flags: commands.Admin | commands.Stale, Tips: changing, Syntax: "node-id",
		Cost: "O(n) for n replicas", Summary: "Old name of CLUSTER REPLICAS."},
	{Name: "SLOTS", Arity: 2, Flags: asks | commands.Loading, Tips: changing, Cost: "O(n) for n nodes", Summary: "Returns the nodes of each slot."},
	{Name: "HELP", Arity: 2, Flags: commands.Loading | commands.Stale, Since: "5.0.0", Summary: "Lists the subcommands in cluster mode."},
}
