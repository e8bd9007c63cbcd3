// Package commits takes what is recorded to the device, and tells when it is there.
//
// The one idea: a command only appends to the journal. One committer gives chunks to the log and syncs it, for all clients at
// once, and whoever waits is told by number. When a write fails, all that is not on the device is still in memory: so the disk
// is opened anew behind another fence as soon as it works again, and the chunks are written once more.
//
// It owns the journal, what is durable, and which keys have records that a reply under SyncAlways has to wait for. It knows no
// values. In a group the member moves the journal, and the waits are for the commit of the group. A round waits for nothing
// but the device, a repair also for the passes of the writeback; waits are made without a lock of a shard.
package commits
