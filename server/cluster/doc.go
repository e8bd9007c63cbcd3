// Package cluster makes a server a member of a group, and of the cluster that groups make: a [Handle] is what the server holds of it.
//
// What a group and a cluster are made of has rooms:
//
//   - raftnode is a member of one group: raft over the log of its store, and what follows from it. It knows no other group.
//   - topology is what is known of all groups: their assignments of slots, members, addresses and names. It knows no raft.
//   - migrate is what a leader does about the slots of its group: assignments, tombstones, and moves with their keys. It knows no connection.
//   - mesh carries messages and requests between servers.
//   - logs says how important a line of the log is, and which ones are said once a minute.
//
// This package joins them: which member a directory is of, how a server comes into a group and goes to another one
// ([Handle.Replicate]), what members ask their leader for, and which connections all of this has. What a server asks for is a method of
// the handle, which has one [Node] at a time; a node has what it does by itself.
package cluster
