// Package keyspace holds keys and values in memory: 256 shards with their locks, the table of each database in a shard, the
// records outside the Go heap that short strings and small values rest in, and the objects that all others are.
//
// It owns what a slot says (where the value is, whether the disk has it, when it expires, when it was used), the accounts of
// bytes, the order in which parts of values expire, and who waits for whom: transactions that lock shards in the order of
// their indexes, the long one that locks more while it has some, and background work, which leaves shards alone while
// memory is torn. It knows neither the disk nor the journal nor what a transaction does: a caller has the lock of the shard
// for every call of a table, tells the table what batches it is about to commit, and reads what is on disk only. What reads
// pages of a large value is a [Pager], which its caller implements.
package keyspace
