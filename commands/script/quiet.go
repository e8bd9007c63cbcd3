package script

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/script/lua"
)

// Quiet reports whether a call runs a script or a function that declares that it does not
// write, so that a pause of writes lets it through.
func Quiet(e *lua.Engine, cmd *commands.Command, argv [][]byte) bool {
	if len(argv) < 2 {
		return false
	}
	switch cmd.Name {
	case "EVAL":
		f := lua.SourceFlags(argv[1])
		return f.NoWrites
	case "EVALSHA":
		d, ok := lua.ParseDigest(argv[1])
		s := e.Find(d)
		return ok && s != nil && s.Flags.NoWrites
	case "FCALL":
		f := e.Libraries().Function(argv[1])
		return f != nil && f.Flags.NoWrites
	}
	return false
}
