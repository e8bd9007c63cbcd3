package lua

import (
	"bytes"
	"slices"
	"strings"

	"github.com/vigildb/vigil/commands"
)

// Flags are what the first line of a script says of it, or what register_function says of
// a function.
type Flags struct {
	Declared bool // there is such a line
	NoWrites bool
	AllowOOM bool
	// NoCluster and CrossSlot count where keys have slots: such a script does not run there, or
	// may use keys of several slots.
	NoCluster, CrossSlot bool

	names []string // as FUNCTION LIST shows them
}

const (
	errShebang       = commands.WireError("ERR Invalid script shebang")
	errShebangEngine = commands.WireError("ERR Invalid engine in script shebang")
	errCacheFull     = commands.WireError("ERR the scripts of SCRIPT LOAD take more than 128 MiB")
)

// flagNames are the flags that there are. "allow-stale" has no effect.
var flagNames = []string{"no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"}

// Names returns the flags as FUNCTION LIST shows them.
func (f *Flags) Names() []string { return f.names }

// add adds a flag; it returns false if there is no such flag.
func (f *Flags) add(name string) bool {
	for _, known := range flagNames {
		if known == name {
			if slices.Contains(f.names, name) {
				return true
			}
			f.names = append(f.names, name)
			f.NoWrites = f.NoWrites || name == "no-writes"
			f.AllowOOM = f.AllowOOM || name == "allow-oom"
			f.NoCluster = f.NoCluster || name == "no-cluster"
			f.CrossSlot = f.CrossSlot || name == "allow-cross-slot-keys"
			return true
		}
	}
	return false
}

// SourceFlags returns what the first line of a source declares: nothing if it is wrong.
func SourceFlags(source []byte) Flags {
	head, _, ok := bytes.Cut(source[:min(len(source), maxShebang)], []byte("\n"))
	if !ok || !bytes.HasPrefix(head, []byte("#!")) {
		return Flags{}
	}
	f, err := parseShebang(string(head))
	if err != nil {
		return Flags{}
	}
	return f
}

// maxShebang is the longest first line that SourceFlags reads.
const maxShebang = 1 << 10

// parseShebang reads "#!lua flags=a,b".
func parseShebang(head string) (f Flags, err error) {
	f.Declared = true
	words := strings.Fields(head)
	if len(words) == 0 {
		return f, errShebangEngine
	}
	if words[0] != "#!lua" {
		return f, commands.Errorf("ERR Unexpected engine in script shebang: %s", words[0])
	}
	for _, word := range words[1:] {
		list, ok := strings.CutPrefix(word, "flags=")
		if !ok {
			return f, commands.Errorf("ERR Unknown lua shebang option: %s", word)
		}
		for name := range strings.SplitSeq(list, ",") {
			if name != "" && !f.add(name) {
				return f, commands.Errorf("ERR Unexpected flag in script shebang: %s", name)
			}
		}
	}
	return f, nil
}

// Admit returns an error if a script with these flags may not run; unwritable is that of
// writes, if there are none now. Scripts without a declaration are not refused: the
// commands that they call are.
func (f Flags) Admit(readOnly, memoryFull bool, unwritable error) error {
	if !f.Declared || f.NoWrites {
		return nil
	}
	switch {
	case unwritable != nil:
		return unwritable
	case readOnly:
		return errWriteInRO
	case memoryFull && !f.AllowOOM:
		return errScriptOOM
	}
	return nil
}
