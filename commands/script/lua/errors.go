package lua

import "github.com/vigildb/vigil/commands"

const (
	errGlobal      = "Script attempted to access nonexistent global variable '%s'"
	errReadOnly    = "Attempt to modify a readonly table"
	errNoArguments = "Please specify at least one argument for this redis lib call"
	errArguments   = "Lua redis lib command arguments must be strings or integers"
	errOneArgument = "wrong number of arguments"
	errOneString   = "wrong number or type of arguments"
	errSetRepl     = "redis.set_repl() requires two arguments."
	errReplFlags   = "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE."
	errLogLevel    = "Invalid debug level."
	errLogArgs     = "redis.log() requires two arguments or more."
	errLogNumber   = "First argument must be a number (log level)."
	errSetResp     = "redis.setresp() requires one argument."
	errRespVersion = "RESP version must be 2 or 3."
	errCommand     = "Invalid command passed to redis.acl_check_cmd()"
	errStackLimit  = "reached lua stack limit"

	errName            = "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long"
	errRegisterOutside = "redis.register_function can only be called on FUNCTION LOAD command"
	errRegisterCount   = "wrong number of arguments to redis.register_function"
	errRegisterTable   = "calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments)."
	errRegisterTwice   = "Function already exists in the library"
	errRegisterSize    = "the functions of the library have more than 1 MiB of names and descriptions"

	errLoadTimeout  = "FUNCTION LOAD timeout"
	errKilled       = "Script killed by user with SCRIPT KILL..."
	errFunctionKill = "Script killed by user with FUNCTION KILL..."
	errShutdown     = "Script ended because the server is being shut down"
	errMemory       = "not enough memory: the script uses more than lua-memory-limit"
)

// Errors of calls.
const (
	ErrNotBusy    = commands.WireError("NOTBUSY No scripts in execution right now.")
	ErrUnkillable = commands.WireError("UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.")

	// ErrBusyScript and ErrBusyFunction are returned to other clients while a script
	// runs for longer than busy-reply-threshold.
	ErrBusyScript   = commands.WireError("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.")
	ErrBusyFunction = commands.WireError("BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.")

	// ErrNoFunction is returned by FCALL.
	ErrNoFunction = commands.WireError("ERR Function not found")

	errNoMetadata     = commands.WireError("ERR Missing library metadata")
	errMetadata       = commands.WireError("ERR Invalid library metadata")
	errNamedTwice     = commands.WireError("ERR Invalid metadata value, name argument was given multiple times")
	errUnnamed        = commands.WireError("ERR Library name was not given")
	errNoFunctions    = commands.WireError("ERR No functions registered")
	errLibraryTooLong = commands.WireError("ERR library is longer than 1 MiB")
	errLibraries      = commands.WireError("ERR the libraries of functions take more than 32 MiB")

	errWriteInRO = commands.WireError("ERR Can not execute a script with write flag using *_ro command.")
	errScriptOOM = commands.WireError("OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'")
	errTooLong   = commands.WireError("ERR script is longer than 1 MiB")
)
