// Package hold keeps calls back until something is over: CLIENT PAUSE and what else pauses
// writes ([Pause]), slots whose keys must not change ([Fence]), slots that are about to come
// ([Importing]).
//
// A call that is held back has not begun: its bytes stay in the input of its client, which
// is woken when the call may try again. All three have a gate, which knows these clients.
// Whether a call is one of those that wait is decided by the server, before and again under
// the locks of the call.
//
// The mutex of a gate is taken under the locks of shards; under it a client is woken, which
// waits for nothing.
package hold
