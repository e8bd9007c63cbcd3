// Package member is a store as a member of a group of machines that share its data: what one of them, the leader, changes
// is proposed to the engine of consensus, counts when it is committed, and is applied by the others.
//
// It owns the log of the group, whether the store leads, what was applied, and the states that members give each other: an [Export] is
// read as a stream and written to an [Import]. It knows nothing of keys, values or transactions: what it asks of the store
// is a [Host], what applies entries to memory an [Applier]. The engine, a [Replicator], calls the methods of [Member], one at a
// time where these say so.
//
// The lock of what is due is taken before that of the journal; the locks of all shards before what a leader or a follower
// changes. ADR 0047.
package member
