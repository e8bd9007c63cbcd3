// Package replica follows a master of Redis's protocol of replication: it connects, takes the master's data as a whole or goes on
// where it was, and passes on what the master sends.
//
// The one idea: only the data knows what was applied of the stream, see [Data]. A connection, and a process, begin with
// asking it, so that each byte counts once whatever was cut off where.
//
// A [Follower] is one goroutine that has one connection at a time, and another one while it is connected, which says once a second how
// far it has got. After a failure it tries again, after a second first and 30 seconds at last.
// A command that cannot be applied stops it for good: the data would not be the same.
//
// It allocates nothing because a master claims it: lines, commands and transactions have limits. It knows neither the store nor the
// commands, and no password appears in what it logs.
package replica
