package text

import (
	"strconv"

	"github.com/vigildb/vigil/structures"
)

// Tell appends commands that do to a string at key, which is as this one was before, what recorded operations have just done to
// this one. It returns false if there are none for that: then c is to be cut, and the whole string told anew.
func (s *String) Tell(c *structures.Commands, key, ops []byte) bool {
	var args structures.Args
	for len(ops) > 0 {
		op, rest, err := args.Next(ops)
		if err != nil || op != opStringPatch {
			return false
		}
		TellPatch(c, key, args.Uint(), args.Bytes())
		if args.Done() != nil {
			return false
		}
		ops = rest
	}
	return true
}

// TellPatch appends the command that writes b at an offset of the string at key, as Patch does.
func TellPatch(c *structures.Commands, key []byte, off uint64, b []byte) {
	if len(b) == 0 && off > 0 { // it made the string longer, or else would not have been recorded
		off, b = off-1, []byte{0}
	}
	c.Of("SETRANGE", key, strconv.AppendUint(nil, off, 10), b)
}
