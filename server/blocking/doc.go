// Package blocking knows the calls that wait: for keys, as BLPOP does, until something is
// so, as WAIT does, or for the end of a computation.
//
// A call that has to wait is blocked: its arguments are copied into a [Call], which is in
// the queue of each of its keys. No goroutine waits for it. When a command has changed one
// of these keys, the blocked calls are run again by its client, first come first served,
// while the locks of that command are still held: an element that is pushed for a waiting
// client is never seen by any other. The call of a client that leaves is removed from the
// queues first, so no element is popped for a client that has left.
//
// It owns the queues, the timers of the calls, and the workers that compute. It does not
// run commands, nor does it know the store: a [Runner] runs a call, and a [Host] has the
// clock.
//
// Lock order: shards of the store, then the mutex of a call, then that of Calls; then what
// [Client.Answer] locks. A call's mutex is held while it is run again, or ended, and for
// Client.Blocked.
package blocking
