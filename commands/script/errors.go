package script

import "github.com/vigildb/vigil/commands"

const (
	errNoSuchScript   = commands.WireError("NOSCRIPT No matching script.")
	errNoScript       = commands.WireError("NOSCRIPT No matching script. Please use EVAL.")
	errKeysTooMany    = commands.WireError("ERR Number of keys can't be greater than number of args")
	errKeysNegative   = commands.WireError("ERR Number of keys can't be negative")
	errFlushOption    = commands.WireError("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
	errKeysBad        = commands.WireError("ERR Bad number of keys provided")
	errFlushLibraries = commands.WireError("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")
	errNoLibrary      = commands.WireError("ERR Library not found")
	errNoPattern      = commands.WireError("ERR library name argument was not given")
	errPolicy         = commands.WireError("ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.")
	errPayload        = commands.WireError("ERR DUMP payload version or checksum are wrong")
	errPayloadType    = commands.WireError("ERR given type is not a function")
	errPayloadForm    = commands.WireError("ERR Pre-GA function format not supported")
	errPayloadLibrary = commands.WireError("ERR Failed loading library payload")
	errDebugMode      = commands.WireError("ERR Use SCRIPT DEBUG YES/SYNC/NO")
	errNoDebugger     = commands.WireError("ERR vigil has no debugger for scripts")
)
