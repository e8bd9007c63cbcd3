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

	errENXAlone        = commands.WireError("ERR ENX flag requires an expiration")
	errBounds          = commands.WireError("ERR LBOUND can't be greater than UBOUND")
	errByInt           = commands.WireError("ERR Increment is not an integer or out of range")
	errLowerInt        = commands.WireError("ERR LBOUND is not an integer or out of range")
	errUpperInt        = commands.WireError("ERR UBOUND is not an integer or out of range")
	errByFloat         = commands.WireError("ERR Increment is not a valid float")
	errLowerFloat      = commands.WireError("ERR LBOUND is not a valid float")
	errUpperFloat      = commands.WireError("ERR UBOUND is not a valid float")
	errByInfinity      = commands.WireError("ERR BYFLOAT increment cannot be Infinity")
	errStoredInfinity  = commands.WireError("ERR value cannot be Infinity")
	errAppliedOverflow = commands.WireError("ERR applied increment would overflow")
)
