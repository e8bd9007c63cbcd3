// Package slots is what a transaction and a replay do alike to the slots of tables, without recording it: they put strings and
// objects there, use values, and note when.
//
// The one idea: small values are records outside the heap as long as nobody uses them, and large ones have pages on disk. A Placer
// makes an object of a record for whoever uses it, remembers it, and makes a record of it again when Compact is called; pages that
// came in meanwhile are accounted for then.
//
// A Placer belongs to one goroutine, which has the lock of the shard for every call. It reads pages of large values and nothing
// else of the disk, and journals nothing.
package slots
