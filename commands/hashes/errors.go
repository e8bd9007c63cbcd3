package hashes

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errNotInteger       = commands.WireError("ERR hash value is not an integer")
	errNotFloat         = commands.WireError("ERR hash value is not a float")
	errIncrNaNOrInf     = commands.WireError("ERR value is NaN or Infinity")
	errFieldsMissing    = commands.WireError("ERR Mandatory argument FIELDS is missing or not at the right position")
	errNumFields        = commands.WireError("ERR Number of fields must be a positive integer")
	errNumFieldsZero    = commands.WireError("ERR Parameter `numFields` should be greater than 0")
	errNumFieldsMatch   = commands.WireError("ERR The `numfields` parameter must match the number of arguments")
	errNumFieldsInvalid = commands.WireError("ERR invalid number of fields")
	errFieldConditions  = commands.WireError("ERR Only one of FXX or FNX arguments can be specified")
	errKeyConditions    = commands.WireError("ERR Only one of NX or XX arguments can be specified")
)
