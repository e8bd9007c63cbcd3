// Package heads is the keys that are on disk, as heads, on their way into the tables of memory.
//
// The one idea: a key that is not in memory is read when it is asked for, and the others in the order of the disk, which costs a
// fiftieth of what as many look-ups here and there do. What was read without a lock counts only if the epoch of the table says
// that nothing was written meanwhile.
//
// A caller has the lock of the shard of a table, which keeps the copy on disk from changing: the writeback writes only what has a
// slot. The Warmer takes these locks itself, one after the other. Nothing here writes or journals.
package heads
