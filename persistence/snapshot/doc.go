// Package snapshot is the snapshots of a directory: made, listed and removed, and what one of a member of a group
// says of itself: its group, and the snapshot of a whole cluster that it is a part of.
//
// The one idea: a snapshot is a store, so what it is has to lie beside the files of the store,
// in one of its own, which a store that is made of the snapshot has until it is used.
//
// A snapshot has its name only while it is complete. It touches the directory that it is given, and waits for the device only.
package snapshot
