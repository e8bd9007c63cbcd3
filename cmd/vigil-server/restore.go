package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/check"
	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/conf"
)

// restoreOnly returns the directory if a command line asks for nothing but to restore into it; args are those beside --restore.
func restoreOnly(args []string) (dir string, only bool) {
	if len(args) == 2 && args[0] == "--dir" {
		return args[1], true
	}
	return "", false
}

// offline does what a command line asks for that needs no server, and reports that this was all.
func offline(m *modes, args []string, stdin io.Reader, out io.Writer) (done bool, err error) {
	var r *check.Report
	dir, only := restoreOnly(args)
	switch {
	case m.backups.check != "":
		config, err := conf.Load(args, stdin)
		if err != nil {
			return true, err
		}
		return true, checkBackups(m.backups.check, config, out, os.Stderr)
	case m.snapshot != "" && isBackup(m.snapshot):
		var rest []string
		if dir, rest, only = withoutDir(args); !only {
			return false, makeDir(args)
		}
		config, err := conf.Load(rest, stdin)
		if err != nil {
			return true, err
		}
		r, err = restoreFrom(m, config, dir, out)
		if err != nil {
			return true, err
		}
	case m.snapshot == "" || !only:
		return false, nil
	default:
		if r, err = restore(m.snapshot, dir, out, os.Stderr); err != nil {
			return true, err
		}
	}
	writeNext(out, r.Origin, dir)
	return true, nil
}

// restoreFrom makes a store of a backup or a snapshot.
func restoreFrom(m *modes, config *conf.Config, dir string, out io.Writer) (*check.Report, error) {
	if isBackup(m.snapshot) {
		return restoreBackup(m, config, dir, out, os.Stderr)
	}
	return restore(m.snapshot, dir, out, os.Stderr)
}

// restore makes a store of a snapshot in dir. Status 1 says that the snapshot is damaged, 2 that something else was in the way. Nothing
// is left of the store then.
func restore(snapshot, dir string, out, errOut io.Writer) (*check.Report, error) {
	dir, err := filepath.Abs(dir) // the server may start in another directory
	if err != nil {
		return nil, &exitStatus{statusNotRun, err}
	}
	r, err := server.Restore(snapshot, dir, newProgress(errOut).show)
	if r != nil {
		writeReport(out, r)
	}
	if errors.Is(err, persistence.ErrDamaged) {
		return r, &exitStatus{statusDamaged, err}
	}
	if err != nil {
		return r, &exitStatus{statusNotRun, err}
	}
	return r, nil
}

// writeNext says how a server starts with the store that was made of a snapshot.
func writeNext(out io.Writer, o *snapshot.Origin, dir string) {
	line := "restored: start the server with --dir " + dir
	switch {
	case o.Part() != nil:
		line += " --cluster-enabled yes, cluster-secret, and cluster-peers with the servers of the other parts: a new group begins"
	case o != nil:
		line += " --recover alone and cluster-secret, after all servers of its group were stopped"
	}
	fmt.Fprintln(out, line)
}
