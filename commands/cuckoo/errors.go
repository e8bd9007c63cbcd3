package cuckoo

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errNotFound         = commands.WireError("ERR not found")
	errExists           = commands.WireError("ERR item exists")
	errMemory           = commands.WireError("ERR Insufficient memory")
	errCreateMemory     = commands.WireError("ERR Insufficient memory to create filter")
	errFull             = commands.WireError("Filter is full")
	errExpansions       = commands.WireError("Maximum expansions reached")
	errCapacity         = commands.WireError("Bad capacity")
	errReserveRange     = commands.WireError("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]")
	errInsertRange      = commands.WireError("Capacity must be in the range [cf-bucket-size * 2, 1073741824]")
	errArgument         = commands.WireError("Unknown argument received")
	errNothingToDelete  = commands.WireError("Not found")
	errNothingToCompact = commands.WireError("Cuckoo filter was not found")
	errPosition         = commands.WireError("Invalid position")
	errHeader           = commands.WireError("Invalid header")
	errHeaderValues     = commands.WireError("Couldn't create filter!")
	errChunk            = commands.WireError("Couldn't load chunk!")
	errMergeShape       = commands.WireError("ERR filters of different shapes cannot be merged")
	errMergeRoom        = commands.WireError("ERR the items of all filters find no room in one of their shape")
)

// errOption returns the error for the value of an option of CF.RESERVE that is no integer.
func errOption(word string) commands.WireError { return commands.Errorf("Couldn't parse %s", word) }

// errOptionRange returns the error for a value of an option of CF.RESERVE outside its range.
func errOptionRange(word string, low, high int64) commands.WireError {
	return commands.Errorf("%s: value must be in the range [%d, %d]", word, low, high)
}
