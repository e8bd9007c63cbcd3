// Package sweep deletes keys and parts of values that have expired and that nobody uses.
//
// An expired key is deleted when it is next used. The cycle finds those that are not: it follows the index of what is on disk
// (package expiry), and walks the tables that have keys with an expiry, a part at each call. It owns where the next cycle goes
// on, and deletes with records of its own; what another server decides it leaves to the records of that. It knows neither
// transactions nor groups: what it asks of the store is a [Host].
//
// A caller has no lock. The cycle takes the lock of a shard for a few hundred keys at a time, and the one of the disk's
// instance while it reads.
package sweep
