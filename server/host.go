package server

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/acl"
	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/commands/conn"
	"github.com/vigildb/vigil/commands/keys"
	"github.com/vigildb/vigil/commands/members"
	"github.com/vigildb/vigil/commands/pubsub"
	"github.com/vigildb/vigil/commands/script"
	"github.com/vigildb/vigil/commands/sentinel"
)

// host is what handlers ask of the server and what is the same for every client: the
// configuration, snapshots, keyspace events and what administrators ask for. A
// session has one and adds what depends on the client: its transaction, its
// subscriptions, its connection.
type host struct{ srv *Server }

// A session is the host of its calls. Families declare what they need of it beside
// their handlers.
var (
	_ commands.Host            = (*session)(nil)
	_ commands.Grouped         = (*session)(nil)
	_ commands.PartEvents      = (*session)(nil)
	_ commands.Relocker        = (*session)(nil)
	_ acl.Access               = (*session)(nil)
	_ acl.Files                = (*session)(nil)
	_ admin.Backups            = (*session)(nil)
	_ admin.ChangeLog          = (*session)(nil)
	_ admin.Config             = (*session)(nil)
	_ admin.Databases          = (*session)(nil)
	_ admin.Debug              = (*session)(nil)
	_ admin.HotKeys            = (*session)(nil)
	_ admin.Latency            = (*session)(nil)
	_ admin.Replication        = (*session)(nil)
	_ admin.Saves              = (*session)(nil)
	_ admin.Source             = (*session)(nil)
	_ admin.Snapshots          = (*session)(nil)
	_ admin.Statistics         = (*session)(nil)
	_ admin.Exports            = (*session)(nil)
	_ admin.Imports            = (*session)(nil)
	_ cluster.Dismisser        = (*session)(nil)
	_ cluster.Node             = (*session)(nil)
	_ conn.Clients             = (*session)(nil)
	_ conn.Connection          = (*session)(nil)
	_ conn.Login               = (*session)(nil)
	_ conn.Role                = (*session)(nil)
	_ conn.Tracker             = (*session)(nil)
	_ conn.Transactions        = (*session)(nil)
	_ keys.Access              = (*session)(nil)
	_ keys.Durability          = (*session)(nil)
	_ keys.Remote              = (*session)(nil)
	_ members.Changes          = (*session)(nil)
	_ members.Rebalancer       = (*session)(nil)
	_ members.Sharer           = (*session)(nil)
	_ members.Upgrader         = (*session)(nil)
	_ members.ClusterSnapshots = (*session)(nil)
	_ pubsub.Broker            = (*session)(nil)
	_ script.Runner            = (*session)(nil)
	_ sentinel.Leader          = (*session)(nil)
)
