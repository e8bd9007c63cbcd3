package offsite

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// state is what an archiver keeps beside the store: it says who it is, and which pieces the tables consist of, so that a table is
// read once. A table never changes, and its name is not used again in the same directory.
type state struct {
	Format int              `json:"format"`
	Writer string           `json:"writer"`
	Target string           `json:"target"` // that it has written to; empty: none
	Print  string           `json:"key"`    // of the key that pieces were named with
	Tables map[string]table `json:"tables"`
}

// table is a table that was uploaded. It is known by its time too: the directory might be a copy of another one.
type table struct {
	Bytes  int64   `json:"bytes"`
	Time   int64   `json:"time"` // of its last change, unix ns
	Pieces []piece `json:"pieces"`
}

func statePath(work string) string { return filepath.Join(work, "state") }

// readState reads the state. One that is missing or cannot be read is a new one.
func readState(work string, random io.Reader) (s state, err error) {
	b, err := os.ReadFile(statePath(work))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	if err == nil && json.Unmarshal(b, &s) == nil && s.Format == formatNumber && s.Writer != "" {
		return s, nil
	}
	var id [12]byte
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return s, err
	}
	return state{Format: formatNumber, Writer: hex.EncodeToString(id[:])}, nil
}

func (s *state) write(work string) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	path := statePath(work)
	if err := writeFile(path+unfinished, b); err != nil {
		return errors.Join(err, removeAny(path+unfinished))
	}
	if err := os.Rename(path+unfinished, path); err != nil {
		return err
	}
	return syncDir(work)
}
