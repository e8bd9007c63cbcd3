package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/check"
	"github.com/vigildb/vigil/persistence/wal"
	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/structures/types"
)

// modes are what the command line asks for beside directives: work on a store
// offline, or a start in spite of damage.
type modes struct {
	check    bool
	doctor   bool
	ping     bool
	snapshot string // to be restored
	recover  persistence.Recovery
	alone    bool // go on as the only member of a group
	become   string
	transfer fileTransfer
	newcomer newcomer
	backups  backupMode
}

// splitModes takes the modes out of the arguments.
func splitModes(args []string) (m modes, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		name, value := args[i], ""
		if name == "--restore" || name == "--recover" || name == "--become" || isTransfer(name) || isBackupMode(name) {
			if i++; i == len(args) {
				return m, nil, fmt.Errorf("%s: missing argument", name)
			}
			value = args[i]
		}
		switch name {
		case "--check":
			m.check = true
		case "--doctor":
			m.doctor = true
		case "--ping":
			m.ping = true
		case "--restore":
			m.snapshot = value
		case "--recover":
			switch value {
			case "truncate":
				m.recover = persistence.RecoverTruncate
			case "alone":
				m.alone = true
			default:
				return m, nil, fmt.Errorf("--recover %s: there are only --recover truncate and --recover alone", value)
			}
		case "--become":
			m.become = value
		case "--check-backup", "--until", "--backup":
			if err := m.backups.option(name, value); err != nil {
				return m, nil, &exitStatus{statusNotRun, err}
			}
		default:
			if !isTransfer(name) {
				rest = append(rest, name)
			} else if err := m.transfer.option(name, value); err != nil {
				return m, nil, &exitStatus{statusNotRun, err}
			}
		}
	}
	if err := m.transfer.fits(m); err != nil {
		return m, nil, &exitStatus{statusNotRun, err}
	}
	if err := m.becomeMode(); err != nil {
		return m, nil, &exitStatus{statusNotRun, err}
	}
	if (m.doctor || m.ping) && (m.doctor && m.ping || m.check || m.snapshot != "" || m.transfer.path != "" || m.alone || m.recover != 0) {
		return m, nil, errors.New("--doctor and --ping: one at a time, and beside directives only")
	}
	if err := m.backups.fits(&m); err != nil {
		return m, nil, &exitStatus{statusNotRun, err}
	}
	if m.check && m.snapshot != "" {
		return m, nil, errors.New("--check and --restore: one at a time; --restore checks the snapshot")
	}
	return m, rest, nil
}

// exitStatus is an error that ends the process with a status of its own.
type exitStatus struct {
	code int
	err  error // nil: already reported
}

func (e *exitStatus) Error() string { return fmt.Sprint(e.err) }

// The exit status of --check, other than 0.
const (
	statusDamaged = 1
	statusNotRun  = 2
)

// checkStore reports on the store in dir.
func checkStore(dir string, out, errOut io.Writer) error {
	r, err := server.Check(dir, newProgress(errOut).show)
	if err != nil {
		return &exitStatus{statusNotRun, err}
	}
	writeReport(out, r)
	if !r.Sound() {
		return &exitStatus{code: statusDamaged}
	}
	return nil
}

// writeReport writes what a check found, in lines for people and for grep.
func writeReport(w io.Writer, r *check.Report) {
	if r.Origin != nil {
		fmt.Fprintln(w, r.Origin)
	}
	fmt.Fprintf(w, "tables: %d, %d bytes\n", r.Tables, r.TableBytes)
	fmt.Fprintf(w, "logs: %d, %d bytes\n", r.Logs, r.LogBytes)
	classes := make([]check.KeyClass, 0, len(r.Keys))
	for c := range r.Keys {
		classes = append(classes, c)
	}
	slices.SortFunc(classes, func(a, b check.KeyClass) int {
		return (a.DB-b.DB)*256 + int(a.Kind) - int(b.Kind)
	})
	for _, c := range classes {
		fmt.Fprintf(w, "database %d: %d keys of type %s\n", c.DB, r.Keys[c], types.Name(c.Kind))
	}
	if r.Flushed > 0 {
		fmt.Fprintf(w, "flushed databases: %d keys not removed yet\n", r.Flushed)
	}
	if r.Libraries > 0 {
		fmt.Fprintf(w, "libraries of functions: %d\n", r.Libraries)
	}
	if r.Users > 0 {
		fmt.Fprintf(w, "users: %d\n", r.Users)
	}
	if r.Directives > 0 {
		fmt.Fprintf(w, "directives of the group: %d\n", r.Directives)
	}
	if r.Moves > 0 {
		fmt.Fprintf(w, "moves of slots to be made: %d\n", r.Moves)
	}
	fmt.Fprintf(w, "values: %d bytes, %d pages\n", r.Bytes, r.Pages)
	fmt.Fprintf(w, "journal: %d records in %d chunks, the last is %d\n", r.Records, r.Chunks, r.Last)
	for _, d := range r.Damage {
		fmt.Fprintf(w, "DAMAGED: %s\n", d)
	}
	if r.Unlisted > 0 {
		fmt.Fprintf(w, "DAMAGED: %d more\n", r.Unlisted)
	}
	if r.Sound() {
		fmt.Fprintln(w, "sound")
	}
}

// progress shows about once a second how far a check has got.
type progress struct {
	w    io.Writer
	next time.Time
}

func newProgress(w io.Writer) *progress { return &progress{w, time.Now().Add(time.Second)} }

func (p *progress) show(what string, done, total int64) {
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(time.Second)
	if total > 0 {
		fmt.Fprintf(p.w, "%s: %d of %d bytes\n", what, done, total)
		return
	}
	fmt.Fprintf(p.w, "%s: %d\n", what, done)
}

// advise adds to the error of a start what to do about a damaged store.
func advise(err error, dir string) error {
	var d *wal.Damage
	var kind persistence.WrongKindError
	switch {
	case errors.As(err, &kind) && kind.Member:
		return fmt.Errorf("%w\n  A member starts with cluster-secret. `vigil-server --become alone --dir %s` makes it a server that is alone, for good", err, dir)
	case errors.As(err, &kind):
		return fmt.Errorf("%w\n  After `vigil-server --become member --dir %s` the next start founds a group with what it has", err, dir)
	case persistence.IsFull(err):
		return fmt.Errorf("%w\n  The disk, or a quota or a limit of the size of files, has no room in %s. Make room, some 16 MiB, and start again: nothing is\n"+
			"  damaged, do not restore a snapshot", err, dir)
	case !errors.As(err, &d):
		return err
	}
	text := fmt.Sprintf("  `vigil-server --check --dir %s` lists all that is damaged.\n", dir)
	if d.Truncatable {
		text += "  To go on without what is behind the damage, start once with --recover truncate: it keeps copies of the\n" +
			"  files and logs what is lost.\n"
	} else {
		text += "  Cutting the log does not mend this (--recover truncate).\n"
	}
	return fmt.Errorf("%w\n%s  To go back to a snapshot: `vigil-server --restore %s/snapshots/NAME --dir NEW`", err, text, dir)
}
