package backup

import (
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence/snapshot"
)

// snapshotName matches the names that clients may give to snapshots: plain file
// names on every system, except for those of unfinished snapshots.
var snapshotName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

func valid(name string) bool {
	return snapshotName.MatchString(name) && !strings.HasSuffix(name, ".part") && !strings.HasSuffix(name, ".")
}

// Automatic reports whether a snapshot of that name was made by a save point.
func Automatic(name string) bool { return strings.HasPrefix(name, autoPrefix) }

// List lists the complete snapshots, the oldest first.
func (v *Snapshots) List() ([]snapshot.Info, error) {
	return v.o.Copies.List(v.o.Settings().Dir)
}

// Create makes a snapshot; without a name it gets the time.
func (v *Snapshots) Create(name string) (string, error) {
	switch {
	case name == "":
		name = v.Name()
	case !valid(name) || Automatic(name):
		return "", commands.ErrSnapshotName
	}
	if v.o.InMemory {
		return "", commands.ErrSnapshotMemory
	}
	if v.running.Load() {
		return "", commands.ErrSaveInProgress
	}
	err := v.Make(name)
	if errors.Is(err, fs.ErrExist) {
		return "", commands.ErrSnapshotExists
	}
	return name, err
}

// Delete removes a snapshot, an automatic one too.
func (v *Snapshots) Delete(name string) error {
	if !valid(name) {
		return commands.ErrSnapshotName
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	err := v.o.Copies.Remove(filepath.Join(v.o.Settings().Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return commands.ErrNoSnapshot
	}
	return err
}

// prune removes all but the newest automatic snapshots, as
// snapshot-keep demands.
func (v *Snapshots) prune() {
	keep := v.o.Settings().Keep
	if keep == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	found, err := v.List()
	if err != nil {
		v.o.Logf(true, "%v", err)
	}
	kept := 0
	for i := len(found) - 1; i >= 0; i-- {
		if !Automatic(found[i].Name) {
			continue
		}
		if kept++; kept <= keep {
			continue
		}
		if err := v.o.Copies.Remove(filepath.Join(v.o.Settings().Dir, found[i].Name)); err != nil {
			v.o.Logf(true, "%v", err)
		}
	}
}
