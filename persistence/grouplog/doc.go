// Package grouplog keeps the log of a group of machines that share the data, as
// consensus needs it: entries with an index and a term, of which the last ones may be
// replaced until they are committed, and beside them what a member promised.
//
// The log is the journal of the group's stores and is written once: an entry of type
// [Records] is a chunk of the journal under the key that it has in a store that is
// alone, with a term. docs/format.md draws both.
//
// It promises that what [Log.Append] synced is there after a crash; that a crash leaves
// the log as it was after one of the calls, none in halves; that no committed entry is
// replaced or removed; and that records in it are numbered without gaps. It knows
// nothing of elections, nor of what a record says.
package grouplog
