// Package grouplog keeps the log of a group of machines that share the data, as
// consensus needs it: entries with an index and a term, which may be replaced from the
// end until they are committed, and beside them what a member promised.
//
// The log is the journal of the group's stores and is written once: an entry of type
// [Records] is a chunk of the journal, with a term. It lies in segments of the store's log (package
// storelog). A frame of kind 1 is an entry, which ends what came behind the entry before it until then; a frame of kind 2 is a
// hard state, and the head of a segment has the one that holds before its first frame, so that segments may go from the front.
// What precedes all frames, because it came with the state of another member or from a
// store of format 2, is in Pebble, an entry under each key: the base.
//
// What has to change together with what else is in Pebble is there, under the keys of records: which member this is,
// the members, the start of the machine, what was cut off and which segment the log begins in, what values rest on.
// docs/format.md draws all that.
//
// It promises that what [Log.Append] wrote is there after the death of the process, and what it synced after that of the
// machine; that a crash leaves the log as it was after one of the calls, or amid the entries of one; that Pebble
// is never ahead of it; that no committed entry is
// replaced or removed; and that records in it are numbered without gaps. It knows
// nothing of elections, nor of what a record says.
package grouplog
