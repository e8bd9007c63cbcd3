// Package chunklog keeps the journal of a store that is alone: its chunks, in order, in a log of
// segments (package log), in a directory of the store's. A chunk is a frame.
//
// What the package adds to the log is what a frame holds, and where the log begins and how far it is on the
// device, as the store records both: the first segment in the meta, the other in the mark.
package chunklog
