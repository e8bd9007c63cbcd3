package cluster

import "github.com/vigildb/vigil/commands"

const (
	asks    = commands.Stale
	decides = commands.Admin | commands.Stale | commands.NoAsyncLoading
)

// Group returns the rows. In a server that is not one of a group whose clients see a cluster,
// all but READONLY, READWRITE and KEYSLOT are the same error once the number of arguments is right.
func Group() commands.Group {
	const sets = commands.Loading | commands.Stale | commands.Fast
	rows := []commands.Command{
		{Name: "READONLY", Arity: 1, Flags: sets, Since: "3.0.0", Cost: "O(1)",
			Category: "connection", Summary: "Lets a follower of a group be read.", Run: readOnly},
		{Name: "READWRITE", Arity: 1, Flags: sets, Since: "3.0.0", Cost: "O(1)",
			Category: "connection", Summary: "Ends READONLY.", Run: readOnly},
		{Name: "ASKING", Arity: 1, Flags: commands.Fast, Since: "3.0.0", Cost: "O(1)",
			Category: "connection", Summary: "Has no effect: no part of a slot is ever at another server.", Run: inCluster(ok)},
		{Name: "CLUSTER", Arity: -2, Since: "3.0.0", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands by which clients of Redis Cluster find the members of a group."},
	}
	for _, r := range subcommands() {
		r.Name = "CLUSTER " + r.Name
		if r.Since == "" {
			r.Since = "3.0.0"
		}
		if r.Cost == "" {
			r.Cost = "O(1)"
		}
		if r.Name != "CLUSTER KEYSLOT" {
			r.Run = inCluster(r.Run)
		}
		rows = append(rows, r)
	}
	rows = append(rows, clusterScanRow())
	help := commands.Help("CLUSTER", "5.0.0", commands.Loading|commands.Stale)
	help.Run = inCluster(help.Run)
	return commands.Group{Name: "cluster", Commands: append(rows, help)}
}

// inCluster refuses a call unless clients see a cluster.
func inCluster(run func(*commands.Ctx) error) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		if !c.Host.Limits().Slots {
			return errDisabled
		}
		return run(c)
	}
}

func ok(c *commands.Ctx) error {
	c.Reply.OK()
	return nil
}

// readOnly notes whether old data of a follower will do for the client.
func readOnly(c *commands.Ctx) error {
	if c.Command.Name == "READONLY" {
		c.Client.Set(commands.ClientReadOnly)
	} else {
		c.Client.Clear(commands.ClientReadOnly)
	}
	return ok(c)
}

// changing is the tip of replies that differ from call to call.
const changing = "nondeterministic_output"

