// Shardrouter is an example: a client-side router that keeps its keys on
// several vigil servers, chosen by a placement map, and moves them when a server
// joins or leaves, while clients go on reading and writing.
//
//	go run .
//
// starts four servers inside the process, puts keys on three of them, lets the
// fourth join and one leave, and prints what moved.
//
// # How keys move without being lost
//
// A change has a phase in which both maps are known, now and next. While it
// lasts no client writes to a key's old place any more:
//
//   - A write to a key that changes its place moves the key first, then writes
//     at the new place.
//   - A read asks the new place, then the old one, then the new one again, for
//     the key may have moved between the first two questions.
//   - The mover scans the old places and moves what is left.
//
// A move takes DUMP and PTTL from the old place, gives them to RESTORE at the
// new one, without REPLACE, and deletes the old copy. Several may move the same
// key at once. The new place is watched before the old one is asked, and
// RESTORE runs in a transaction: so a late mover cannot bring back what was
// written over or deleted there since.
//
// # No server has too many
//
// Keys are assigned with a bound: no server gets more than 2 % above its part of them,
// where chance alone gives 3 % of 1,000 keys more or less. A key gets its place
// when it is first written and gives it up when it is deleted. The next map is made
// when the phase begins, with all keys that are assigned then, and those that are made
// during the phase are assigned in it alone. Keys that expire keep their place until
// they are deleted by name.
//
// The phase must have reached all clients before keys move, and all must have
// finished what they began before it. Inside one process a lock sees to that;
// routers in several processes would tell each other.
package main
