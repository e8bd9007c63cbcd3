// Package files is what a store has on disk: a directory and its lock, Pebble behind a fence, the
// mark of what was synced, the log of segments of a store that is alone, and its tail.
//
// The one idea: opening is the hard part. The files are held against the mark before Pebble reads
// them, a damaged log is cut only on request, what the process before left in the tail is written
// to the log, and a store in format 2 is moved: all of that before anything is served, and without
// a key in memory.
//
// It owns the meta of the store and the marks of the writeback, and knows no values. The log of a
// group belongs to package member. It waits for the device, and for nobody else.
package files
