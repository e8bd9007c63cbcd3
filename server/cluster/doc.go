// Package cluster makes a server a member of a group, and of the cluster that groups make: a [Seat] is what the server holds of it.
//
// What a group and a cluster are made of has rooms:
//
//   - raftnode is a member of one group: raft over the log of its store, and what follows from it. It knows no other group.
//   - topology is what is known of all groups: their claims of slots, members, addresses and names. It knows no raft.
//   - mesh carries messages and requests between servers.
//
// This package joins them: which member a directory is of, how a server comes into a group and goes to another one
// ([Seat.Replicate]), what members ask their leader for, and what leaders of two groups agree on while slots move (ADR 0071).
package cluster
