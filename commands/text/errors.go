package text

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errOffsetRange    = commands.WireError("ERR offset is out of range")
	errDecrOverflow   = commands.WireError("ERR decrement would overflow")
	errTooLong        = commands.WireError("ERR string exceeds maximum allowed size (proto-max-bulk-len)")
	errNumPairs       = commands.WireError("ERR invalid numkeys value")
	errPairs          = commands.WireError("ERR wrong number of key-value pairs")
	errDigest         = commands.WireError("ERR must be exactly 16 hexadecimal characters")
	errDelexType      = commands.WireError("ERR Key should be of string type if conditions are specified")
	errDelexCondition = commands.WireError("ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE")
	errLCSType        = commands.WireError("ERR The specified keys must contain string values")
	errLCSLenAndIndex = commands.WireError("ERR If you want both the length and indexes, please just use IDX.")
	errLCSMemory      = commands.WireError("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len")
)
