package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"github.com/vigildb/vigil/server/audit"
	"github.com/vigildb/vigil/server/conf"
)

// logHandler writes lines as redis-server does, so that tools that read them
// still work: "PID:M 02 Jan 2006 15:04:05.000 * text".
type logHandler struct {
	level func() conf.LogLevel  // the lowest that is logged
	style func() *conf.Settings // what says how a line looks; nil: as that of redis-server

	mu  sync.Mutex // one line at a time
	out io.Writer  // guarded by mu
	// path is that of logfile, "" if out is no file of this process; file is then out.
	path string
	file *os.File // guarded by mu
	// trail is the audit log, nil without one.
	trail *audit.Log
}

// openLog opens the log of a configuration: its logfile, or stdout without one.
func openLog(path string, stdout io.Writer, level func() conf.LogLevel) (*logHandler, error) {
	h := &logHandler{level: level, out: stdout, path: path}
	return h, h.reopen()
}

// openTrail opens the audit log of a configuration, if it has one. The server does not start without one that it is to have.
func (h *logHandler) openTrail(set *conf.Settings) (err error) {
	log := slog.New(h)
	warn := func(text string) { log.Warn(text) }
	switch {
	case set.AuditLogFile != "":
		h.trail, err = audit.Open(set.AuditLogFile, warn)
	case set.AuditLog:
		h.trail = audit.To(func(text string) { log.Warn("audit " + text) }, warn) // no loglevel but nothing leaves it out
	}
	return err
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

// levelNames are the levels in lines of fields.
var levelNames = [...]string{conf.LogDebug: "debug", conf.LogVerbose: "verbose", conf.LogNotice: "notice", conf.LogWarning: "warning"}

// line is a line of the log, in the form that is configured.
func (h *logHandler) line(r *slog.Record) []byte {
	var set conf.Settings
	if h.style != nil {
		set = *h.style()
	}
	at := r.Time.Format("02 Jan 2006 15:04:05.000")
	switch set.LogTime {
	case conf.LogTimeISO:
		at = r.Time.Format("2006-01-02T15:04:05.000-07:00")
	case conf.LogTimeMillis:
		at = strconv.FormatInt(r.Time.UnixMilli(), 10)
	}
	level := levelOf(r.Level)
	switch set.LogFormat {
	case conf.LogFmt:
		return fmt.Appendf(nil, "pid=%d role=primary timestamp=%q level=%s message=%q\n", os.Getpid(), at, levelNames[level], r.Message)
	case conf.LogJSON:
		line, _ := json.Marshal(struct { // strings and a number always can be
			PID       int    `json:"pid"`
			Role      string `json:"role"`
			Timestamp string `json:"timestamp"`
			Level     string `json:"level"`
			Message   string `json:"message"`
		}{os.Getpid(), "primary", at, levelNames[level], r.Message})
		return append(line, '\n')
	}
	return fmt.Appendf(nil, "%d:M %s %c %s\n", os.Getpid(), at, marks[level], r.Message)
}

// Handle writes one line.
func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	line := h.line(&r)
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.out.Write(line)
	return err
}

// WithAttrs and WithGroup: the server logs text only.
func (h *logHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h *logHandler) WithGroup(string) slog.Handler      { return h }
