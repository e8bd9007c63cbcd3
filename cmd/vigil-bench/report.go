package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// report is the text of docs/benchmarks.md.
type report struct{ b strings.Builder }

func (r *report) begin(o *options) {
	r.b.WriteString("# Benchmarks\n\nWritten by `make bench-report`; do not edit.\n\n")
	commit, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	version, _ := exec.Command("redis-server", "--version").Output()
	fmt.Fprintf(&r.b, "- machine: %s/%s, %d cores, %s\n- commit: %s\n- beside: %s\n", runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), cpuModel(), strings.TrimSpace(string(commit)), strings.TrimSpace(string(version)))
	fmt.Fprintf(&r.b, "- `vigil-bench -appendfsync %s -requests %d -rounds %d`: redis runs with appendonly and the same appendfsync\n",
		o.fsync, o.requests, o.rounds)
	r.b.WriteString("- Both servers run in turn in one run on the same machine, which the client shares: ratios and CPU per command are " +
		"steadier than absolute figures.\n")
}

func cpuModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

func (r *report) section(title, text string) { fmt.Fprintf(&r.b, "\n## %s\n%s\n\n", title, text) }

func (r *report) text(s string) { fmt.Fprintf(&r.b, "\n%s\n", s) }

func (r *report) row(cells ...string) {
	fmt.Fprintf(&r.b, "| %s |\n", strings.Join(cells, " | "))
	fmt.Fprintln(os.Stderr, strings.Join(cells, "\t"))
}

func (r *report) rule(n int) { r.b.WriteString("|" + strings.Repeat("---|", n) + "\n") }

func (r *report) comparison(name string, a, b []run) {
	f := func(format string, pick func(a, b run) float64) string {
		return fmt.Sprintf(format, median(a, b, pick))
	}
	r.row(name,
		f("%.0f", func(a, _ run) float64 { return a.perSecond }), f("%.0f", func(_, b run) float64 { return b.perSecond }),
		f("%.2f", func(a, b run) float64 { return a.perSecond / b.perSecond }),
		f("%.2f", func(a, _ run) float64 { return a.cpuMicros }), f("%.2f", func(_, b run) float64 { return b.cpuMicros }),
		f("%.2f", func(a, b run) float64 { return a.cpuMicros / b.cpuMicros }),
		f("%.2f", func(a, _ run) float64 { return a.p99 }), f("%.2f", func(_, b run) float64 { return b.p99 }))
}

func (r *report) write(path string) error {
	if path == "" {
		_, err := fmt.Print(r.b.String())
		return err
	}
	return os.WriteFile(path, []byte(r.b.String()), 0o644)
}
