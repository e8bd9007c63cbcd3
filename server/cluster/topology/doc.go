// Package topology is what a server knows of its cluster: which groups there are, their members and where these are, which slots each
// has, and what servers call themselves. ADR 0062.
//
// Most of it is data with a form of its own, between servers and on disk:
//
//   - a [Assignment] is what the log of a group says of slots: those that it has, those that move, and tombstones of other groups;
//   - a [Group] is what is told of one, and a [Table] all of them. News may come in any order, and often: the same pieces
//     make the same table, and the same table divides the slots alike everywhere;
//   - an [Identity] says which member a directory belongs to, and of what group;
//   - names are what servers announce beside their addresses.
//
// A [Cluster] keeps all of it at one server, and exchanges it with others: one member of each other group once a second, and all of
// them when something changes. It asks the own group ([Own]) what is so there, and tells its leader ([Steward]) when to look at what
// the group claims. It knows neither raft nor logs, and decides nothing: groups agree on their assignments, and servers pass on what
// groups say. Cluster.mu is held while Own.Group is called, and Options.ShardChannels.
package topology
