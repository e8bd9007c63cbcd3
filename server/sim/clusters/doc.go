// Package clusters simulates several groups of servers, as clients of Redis Cluster see them, while slots
// move between the groups and everything fails.
//
// The servers are the real ones, with all that they are made of: mesh, consensus, leases, moves, sessions, store. What they
// take from outside is the simulation's: the disks are memory that forgets what was not synced, the
// network delays, cuts and breaks connections, and time is that of a bubble of testing/synctest, which
// passes when all goroutines wait. So a minute of faults takes seconds, and no timeout depends on how busy the
// machine is.
//
// Clients write and read what a few hash tags hold, follow -MOVED, and note when each call began
// and ended and what came of it. Porcupine looks at that: each tag must be linearizable, where a call without a reply
// has happened or not. In the end all faults end, and each slot must have one owner, each key one place,
// and each member of a group the same data.
//
// A seed draws the faults, the moves, and what clients do. The servers' goroutines run in an order of their
// own, so it does not repeat its run to the letter: a violation may take several runs of its seed to show
// again. The simulations in server/cluster and server/sim do repeat theirs, each of one group
// and of one server.
package clusters