func subcommands() []commands.Command {
	return []commands.Command{
		{Name: "ADDSLOTS", Arity: -3, Flags: decides | commands.Agrees, Syntax: "slot [slot ...]", Cost: "O(n) for n slots", Summary: "Gives slots that no group has to that of the node.", Run: seen(addSlots(false))},
		{Name: "ADDSLOTSRANGE", Arity: -4, Flags: decides | commands.Agrees, Syntax: "start-slot end-slot [start-slot end-slot ...]", Since: "7.0.0",
			Cost: "O(n) for n slots", Summary: "Gives slots that no group has to that of the node.", Run: seen(addSlots(true))},
		{Name: "BUMPEPOCH", Arity: 2, Flags: decides | commands.Agrees, Tips: changing, Summary: "Returns the epoch, which is the number of the leadership.", Run: seen(bumpEpoch)},
		{Name: "CANCELSLOTMIGRATIONS", Arity: 2, Flags: decides, Since: "9.0.0", Summary: "Ends the moves of slots that the node makes. What has been moved stays where it is.", Run: seen(cancelMigrations)},
		{Name: "COUNT-FAILURE-REPORTS", Arity: 3, Flags: commands.Admin | commands.Stale, Tips: changing, Syntax: "node-id",
			Cost: "O(n) for n reports", Summary: "Returns 0: members elect a leader without reports of others.", Run: named(countReports)},
		{Name: "COUNTKEYSINSLOT", Arity: 3, Flags: asks, Syntax: "slot", Cost: "O(n) for n keys in all", Summary: "Counts the keys of a slot.", Run: countKeys},
		{Name: "DELSLOTS", Arity: -3, Flags: decides | commands.Agrees, Syntax: "slot [slot ...]", Cost: "O(n) for n keys in all", Summary: "Takes slots without keys from the group of the node.", Run: seen(dropSlots(false))},
		{Name: "DELSLOTSRANGE", Arity: -4, Flags: decides | commands.Agrees, Syntax: "start-slot end-slot [start-slot end-slot ...]", Since: "7.0.0",
			Cost: "O(n) for n keys in all", Summary: "Takes slots without keys from the group of the node.", Run: seen(dropSlots(true))},
		{Name: "FAILOVER", Arity: -2, Flags: decides, Syntax: "[FORCE | TAKEOVER]", Summary: "Asks the leader to hand over to this member.", Run: failover},
		{Name: "FLUSHSLOT", Arity: -3, Flags: commands.Write | commands.Admin | commands.NoAsyncLoading | commands.Frees, Category: "keyspace", Databases: commands.AllDatabases, Syntax: "slot [ASYNC | SYNC]", Since: "9.0.0",
			Cost: "O(n) for n keys in all", Summary: "Removes the keys of a slot.", Run: flushSlot},
		{Name: "FLUSHSLOTS", Arity: 2, Flags: decides, Cost: "O(n) for n keys in all", Summary: "Takes all slots from the group of the node, which has no keys.", Run: seen(flushSlots)},
		{Name: "FORGET", Arity: 3, Flags: decides, Syntax: "node-id", Summary: "Removes a replica from its group, or a master without slots from the cluster.", Run: seen(forget)},
		{Name: "GETKEYSINSLOT", Arity: 4, Flags: asks, Tips: changing, Syntax: "slot count", Cost: "O(n) for n keys in all", Summary: "Lists keys of a slot.", Run: getKeys},
		{Name: "GETSLOTMIGRATIONS", Arity: 2, Flags: asks | commands.Admin | commands.NoAsyncLoading, Since: "9.0.0", Cost: "O(n) for n moves", Summary: "Lists the moves of slots that the node makes, has made lately and is to make.", Run: seen(migrations)},
		{Name: "INFO", Arity: 2, Flags: asks, Tips: changing, Summary: "Returns the state of the node.", Run: seen(info)},
		{Name: "KEYSLOT", Arity: 3, Flags: asks, Syntax: "key", Cost: "O(n) for n bytes", Summary: "Returns the slot of a key.", Run: keySlot},
		{Name: "LINKS", Arity: 2, Flags: asks, Tips: changing, Since: "7.0.0", Cost: "O(n) for n nodes", Summary: "Lists the connections to other nodes.", Run: seen(links)},
		{Name: "MEET", Arity: -4, Flags: decides, Syntax: "ip port [cluster-bus-port]", Summary: "Introduces the groups of two servers to each other.", Run: meet},
		{Name: "MIGRATESLOTS", Arity: -4, Flags: decides, Databases: commands.AllDatabases, Since: "9.0.0", Syntax: "SLOTSRANGE start-slot end-slot [start-slot end-slot ...] NODE node-id [SLOTSRANGE start-slot end-slot [start-slot end-slot ...] NODE node-id ...]",
			Cost: "O(n) for n keys in all, in the background", Summary: "Moves slots of the node to others with their keys.", Run: seen(migrateSlots)},
		{Name: "MIGRATION", Arity: -4, Flags: commands.Admin | commands.NoAsyncLoading | commands.Stale, Since: "8.4.0",
			Syntax: "<IMPORT start-slot end-slot [start-slot end-slot ...] | CANCEL <ID task-id | ALL> | STATUS <ID task-id | ALL>>",
			Cost:   "O(n) for n slots", Summary: "Moves slots of another node to this one with their keys, shows such tasks, and cancels them.", Run: seen(migration)},
		{Name: "MYID", Arity: 2, Flags: asks, Summary: "Returns the ID of the node.", Run: seen(myID)},
		{Name: "MYSHARDID", Arity: 2, Flags: asks, Tips: changing, Since: "7.2.0", Summary: "Returns the ID of the node's shard.", Run: seen(myShardID)},
		{Name: "NODES", Arity: 2, Flags: asks, Tips: changing, Cost: "O(n) for n nodes", Summary: "Returns what the node knows of the cluster.", Run: seen(nodes)},
		{Name: "REPLICAS", Arity: 3, Flags: commands.Admin | commands.Stale, Tips: changing, Syntax: "node-id", Since: "5.0.0",
			Cost: "O(n) for n replicas", Summary: "Lists the replicas of a master.", Run: named(replicas)},
		{Name: "REPLICATE", Arity: 3, Flags: decides, Syntax: "node-id", Summary: "Makes an empty server a replica of a master: a member of its group.", Run: named(replicate)},
		{Name: "RESET", Arity: -2, Flags: commands.Admin | commands.Stale | commands.NoScript, Syntax: "[HARD | SOFT]",
			Cost: "O(n) for n nodes", Summary: "Makes the server a group by itself, without slots, that knows no other one.", Run: seen(reset)},
		{Name: "SAVECONFIG", Arity: 2, Flags: decides, Summary: "Returns OK: members are always on disk.", Run: ok},
		{Name: "SET-CONFIG-EPOCH", Arity: 3, Flags: decides, Syntax: "config-epoch", Summary: "Has no effect: the epoch is the number of the leadership.", Run: setEpoch},
		{Name: "SETSLOT", Arity: -4, Flags: decides | commands.Agrees, Syntax: "slot <IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE>",
			Cost: "O(1), and O(n) for n keys in all where a slot moves", Summary: "MIGRATING has a slot of the node move to another one with its keys. The others return OK when the slot is where they say.", Run: seen(setSlot)},
		{Name: "SHARDS", Arity: 2, Flags: asks | commands.Loading, Tips: changing, Since: "7.0.0", Cost: "O(n) for n nodes", Summary: "Returns the slots of each shard.", Run: seen(shards)},
		{Name: "SLAVES", Arity: 3, Flags: commands.Admin | commands.Stale, Tips: changing, Syntax: "node-id",
			Cost: "O(n) for n replicas", Summary: "Old name of CLUSTER REPLICAS.", Run: named(replicas)},
		{Name: "SLOT-STATS", Arity: -4, Flags: commands.Loading | commands.Stale, Tips: changing + " request_policy:all_shards",
			Syntax: "<SLOTSRANGE start-slot end-slot | ORDERBY metric [LIMIT limit] [ASC | DESC]>", Since: "8.0.0", Cost: "O(n) for n keys in all",
			Summary: "Returns how many keys the slots of the node have.", Run: seen(slotStats)},
		{Name: "SLOTS", Arity: 2, Flags: asks | commands.Loading, Tips: changing, Cost: "O(n) for n nodes", Summary: "Returns the nodes of each slot.", Run: seen(slotNodes)},
	}
}
