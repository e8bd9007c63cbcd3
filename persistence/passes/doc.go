// Package passes makes the passes of the writeback when they are due, cuts the journal behind them, and makes memory anew of the
// disk.
//
// The one idea: a pass notes where the journal ends, writes all slots that are dirty, and then cuts the journal there, as a slot
// that some record before changed is either still dirty when the pass reaches it or was written since. Memory that a panic left in
// pieces is what a start makes of the disk and the journal, so it is made in the same way.
//
// It owns when a pass is due and up to which record the journal is cut. It waits for the writeback, for shards and for the device,
// and is called without locks. What is written in a pass is the writeback's.
package passes
