package script

import "github.com/vigildb/vigil/commands"

const (
	errNoScript     = commands.WireError("NOSCRIPT No matching script. Please use EVAL.")
	errKeysTooMany  = commands.WireError("ERR Number of keys can't be greater than number of args")
	errKeysNegative = commands.WireError("ERR Number of keys can't be negative")
	errFlushOption  = commands.WireError("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
	errDebugMode    = commands.WireError("ERR Use SCRIPT DEBUG YES/SYNC/NO")
	errNoDebugger   = commands.WireError("ERR vigil has no debugger for scripts")
)
