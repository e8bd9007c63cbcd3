// Package sim runs a whole vigil server, its clients, its clock and its disk as one
// simulation, and checks the promises of the server. A seed repeats its run.
//
// The one idea: nothing happens but what the schedule draws from the seed. The
// server is the real one; what it takes from outside is the simulation's: the clock
// stands still until it is moved, the disk is memory that forgets what was not
// synced, clients are connections inside the process, and the store's background
// work is steps that the simulation makes (persistence.Options.Background). After
// each move everything runs until it stands still, which a bubble of
// testing/synctest tells, so goroutines race for nothing.
//
//	schedule --draws--> calls of clients, steps of the store, time, faults, crashes
//	   |                                   |
//	   v                                   v
//	 model: what must be             server.Server on a disk of memory
//	   |                                   |
//	   +------- judge <---- replies, states after a crash
//
// The judge is twofold. A sequential model runs each call as it is sent. Every reply
// must be the model's; after a crash the server must hold one of the model's states,
// none older than what it promised: with appendfsync always, and when nothing but the process has died, everything that replies
// have shown, also to readers; with everysec, what the step of each second has
// synced. The model's states are those between records, so a MULTI is there as a
// whole or not at all. Under always the history of the clients is given to Porcupine
// besides, which knows nothing of the order of sending: each family of keys must be
// linearizable, where a call without a reply has happened or not.
//
// It does not look at speed, at sockets and event loops, at pub/sub and scheduling
// commands, and not at what Pebble does inside: writes of its files are not counted,
// since Pebble's goroutines cut them differently from run to run.
package sim
