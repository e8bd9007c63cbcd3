// Package tracking is the server's side of client-side caching (CLIENT TRACKING).
//
// A [Table] remembers which keys each tracking client has read, or which prefixes it asked
// for, and sends an invalidation when one of these keys changes. No client keeps a stale
// value: a key is remembered while the lock of its shard is held for the read, and its
// invalidation is given to the client under the lock of the write, or for prefixes just
// after it. What a client has read before is written to it before. Databases make no
// difference, as in Redis. See ADR 0039.
//
// It owns the table, and a [State] of each session: what its running call has read and
// changed. It knows the clients only as [Client], and neither keys nor their locks.
//
// Who holds the locks of shards may call it. The mutex of a part of the table is a leaf;
// that of the table is not held while a client is looked for or told.
package tracking
