package bloom

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errNotFound       = commands.WireError("ERR not found")
	errExists         = commands.WireError("ERR item exists")
	errMemory         = commands.WireError("ERR Insufficient memory to create filter")
	errCreate         = commands.WireError("ERR could not create filter")
	errFull           = commands.WireError("ERR non scaling filter is full")
	errInsert         = commands.WireError("ERR problem inserting into filter")
	errRate           = commands.WireError("ERR bad error rate")
	errRateRange      = commands.WireError("ERR error rate must be in the range (0.000000, 1.000000)")
	errCapacity       = commands.WireError("ERR bad capacity")
	errCapacityRange  = commands.WireError("ERR capacity must be in the range [1, 1073741824]")
	errExpansion      = commands.WireError("ERR bad expansion")
	errNoExpansion    = commands.WireError("ERR no expansion")
	errExpansionRange = commands.WireError("ERR expansion must be in the range [0, 32768]")
	errFixedExpands   = commands.WireError("Nonscaling filters cannot expand")
	errBadRate        = commands.WireError("Bad error rate")
	errBadCapacity    = commands.WireError("Bad capacity")
	errBadExpansion   = commands.WireError("Bad expansion")
	errArgument       = commands.WireError("Unknown argument received")
	errInfo           = commands.WireError("Invalid information value")
	errScanIterator   = commands.WireError("Second argument must be numeric")
	errLoadIterator   = commands.WireError("ERR Second argument must be numeric")
	errBadData        = commands.WireError("ERR received bad data")
	errOffset         = commands.WireError("ERR invalid offset - no link found")
	errChunk          = commands.WireError("ERR invalid chunk - Too big for current filter")
	errMergeShape     = commands.WireError("ERR filters whose layers differ cannot be merged")
	errMergeCrowded   = commands.WireError("ERR a layer would have more items than it was made for")
)
