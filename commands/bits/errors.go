package bits

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errOffset        = commands.WireError("ERR bit offset is not an integer or out of range")
	errBit           = commands.WireError("ERR bit is not an integer or out of range")
	errSearchedBit   = commands.WireError("ERR The bit argument must be 1 or 0.")
	errNotOperands   = commands.WireError("ERR BITOP NOT must be called with a single source key.")
	errDiffOperands  = commands.WireError("ERR BITOP DIFF must be called with at least two source keys.")
	errDiff1Operands = commands.WireError("ERR BITOP DIFF1 must be called with at least two source keys.")
	errAndOrOperands = commands.WireError("ERR BITOP ANDOR must be called with at least two source keys.")
	errFieldType     = commands.WireError("ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.")
	errFieldOverflow = commands.WireError("ERR Invalid OVERFLOW type specified")
	errFieldReadOnly = commands.WireError("ERR BITFIELD_RO only supports the GET subcommand")
)
