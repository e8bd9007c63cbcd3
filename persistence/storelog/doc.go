// Package storelog is the log of a store: segments (package log) in a directory of the store's, with what the
// store has recorded of them elsewhere.
//
// The one idea: where the log begins is in Pebble, how far it is on the device in the mark, and neither is the log's own.
// What a frame holds is known to the packages above, chunklog for a store that is alone and grouplog for a member of a group.
package storelog
