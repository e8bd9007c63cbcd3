package hll

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errInvalid   = commands.WireError("WRONGTYPE Key is not a valid HyperLogLog string value.")
	errCorrupt   = commands.WireError("INVALIDOBJ Corrupted HLL object detected")
	errNoKey     = commands.WireError("ERR The specified key does not exist")
	errNotSparse = commands.WireError("ERR HLL encoding is not sparse")
)

// errDebug is the error of a PFDEBUG of an unknown kind.
func errDebug(what string) commands.WireError {
	return commands.Errorf("ERR Unknown PFDEBUG subcommand '%s'", what)
}

// errSelfTest says what PFSELFTEST found.
func errSelfTest(what string) commands.WireError { return commands.Errorf("ERR TESTFAILED %s", what) }
