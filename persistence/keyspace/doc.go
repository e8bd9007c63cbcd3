// Package keyspace holds keys and values in memory: the table of a database in a shard, the records outside the Go heap
// that short strings and small values rest in, and the objects that all others are.
//
// It owns what a slot says (where the value is, whether the disk has it, when it expires, when it was used), the accounts
// of bytes, and the order in which parts of values expire. It knows neither the disk nor the journal nor transactions: a
// caller holds the lock of the shard for every call, tells the table what batches it is about to commit, and reads what is
// on disk only. What reads pages of a large value is a [Pager], which its caller implements.
package keyspace
