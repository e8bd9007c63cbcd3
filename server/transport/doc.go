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
// Anything here may be changed without regard to commands. These rules must
// hold: a session has one owner, no call blocks a loop, and a turn that no
// longer owns a loop touches nothing of it.
package transport
