package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// report is the text of docs/benchmarks.md.
type report struct{ b strings.Builder }

func (r *report) begin(o *options) {
	r.b.WriteString("# Benchmarks\n\nHow fast vigil is, and what it takes, beside other servers on the same machine: for who chooses, or changes something and wants to know.\n\n" +
		"    make bench-report PEER=/usr/bin/valkey-server SECTIONS=throughput\n\nWritten by `make bench-report`; do not edit.\n\n")
	fmt.Fprintf(&r.b, "- machine: %s/%s, %d cores, %s\n- commit: %s\n- beside: %s\n", runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), cpuModel(), commit(), o.version)
	fmt.Fprintf(&r.b, "- `vigil-bench -appendfsync %s -requests %d -rounds %d`: the other runs with appendonly and the same appendfsync\n",
		o.fsync, o.requests, o.rounds)
	r.b.WriteString("- Both servers run in turn in one run on the same machine, which the client shares: ratios and CPU per command are " +
		"steadier than absolute figures.\n")
}

func commit() string {
	b, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	return strings.TrimSpace(string(b))
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

// compared begins a table of comparisons.
func (r *report) compared(o *options) {
	peer := o.peerName()
	r.row("case", "vigil /s", peer+" /s", "ratio", "vigil us CPU", peer+" us CPU", "ratio", "p99 ms", peer)
	r.rule(9)
}

func (r *report) comparison(name string, a, b []run) {
	f := func(format string, pick func(a, b run) float64) string {
		return fmt.Sprintf(format, median(a, b, pick))
	}
	ours, redis := meanCPU(a), meanCPU(b) // a median would leave out what comes once in a while
	r.row(name,
		f("%.0f", func(a, _ run) float64 { return a.perSecond }), f("%.0f", func(_, b run) float64 { return b.perSecond }),
		f("%.2f", func(a, b run) float64 { return a.perSecond / b.perSecond }),
		fmt.Sprintf("%.2f", ours), fmt.Sprintf("%.2f", redis), fmt.Sprintf("%.2f", ours/redis),
		f("%.2f", func(a, _ run) float64 { return a.p99 }), f("%.2f", func(_, b run) float64 { return b.p99 }))
}

func (r *report) write(path string) error {
	if path == "" {
		_, err := fmt.Print(r.b.String())
		return err
	}
	return os.WriteFile(path, []byte(r.b.String()), 0o644)
}

// sectionMark is what a section begins with.
const sectionMark = "\n## "

// replace puts the sections of the report into the file at path, each in the place
// of the one with its title, or at the end. They say what the head of the file says of the others.
func (r *report) replace(o *options) error {
	path := o.out
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	parts := strings.Split(strings.TrimRight(string(old), "\n"), sectionMark)
	for _, section := range strings.Split(strings.TrimRight(r.b.String(), "\n"), sectionMark)[1:] {
		title, _, _ := strings.Cut(section, "\n")
		i := slices.IndexFunc(parts, func(p string) bool { return strings.HasPrefix(p, title+"\n") })
		if i < 0 {
			parts = append(parts, "")
			i = len(parts) - 1
		}
		parts[i] = strings.TrimRight(section, "\n") + fmt.Sprintf("\n\nCommit %s, beside %s.\n", commit(), o.peerRelease())
	}
	for i, p := range parts {
		parts[i] = strings.TrimRight(p, "\n") + "\n"
	}
	return os.WriteFile(path, []byte(strings.Join(parts, sectionMark)), 0o644)
}
