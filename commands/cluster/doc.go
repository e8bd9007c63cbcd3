// Package cluster has the commands of Redis Cluster. In a group whose clients see a cluster, all
// slots are those of one shard: its leader is the master and the followers are the replicas.
// Clients learn from these commands where the master is. What would change the
// cluster is refused, with what does it in a group.
//
// In other servers the commands are those of a Redis without cluster mode: client
// libraries send them to find out, and expect its error.
package cluster
