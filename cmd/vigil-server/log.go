package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
)

// logHandler writes lines as redis-server does, so that tools that read them
// go on to work: "PID:M 02 Jan 2006 15:04:05.000 * text".
type logHandler struct {
	mu  *sync.Mutex // one line at a time
	out io.Writer
}

func newLogHandler(out io.Writer) *logHandler { return &logHandler{mu: &sync.Mutex{}, out: out} }

// Enabled is true: the server has chosen what is worth logging.
func (h *logHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle writes one line.
func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	mark := byte('#')
	switch {
	case r.Level < slog.LevelDebug+2:
		mark = '.'
	case r.Level < slog.LevelInfo:
		mark = '-'
	case r.Level < slog.LevelWarn:
		mark = '*'
	}
	line := fmt.Appendf(nil, "%d:M %s %c %s\n", os.Getpid(), r.Time.Format("02 Jan 2006 15:04:05.000"), mark, r.Message)
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.out.Write(line)
	return err
}

// WithAttrs and WithGroup: the server logs text only.
func (h *logHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h *logHandler) WithGroup(string) slog.Handler      { return h }
