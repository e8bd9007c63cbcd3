// Package persistence is the keyspace of vigil and what makes it last: keys and
// values in memory, the journal that every change is written to, and the object
// store in Pebble that values reach later.
//
// The one idea: what Pebble charges for is distinct keys, so a change is written
// twice, cheaply and then rarely. At once it goes, with thousands of others,
// into a chunk of the journal, which is appended to a log of segments, its own or that
// of the group. Later, when the journal has grown or the machine is idle, the writeback
// writes each changed value once under its own key and cuts the journal that this makes
// superfluous.
//
//	Tx ----- change ----> shard (table, slabs, objects)      memory
//	 |                        |   ^
//	 | record                 |   | fault-in, warmer
//	 v                        v   |
//	journal chunk         writeback                          background
//	 |                        |   ^
//	 v                        v   |
//	log/ segments  <----  'o' heads, 'p' pages               the log is synced first; Pebble
//
// It promises: after a crash the state equals a prefix of the history of
// records; a record (a command, or a whole MULTI) is there entirely or not at
// all; the prefix holds everything that [commits.Commits.WaitDurable] confirmed, and under
// [SyncEverySecond] all but the last second.
//
// It does not know of clients, replies or commands, and reads neither clock nor
// global randomness: both arrive through [Options] and [Tx.Lock]. It knows no type
// of value but strings: the others it reaches through structures.Value and the
// table in package structures/types.
//
// Rooms of their own (ADR 0103): keyspace is what a shard has in memory, and knows no disk;
// format is what bytes are on disk; journal numbers records and waits for the device; slab is
// records outside the Go heap, and prefetch what brings memory into the cache. log is segments,
// storelog those of a store, chunklog chunks in them, grouplog the log of a group, member a member of one, tail what
// outlives the process. lsm is Pebble, fence is between it and the file system, and wal tells
// what a crash cut short from damage, before Pebble reads it. files is the directory of a store with all of that, opened and
// repaired; commits takes what is recorded to the device, and tells when it is there; tasks is background work in steps;
// heads reads keys of the disk into tables; slots is what a transaction and a replay do alike to the slots of these, and replay applies
// the journal to them; passes is when values are written, and what is cut off the journal then. expiry is the index of keys on
// disk that expire, intake fills databases beside the journal, writeback the passes and the pages of large values, eviction what goes when memory is short, reserve room on a full disk, catalog what a store keeps as texts, snapshot
// the snapshots of a directory, and what they say of themselves. check reads a store that is not open.
//
// Order of locks: shards by rising index, then the journal, then the page pool.
// Pebble is read under a shard's lock (fault-in) and written under none.
package persistence
