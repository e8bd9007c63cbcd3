// Package replay applies the journal to memory: the whole of it when a store is opened, and entry by entry at a member that follows.
//
// The one idea: the earlier state of a key is rarely needed, as most are first set or deleted, and everything behind is in the
// journal too. So the journal is sorted by shard, each shard is replayed in order by one goroutine, and what was assumed of the
// disk meanwhile is put right at the end, in the order of the disk. It keeps to the bound on memory: what is full is written and
// leaves, by the marks of the writeback.
//
// It owns nothing but its progress. When a store is opened nothing else uses it; a live replay locks the shards of an entry
// together. It reads the log of the store, or of its group (Group), and writes by the writeback only.
package replay
