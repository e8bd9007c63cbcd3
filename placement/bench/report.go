package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// section is one table: one number of units and one kind of capacities.
type section struct {
	n          int
	capacities string // "equal" or "1 to 100"
	rows       []row
}

func header() []string {
	return []string{"strategy", "package", "ns", "ns of a key", "allocs", "bytes", "layout CV", "join", "leave"}
}

// cells are the columns of a row as text.
func (r row) cells() []string {
	origin := r.origin
	if origin == "" {
		origin = "placement"
	}
	out := []string{r.name, origin}
	if r.skipped != "" {
		return append(out, "-", "-", "-", "-", "-", "-", r.skipped)
	}
	return append(out, nanoseconds(r.byHash), nanoseconds(r.byKey), short(r.allocations), size(r.bytes),
		layout(r.layout), times(r.join), times(r.leave))
}

func nanoseconds(ns float64) string {
	switch {
	case math.IsNaN(ns):
		return "-"
	case ns < 10:
		return strconv.FormatFloat(ns, 'f', 1, 64)
	}
	return strconv.FormatFloat(ns, 'f', 0, 64)
}

func short(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

func size(bytes int) string {
	switch {
	case bytes >= 10<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 10<<10:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return strconv.Itoa(bytes)
}

// layout prints 0 for what is exactly 0 but for rounding, and a bound for what
// a sample cannot tell from 0.
func layout(f figure) string {
	switch {
	case f.err == 0 && f.value < 1e-6:
		return "0"
	case f.value == 0:
		return "< " + strconv.FormatFloat(f.err, 'g', 1, 64)
	}
	return strconv.FormatFloat(f.value, 'f', 4, 64)
}

// times prints as many digits as the error allows.
func times(f figure) string {
	digits := 3
	if f.err > 0 {
		digits = min(3, max(0, int(-math.Floor(math.Log10(f.err)))-1))
	}
	return strconv.FormatFloat(f.value, 'f', digits, 64)
}

func writeText(w io.Writer, sections []section) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range sections {
		fmt.Fprintf(t, "\n%d units, capacities %s\n", s.n, s.capacities)
		fmt.Fprintln(t, strings.Join(header(), "\t"))
		for _, r := range s.rows {
			fmt.Fprintln(t, strings.Join(r.cells(), "\t"))
		}
	}
	return t.Flush()
}

func writeMarkdown(w io.Writer, sections []section, facts []string) error {
	var b strings.Builder
	for _, f := range facts {
		fmt.Fprintf(&b, "- %s\n", f)
	}
	for _, s := range sections {
		fmt.Fprintf(&b, "\n### %d units, capacities %s\n\n", s.n, s.capacities)
		fmt.Fprintf(&b, "| %s |\n|---|---|%s\n", strings.Join(header(), " | "), strings.Repeat("--:|", len(header())-2))
		for _, r := range s.rows {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(r.cells(), " | "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
