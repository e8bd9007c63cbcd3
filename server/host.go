package server

import "github.com/vigildb/vigil/commands"

// host is the part of [commands.Host] that is the same for every client: the
// configuration, snapshots, keyspace events and what administrators ask for. A
// session has one and adds what depends on the client: its transaction, its
// subscriptions, its connection.
type host struct{ srv *Server }

var _ commands.Host = (*session)(nil)
