package server

import "github.com/vigildb/vigil/commands"

// Errors of commands that scripts may not call.
const (
	errScriptUnknown  = commands.WireError("ERR Unknown Redis command called from script")
	errScriptArity    = commands.WireError("ERR Wrong number of args calling Redis command from script")
	errScriptDenied   = commands.WireError("ERR This Redis command is not allowed from script")
	errScriptReadOnly = commands.WireError("ERR Write commands are not allowed from read-only scripts.")
)
