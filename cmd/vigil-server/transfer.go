package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/importer"
)

// fileTransfer is what the command line asks for of files of other servers.
type fileTransfer struct {
	path    string // "" for nothing
	options []string
	imports server.ImportOptions
}

// transferOptions are the arguments that have a value.
var transferOptions = []string{"--import", "--import-on-conflict", "--import-only", "--import-until", "--import-truncated", "--import-skip-unknown"}

func isTransfer(name string) bool {
	for _, o := range transferOptions {
		if name == o {
			return true
		}
	}
	return false
}

var conflictRules = map[string]server.OnConflict{
	"fail": server.ConflictFail, "skip": server.ConflictSkip, "replace": server.ConflictReplace, "replace-all": server.ConflictReplaceAll}

// option takes an argument and its value.
func (t *fileTransfer) option(name, value string) (err error) {
	bad := func(want string) error { return fmt.Errorf("%s %s: want %s", name, value, want) }
	t.options = append(t.options, name)
	switch name {
	case "--import":
		t.path, t.imports.Path = value, value
	case "--import-on-conflict":
		rule, ok := conflictRules[value]
		if !ok {
			return bad("fail, skip, replace or replace-all")
		}
		t.imports.OnConflict = rule
	case "--import-only":
		for word := range strings.SplitSeq(value, ",") {
			db, err := strconv.ParseUint(strings.TrimSpace(word), 10, 31)
			if err != nil {
				return bad("numbers of databases with commas")
			}
			t.imports.Only = append(t.imports.Only, int(db))
		}
	case "--import-until":
		if t.imports.Until, err = strconv.ParseInt(value, 10, 64); err != nil || t.imports.Until <= 0 {
			return bad("a unix time in seconds")
		}
	case "--import-truncated":
		if value != "yes" && value != "no" {
			return bad("yes or no")
		}
		t.imports.Whole = value == "no"
	case "--import-skip-unknown":
		if value != "yes" && value != "no" {
			return bad("yes or no")
		}
		t.imports.SkipUnknown = value == "yes"
	}
	return nil
}

// fits returns an error if the options mean nothing, or something else is asked for as well.
func (t *fileTransfer) fits(m modes) error {
	switch {
	case len(t.options) == 0:
		return nil
	case t.path == "":
		return fmt.Errorf("%s: needs --import", t.options[0])
	case m.check || m.snapshot != "" || m.alone:
		return errors.New("--import, --check, --restore and --recover alone: one at a time")
	}
	return nil
}

// makeDir makes the directory that a command line names, in which a new store is to be.
func makeDir(args []string) error {
	for i := range args {
		if args[i] == "--dir" && i+1 < len(args) {
			return os.MkdirAll(args[i+1], 0o700)
		}
	}
	return nil
}

// run opens the store, which no server may have open, and imports.
func (t *fileTransfer) run(config *conf.Config, stdin io.Reader, out, errOut io.Writer) error {
	if t.path != "-" {
		path, err := filepath.Abs(t.path)
		if err != nil {
			return &exitStatus{statusNotRun, err}
		}
		t.imports.Path = path
	}
	t.imports.Stdin = stdin
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	limit := findMemoryLimit(os.DirFS("/"))
	mem := followMemory(config, limit)
	defer mem.close()
	log := slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: slog.LevelWarn}))
	srv, err := server.Open(server.Options{Config: config, Log: log, DerivedMaxMemory: derivedMaxMemory(config.Settings(), limit)})
	if err != nil {
		return &exitStatus{statusNotRun, advise(err, config.Settings().Dir)}
	}
	mem.ready()
	began := time.Now()
	show := newTransferProgress(errOut, began)
	sum, err := srv.Import(ctx, t.imports, show.show)
	show.end()
	for _, line := range sum.Lines() {
		fmt.Fprintln(out, line)
	}
	took := time.Since(began)
	if err == nil {
		fmt.Fprintf(out, "imported: %d keys, %d bytes in %.1f seconds, %.0f keys a second\n", sum.All, sum.Bytes, took.Seconds(), float64(sum.All)/max(took.Seconds(), 1e-3))
	}
	err = errors.Join(err, srv.Close())
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	if sum.Put == 0 {
		err = fmt.Errorf("import failed, nothing was changed: %w", err)
	}
	return &exitStatus{statusDamaged, err}
}

// transferProgress shows how far a transfer is: a bar on terminals, a line a second elsewhere.
type transferProgress struct {
	w        io.Writer
	terminal bool
	began    time.Time
	shown    bool
}

func newTransferProgress(w io.Writer, began time.Time) *transferProgress {
	p := &transferProgress{w: w, began: began}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

const barWidth = 30

func (p *transferProgress) show(s importer.Summary) {
	seconds := max(time.Since(p.began).Seconds(), 1e-3)
	line := fmt.Sprintf("%d keys", s.All)
	if s.Commands > 0 {
		line += fmt.Sprintf(", %d commands", s.Commands)
	}
	line += fmt.Sprintf(", %.1f MB, %.0f keys/s", float64(s.Bytes)/1e6, float64(s.All)/seconds)
	part := 0.0
	if s.Total > 0 {
		part = min(1, float64(s.Bytes)/float64(s.Total))
		line = fmt.Sprintf("%3.0f %%, %s", 100*part, line)
	}
	if !p.terminal {
		fmt.Fprintf(p.w, "import: %s\n", line)
		return
	}
	full := int(part * barWidth)
	fmt.Fprintf(p.w, "\r[%s%s] %s\x1b[K", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), line)
	p.shown = true
}

// end leaves the line of the bar.
func (p *transferProgress) end() {
	if p.shown {
		fmt.Fprintln(p.w)
	}
}
