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
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/importer"
)

// fileTransfer is what the command line asks for of files of other servers.
type fileTransfer struct {
	path    string // "" for nothing
	options []string
	imports server.ImportOptions
	exports server.ExportOptions // if its path is not empty
}

// transferOptions are the arguments that have a value.
var transferOptions = []string{"--import", "--import-on-conflict", "--import-only", "--import-until", "--import-truncated", "--import-skip-unknown",
	"--export", "--for", "--export-modules", "--export-strict"}

func isTransfer(name string) bool { return slices.Contains(transferOptions, name) }

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
	case "--export":
		t.path, t.exports.Path = value, value
	case "--for":
		if t.exports.For = value; !slices.Contains(server.ExportTargets(), value) {
			return bad("one of " + strings.Join(server.ExportTargets(), ", "))
		}
	default:
		if value != "yes" && value != "no" {
			return bad("yes or no")
		}
		switch name {
		case "--import-truncated":
			t.imports.Whole = value == "no"
		case "--import-skip-unknown":
			t.imports.SkipUnknown = value == "yes"
		case "--export-modules":
			t.exports.Modules = value == "yes"
		case "--export-strict":
			t.exports.Strict = value == "yes"
		}
	}
	return nil
}

// fits returns an error if the options mean nothing, or something else is asked for as well.
func (t *fileTransfer) fits(m modes) error {
	switch {
	case len(t.options) == 0:
		return nil
	case t.path == "":
		return fmt.Errorf("%s: needs --import or --export", t.options[0])
	case t.imports.Path != "" && t.exports.Path != "":
		return errors.New("--import and --export: one at a time")
	case t.exports.Path != "" && t.exports.For == "":
		return fmt.Errorf("--export: needs --for with one of %s", strings.Join(server.ExportTargets(), ", "))
	case m.check || m.snapshot != "" || m.alone:
		return errors.New("--import, --export, --check, --restore and --recover alone: one at a time")
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

// run opens the store, which no server may have open, and imports or exports.
func (t *fileTransfer) run(config *conf.Config, stdin io.Reader, out, errOut io.Writer) error {
	if err := t.absolute(); err != nil {
		return &exitStatus{statusNotRun, err}
	}
	t.imports.Stdin = stdin
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	limit := findMemoryLimit(os.DirFS("/"))
	mem := followMemory(config, limit)
	defer mem.close()
	log := slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: slog.LevelWarn}))
	options := server.Options{Config: config, Log: log}
	options.DerivedMaxMemory = derivedMaxMemory(config.Settings(), limit)
	srv, err := server.Open(context.Background(), options)
	if t.exports.Path != "" && errors.Is(err, persistence.ErrMember) {
		options.Store = persistence.OfStoppedMember
		srv, err = server.Open(context.Background(), options)
	}
	if err != nil {
		return &exitStatus{statusNotRun, advise(err, config.Settings().Dir)}
	}
	mem.ready()
	show := newTransferProgress(errOut, time.Now())
	var sum importer.Summary
	if t.exports.Path != "" {
		show.what = "export"
		sum, err = srv.Export(ctx, t.exports, show.show)
	} else {
		sum, err = srv.Import(ctx, t.imports, show.show)
	}
	show.end()
	return t.report(out, sum, time.Since(show.began), err, srv.Close(context.Background()))
}

// absolute makes the paths absolute: a store may be in another directory.
func (t *fileTransfer) absolute() (err error) {
	for _, path := range []*string{&t.imports.Path, &t.exports.Path} {
		if *path != "" && *path != "-" && err == nil {
			*path, err = filepath.Abs(*path)
		}
	}
	return err
}

// report prints what was done, and returns how it ended.
func (t *fileTransfer) report(out io.Writer, sum importer.Summary, took time.Duration, err, closed error) error {
	for _, line := range sum.Lines() {
		fmt.Fprintln(out, line)
	}
	what := "imported"
	if t.exports.Path != "" {
		what = "exported"
	}
	if err == nil {
		fmt.Fprintf(out, "%s: %d keys, %d bytes in %.1f seconds, %.0f keys a second\n", what, sum.All, sum.Bytes, took.Seconds(), float64(sum.All)/max(took.Seconds(), 1e-3))
	}
	if err = errors.Join(err, closed); err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	if sum.Put == 0 && t.exports.Path == "" {
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
	what     string
}

func newTransferProgress(w io.Writer, began time.Time) *transferProgress {
	p := &transferProgress{w: w, began: began, what: "import"}
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
	done := s.Bytes
	if p.what == "export" {
		done = s.All
	}
	if s.Total > 0 {
		part = min(1, float64(done)/float64(s.Total))
		line = fmt.Sprintf("%3.0f %%, %s", 100*part, line)
	}
	if !p.terminal {
		fmt.Fprintf(p.w, "%s: %s\n", p.what, line)
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
