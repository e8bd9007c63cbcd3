// Package lsm is the object store: Pebble, as a store sets it up, locks its directory, opens it
// behind a fence, closes it, and reads what is needed before, and without, the rest of a store.
//
// The one idea: what opens a store and what only checks one see the same Pebble, with the same
// options and the same care: a panic of it is an error ([Guard]), and a failed write makes the
// fence fall.
//
// The caller of [Open] calls [Close], which waits for compactions that are under way, unless the fence
// holds them. A [Disk] is the instance that a store uses, and the one that replaces it after a failure: every change goes
// through it.
package lsm
