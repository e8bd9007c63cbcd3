package sets

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errNumkeys    = commands.WireError("ERR numkeys should be greater than 0")
	errLimit      = commands.WireError("ERR LIMIT can't be negative")
	errValueRange = commands.WireError("ERR value is out of range")
)
