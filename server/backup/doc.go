// Package backup makes snapshots: of one server ([Snapshots]), as SAVE and save points ask
// for, and of a whole cluster ([Cluster]), which are one of each group that has slots.
//
// It owns the directory of the snapshots, when they are made and which ones are kept, and
// the requests by which servers of a cluster make, list and remove the parts of one. How a
// snapshot is made is the store's, how a request travels the cluster's: see [Options] for
// what it needs of others.
//
// One snapshot is made or removed at a time. Nothing here is called with locks of shards.
package backup
