// Package chunklog keeps the journal of a store that is alone: its chunks, in order, in a log of
// segments (package storelog). A chunk is a frame.
package chunklog
