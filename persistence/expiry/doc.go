// Package expiry is the index of keys that expire and may be on disk only.
//
// Expired keys that are only on disk are found by an index of the heads that
// have an expiry. What Pebble charges for is distinct keys, so an entry is not
// one of them: a batch of heads adds one list for each stretch of time in which
// some of its heads expire.
//
// A stretch is at most a thirty-second of the time until then, so that a batch has
// a few hundred lists at the most, and its time is that of its beginning. When it
// has come, the entries move on to shorter stretches. In the shortest, of one tick,
// its end is the time of the list, and keys that are due by then are deleted. The
// sum distinguishes the lists of several batches for one stretch, and gives the
// same list the same key however often it is written.
//
// An entry is a hint. It is dropped if the key is gone or will stay, and moves on if
// the key expires later than it says. What must not be is a head on disk that expires
// without an entry at its expiry or before. A slot whose expiry only moved to later
// times since has one already: its record says so, and a session
// that is prolonged with each request costs one entry.
package expiry
