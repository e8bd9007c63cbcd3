// Package writeback writes changed values to the object store, each once however often it changed, and evicts pages of
// large ones.
//
// It owns the batch under way and what belongs to it (heads, pages, those that are staged, marks of shards, expiries), the
// pagers of large values, which read pages that are on disk only, and how fast writers may go on, by what is behind. It
// knows neither transactions nor groups: what it asks of the store is a [Host], and when a pass is made and what becomes of
// the journal behind it is its caller's.
//
// A caller has the lock of the [Writer] for a whole pass, and no lock of a shard: a pass takes these, one at a time, for a
// few dozen values each. What reads and evicts pages has the lock of the shard of the value.
package writeback
