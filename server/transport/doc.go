// Package transport moves bytes between clients and their sessions: event loops
// serve sockets on Linux, one goroutine for many clients (ADR 0010, 0018); a
// goroutine for each client serves everything else, connections inside the
// process ([Pipe]) included. It also opens listeners.
//
// A session has one owner at any time, the goroutine that reads, runs and writes
// for it. The transport knows a session only as a [Session], and nothing of
// commands; the session knows its transport only as a [Conn]; both know the store
// only as a [Store]. Neither waits for the other: a session that has to wait for
// its client to read, or for the device, returns, and the transport resumes it.
//
// Anything may be changed here without a look at commands. What must stay: one
// owner for a session, no call that blocks on a loop, and nothing of a loop
// touched by a turn that no longer owns it.
package transport
