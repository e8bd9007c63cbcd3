package server

import "github.com/vigildb/vigil/commands"

// Errors of commands that scripts may not call.
const (
	errScriptUnknown  = commands.WireError("ERR Unknown Redis command called from script")
	errScriptArity    = commands.WireError("ERR Wrong number of args calling Redis command from script")
	errScriptDenied   = commands.WireError("ERR This Redis command is not allowed from script")
	errScriptReadOnly = commands.WireError("ERR Write commands are not allowed from read-only scripts.")

	errScriptDown      = commands.WireError("ERR Script attempted to execute a command while the cluster is down")
	errScriptNotLocal  = commands.WireError("ERR Script attempted to access a non local key in a cluster node")
	errScriptMoves     = commands.WireError("TRYAGAIN Script attempted to change keys of a slot that is being moved to another server")
	errScriptSlots     = commands.WireError("ERR Script attempted to access keys that do not hash to the same slot")
	errScriptNoCluster = commands.WireError("ERR Can not run script on cluster, 'no-cluster' flag is set.")
)

func errScriptCrossSlot(cmd *commands.Command) commands.WireError {
	return commands.Errorf("ERR Command '%s' in script attempted to access keys that don't hash to the same slot", cmd.FullName())
}
