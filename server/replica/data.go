package replica

import (
	"context"
	"fmt"
	"io"
)

// Position is a place in a stream.
type Position struct {
	ID     string // of the stream, 40 characters; "": the data comes from no stream, or from one that cannot be resumed
	Offset int64  // bytes before it
	DB     int    // that is selected there
}

// Call is one command of the stream.
type Call struct {
	DB   int
	Args [][]byte // valid during Apply only
}

// Data is what follows: a store, and what runs commands on it.
type Data interface {
	// Position says which stream the data is of, and its offset.
	Position() Position
	// Read reads a file, which size bytes are, -1 if that is not known. Nobody sees what it has yet.
	Read(ctx context.Context, file io.Reader, size int64) (Snapshot, error)
	// Apply makes calls as one, and notes with their effects that they lead to an offset and a database. None takes effect, and the error
	// is a *CommandError, if one fails and pass does not let it: then it is left out.
	Apply(calls []Call, offset int64, db int, pass func(*CommandError) bool) error
	// Note notes how far the stream was applied: the commands since had no effects.
	Note(offset int64, db int) error
	// Rename says that the stream has another ID from an offset on.
	Rename(id string, offset int64) error
}

// Snapshot is a file that was read.
type Snapshot interface {
	// Rest is what follows the file.
	Rest() io.Reader
	// Keep makes it the data, which then is at a position.
	Keep(at Position) error
	// Close drops it unless it was kept.
	Close() error
}

// CommandError is a command of the stream that cannot be applied.
type CommandError struct {
	Args    [][]byte
	Unknown bool   // there is no such command, or no such type
	Text    string // why, as clients get it
}

// Error has the command as a whole if it is short, and what it begins with otherwise.
func (e *CommandError) Error() string {
	const most, longest = 16, 128
	text := ""
	for i, arg := range e.Args {
		if i == most {
			return fmt.Sprintf("command%s ... (%d arguments): %s", text, len(e.Args), e.Text)
		}
		if len(arg) > longest {
			text += fmt.Sprintf(" %q... (%d bytes)", arg[:longest], len(arg))
			continue
		}
		text += fmt.Sprintf(" %q", arg)
	}
	return "command" + text + ": " + e.Text
}
