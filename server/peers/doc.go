// Package peers carries requests between the servers of a cluster: a server asks the leader
// of a group, all servers or the one at an address for something, and the other one does it
// and replies.
//
// It owns the form of requests and replies, who is asked in which order, and the refusals of
// servers that have no group or do not lead it. What is asked for belongs to the rooms that
// ask: each declares a [Kind] for it and registers a function that responds. How bytes travel
// is the cluster's: see [Options].
//
// A request and a reply are one JSON object each, whose fields are those of this package and
// those of the kind. Servers of several versions ask each other: fields are added, and never
// change. A server that does not know a kind says so.
//
// A request to this server itself goes the same way, without a connection. Nothing is asked
// under a lock of a shard.
package peers
