package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server"
)

// restore makes a store of a snapshot; args are "--dir" and where. Status 1 says
// that the snapshot is damaged, 2 that something else was in the way. Nothing is
// left of the store then.
func restore(snapshot string, args []string, out, errOut io.Writer) error {
	if len(args) != 2 || args[0] != "--dir" {
		return &exitStatus{statusNotRun, errors.New("--restore SNAPSHOT needs --dir NEW, and no other option")}
	}
	dir, err := filepath.Abs(args[1]) // the server may start in another directory
	if err != nil {
		return &exitStatus{statusNotRun, err}
	}
	r, err := server.Restore(snapshot, dir, newProgress(errOut).show)
	if r != nil {
		writeReport(out, r)
	}
	if errors.Is(err, persistence.ErrDamaged) {
		return &exitStatus{statusDamaged, err}
	}
	if err != nil {
		return &exitStatus{statusNotRun, err}
	}
	fmt.Fprintf(out, "restored: start the server with --dir %s\n", dir)
	return nil
}
