// Package lsm is the object store: Pebble, as a store sets it up, locks its directory, opens it
// behind a fence, closes it, and reads what is needed before, and without, the rest of a store.
//
// The one idea: what opens a store and what only checks one see the same Pebble, with the same
// options and the same care: a panic of it is an error ([Guard]), and a failed write makes the
// fence fall.
//
// It owns no instance: the caller of [Open] calls [Close]. It writes nothing. [Close] waits for
// compactions that are under way, unless the fence holds them.
package lsm
