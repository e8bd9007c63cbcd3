package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress is a bar on a terminal. nil shows nothing.
type progress struct {
	w   io.Writer
	bar *progressbar.ProgressBar
}

// newProgress is nil unless w is a terminal.
func newProgress(w io.Writer) *progress {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &progress{w: w}
	}
	return nil
}

func (p *progress) begin(what string, steps int64) {
	if p == nil {
		return
	}
	p.bar = progressbar.NewOptions64(steps, progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetElapsedTime(true))
}

// set shows the steps done. A bar that cannot be drawn is no reason to stop.
func (p *progress) set(done int64) {
	if p != nil {
		_ = p.bar.Set64(done)
	}
}

func (p *progress) end() {
	if p != nil {
		_ = p.bar.Finish()
	}
}
