// Package cluster has the commands of Redis Cluster. A group whose clients see a cluster is a shard of
// it, with some or all of the slots: its leader is the master and the followers are the replicas.
// Clients learn from these commands where the masters are, and form clusters of groups by them. What
// a group decides by itself is refused, with what does it there.
//
// In other servers the commands are those of a Redis without cluster mode: client
// libraries send them to find out, and expect its error.
package cluster
