// Package resharding moves slots, with their keys, between groups of a cluster: at the leader
// of the group that has them ([Moves]), for the group that asks for them ([Tasks]), and at the
// group that gets them ([Keys.Take]).
//
// It owns which moves wait, are made and are over, the form in which keys travel, and when
// clients that wait for keys of slots that have gone are sent after them ([Departures]).
//
// It touches the keys of the store, under the locks of their shards, some at a time. Which
// group has which slots, and the connection to another group, are the cluster's ([Group]);
// calls are held back by a fence ([Fence]); clients are the server's ([Calls]).
//
// One goroutine makes the moves, one after the other. It waits for the other group, for
// commits and, with the fence closed, for calls that are under way; no call waits for it but
// those that the fence holds back, at most for cluster-node-timeout. The mutex of Moves is
// taken under the lock of the store's texts, and no lock is taken under it.
//
// Keys are copied while clients use them, and those that have changed meanwhile again, until
// few are left. Then the fence is closed, what is left is copied, and the slots are given
// away. Moves that are to be made are kept with the data of the group, so that its next leader
// goes on with them. ADR 0071.
package resharding
