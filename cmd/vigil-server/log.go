package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/vigildb/vigil/server/conf"
)

// logHandler writes lines as redis-server does, so that tools that read them
// go on to work: "PID:M 02 Jan 2006 15:04:05.000 * text".
type logHandler struct {
	level func() conf.LogLevel // the lowest that is logged

	mu  sync.Mutex // one line at a time
	out io.Writer  // guarded by mu
	// path is that of logfile, "" if out is no file of this process; file is then out.
	path string
	file *os.File // guarded by mu
}

// openLog opens the log of a configuration: its logfile, or stdout without one.
func openLog(path string, stdout io.Writer, level func() conf.LogLevel) (*logHandler, error) {
	h := &logHandler{level: level, out: stdout, path: path}
	return h, h.reopen()
}

// reopen opens the logfile by its name again, for programs that rotate it: the file that was open has
// another name by then. If that fails the log stays where it is. Without a logfile nothing happens.
func (h *logHandler) reopen() error {
	if h.path == "" {
		return nil
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = debug.SetCrashOutput(f, debug.CrashOptions{}) // it goes to the standard error anyway
	if h.file != nil {
		h.file.Close()
	}
	h.out, h.file = f, f
	return nil
}

// logFatal adds why the process ends to the logfile that a configuration names, if it names one. What is written to the
// standard output or to nowhere is on the standard error already.
func logFatal(path string, why error) {
	if path == "" {
		return
	}
	h, err := openLog(path, nil, func() conf.LogLevel { return conf.LogDebug })
	if err != nil {
		return // it is the reason, or a second one
	}
	defer h.file.Close()
	log := slog.New(h)
	for line := range strings.Lines(why.Error()) {
		log.Error(strings.TrimRight(line, "\n"))
	}
}

// levelOf is the server's level of one of slog's.
func levelOf(l slog.Level) conf.LogLevel {
	switch {
	case l < slog.LevelDebug+2:
		return conf.LogDebug
	case l < slog.LevelInfo:
		return conf.LogVerbose
	case l < slog.LevelWarn:
		return conf.LogNotice
	}
	return conf.LogWarning
}

// Enabled reports whether loglevel admits a line: the server asks for itself, the program, the window and
// what a start logs before there is a server do not.
func (h *logHandler) Enabled(_ context.Context, l slog.Level) bool { return levelOf(l) >= h.level() }

// marks are what redis-server puts before the text of a level.
var marks = [...]byte{conf.LogDebug: '.', conf.LogVerbose: '-', conf.LogNotice: '*', conf.LogWarning: '#'}

// Handle writes one line.
func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	line := fmt.Appendf(nil, "%d:M %s %c %s\n", os.Getpid(), r.Time.Format("02 Jan 2006 15:04:05.000"), marks[levelOf(r.Level)], r.Message)
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.out.Write(line)
	return err
}

// WithAttrs and WithGroup: the server logs text only.
func (h *logHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h *logHandler) WithGroup(string) slog.Handler      { return h }
