package lists

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errIndexRange = commands.WireError("ERR index out of range")
	errMoveCount  = commands.WireError("ERR count should be greater than 0")
	errRankZero   = commands.WireError("ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list")
	errPosCount   = commands.WireError("ERR COUNT can't be negative")
	errPosMaxLen  = commands.WireError("ERR MAXLEN can't be negative")
)
