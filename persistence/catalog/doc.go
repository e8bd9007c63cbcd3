// Package catalog is what a store keeps beside its keys as texts by name: libraries of
// functions, users, the configuration of a group, and the moves of slots that it is to make.
//
// The one idea: texts are few and small, so all are in memory, and a change of one is an
// operation of a record that sets or removes a text, or all of a kind, as a whole. So it does
// no harm to do operations twice: what is on disk may be ahead of the records that are replayed.
//
// It owns the texts in memory and their keys in Pebble. It has no lock: everything is called
// under the one that its owner has for it, but for [Changes.Write]. It reads Pebble when it is
// loaded ([Reader]) and writes to batches of its owner ([Batch]), which waits for them.
package catalog
