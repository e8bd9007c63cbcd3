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

	errWriteInRO = commands.WireError("ERR Can not execute a script with write flag using *_ro command.")
	errScriptOOM = commands.WireError("OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'")
	errTooLong   = commands.WireError("ERR script is longer than 1 MiB")
)
