// Package intake fills physical databases that no client sees, from which a store makes what clients see in one record.
//
// It passes by the journal: heads and pages go into tables of Pebble, sorted by key, each about as large as a memtable or
// several. So memory is bounded whatever the values are: one that grows beyond a bound writes its pages while it grows. It
// knows neither transactions nor clients, and locks no shard: what it asks of the store is a [Host].
//
// An [Intake] is for one goroutine. A failure of the disk ends it, as what was not synced may be lost.
package intake
