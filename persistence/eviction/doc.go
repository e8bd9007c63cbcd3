// Package eviction frees memory when keys and values take more than they may: it drops values that the disk has from memory, or
// deletes keys as Redis's policies do.
//
// It owns the bound and the policy. As in Redis, the best of a few keys goes: neighbours in a table, which are neighbours by hash
// and so a random sample. A caller has no lock; one shard at a time is locked, if it is free.
package eviction
