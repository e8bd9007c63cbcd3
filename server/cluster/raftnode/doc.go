// Package raftnode keeps one group of members in agreement: it drives
// go.etcd.io/raft over the log of a store that is a member of a group
// (member.Member). ADR 0048.
//
// A [Driver] is a function of its inputs. It has no goroutine, clock, disk or
// connection of its own: time, messages and proposals are handed to it, and
// [Driver.Work] does what follows from them. So the simulation in this package's
// tests repeats a run from its seed.
//
// The leader executes a command in memory at once and proposes its effects. These
// rules make that linearizable:
//
//   - R1: the reply to a write waits for its commit. The server's.
//   - R2: a reply waits until everything that it read is committed. The server's,
//     by the position that a transaction has seen.
//   - R3: a leader that is deposed drops what is not committed from its memory:
//     the driver calls Follow before the log changes again.
//   - R4: a leader replies to reads only under a lease: a round of heartbeats that
//     was sent less than nine tenths of an election timeout ago ([Driver.Lease]).
//   - R5: a member that has restarted grants no vote for one election timeout,
//     because it has forgotten which leader relies on it.
//   - R6: a member that may have lost what it acknowledged (a restart without an
//     orderly end, when entries are not forced to the device at once, on a machine that was booted
//     meanwhile or does not tell its boots apart, see member.Member.Whole) begins a new
//     term, so that no leader counts on what it had, and neither votes nor campaigns
//     until it has an entry that was committed in such a term.
//   - R7: a member whose log has nothing but what founded the group, or nothing at all,
//     votes only for one that has no more either: its disk may have been replaced, and
//     with it what it acknowledged is gone. So no id is used twice, a member with a
//     new disk joins under a new one, and a leader that knows better stops such a member.
//   - R8: a leader that is the only voter lets learners apply only what its own device has, and they force
//     what they append to theirs. So it begins again by itself whatever it has lost, which no other member has
//     as committed, and what it hands over to a learner is on a device.
//   - R9: while a change to or from a single voter is between its two steps, all members force what they append to
//     their devices, under every policy: nothing is agreed on without that voter then, so it must not be one that waits by R6.
//
// Members join as learners, are promoted and removed while the group serves, voters by
// joint consensus ([Driver.Join]). Who they are follows from the log from its first entry
// on, and is on disk before memory passes a change.
//
// A member that lacks what was cut off the leader's log gets the state of the group in place
// of it, by a [SnapshotSender] and [Driver.Install]. ADR 0054.
//
// Which forms the log and the state may have says the level of the group, by which members of two versions work
// together ([Driver.Upgrade]). ADR 0076.
//
// R6 is safe as long as fewer than a majority lose entries at the same time.
package raftnode
