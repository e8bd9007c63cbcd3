package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// row is a line of the table.
type row struct {
	visitors int
	kind     string
	rate     float64 // pages a second
	p50, p99, p999,
	server, service time.Duration // the last two: CPU a page
	pages, degraded int
	lost            int64
	wrong           int
}

// measure runs all kinds with each number of visitors, in turn, and returns the
// medians of the rounds; what must not happen is added up instead.
func (o options) measure(ctx context.Context, progress io.Writer) ([]row, error) {
	var rows []row
	for _, n := range o.visitors {
		of := map[string][]row{}
		for round := range o.rounds {
			for _, k := range o.kinds() {
				r, err := o.once(ctx, k, n)
				if err != nil {
					return nil, fmt.Errorf("%s, %d visitors: %w", k.name, n, err)
				}
				fmt.Fprintf(progress, "%d visitors, round %d, %s: %.0f pages/s, p99 %v, %d degraded, %d wrong, %d lost\n",
					n, round+1, k.name, r.rate, r.p99, r.degraded, r.wrong, r.lost)
				of[k.name] = append(of[k.name], r)
			}
		}
		for _, k := range o.kinds() {
			rows = append(rows, medians(of[k.name]))
		}
	}
	return rows, nil
}

func (o options) once(ctx context.Context, k kind, n int) (row, error) {
	s, err := o.stage(ctx, k)
	if err != nil {
		return row{}, err
	}
	defer s.close()
	t, server, service, err := o.run(ctx, s, n)
	if err != nil {
		return row{}, err
	}
	if len(t.pages) == 0 {
		return row{}, errors.New("no page in the time of measuring")
	}
	pages := time.Duration(len(t.pages))
	return row{
		visitors: n, kind: k.name, rate: float64(pages) / o.length.Seconds(), pages: len(t.pages),
		p50: quantile(t.pages, .5), p99: quantile(t.pages, .99), p999: quantile(t.pages, .999),
		server: server / pages, service: service / pages,
		degraded: t.degraded, wrong: t.wrong, lost: t.lost,
	}, nil
}

// quantile is the smallest of the sorted times that a share q is not above.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func medians(rounds []row) row {
	m := rounds[0]
	m.rate = median(rounds, func(r row) float64 { return r.rate })
	m.p50 = median(rounds, func(r row) time.Duration { return r.p50 })
	m.p99 = median(rounds, func(r row) time.Duration { return r.p99 })
	m.p999 = median(rounds, func(r row) time.Duration { return r.p999 })
	m.server = median(rounds, func(r row) time.Duration { return r.server })
	m.service = median(rounds, func(r row) time.Duration { return r.service })
	for _, r := range rounds[1:] {
		m.pages += r.pages
		m.degraded += r.degraded
		m.wrong += r.wrong
		m.lost += r.lost
	}
	return m
}

func median[T cmp.Ordered](rounds []row, of func(row) T) T {
	values := make([]T, len(rounds))
	for i, r := range rounds {
		values[i] = of(r)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// report is the table and where it comes from.
func report(rows []row, o options) string {
	var b strings.Builder
	b.WriteString("| visitors | server | pages/s | p50 ms | p99 ms | p99.9 ms | degraded | wrong | lost | CPU us a page, server | microservice |\n" +
		"|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %d | %s | %.0f | %s | %s | %s | %.3f %% | %d | %d | %d | %d |\n", r.visitors, r.kind, r.rate,
			millis(r.p50), millis(r.p99), millis(r.p999), 100*float64(r.degraded)/float64(r.pages), r.wrong, r.lost,
			r.server.Microseconds(), r.service.Microseconds())
	}
	commit := "unknown"
	if out, err := exec.Command("git", "log", "-1", "--format=%h").Output(); err == nil {
		commit = strings.TrimSpace(string(out))
	}
	fmt.Fprintf(&b, "\n- %s, %d cores for visitors, microservice and server together, %s, commit %s, seed %d\n",
		processor(), runtime.NumCPU(), runtime.Version(), commit, o.seed)
	fmt.Fprintf(&b, "- `make bench-sessions`: %d rounds of %v after %v, in turn; times are medians of the rounds, the rest is added up\n",
		o.rounds, o.length, o.warm)
	fmt.Fprintf(&b, "- load average of the machine before the run: %s; on one that is busy with other things, waits are those of its scheduler\n", o.load)
	return b.String()
}

// loadAverage is that of the last minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(text))[0]
}

func millis(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond)) }

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return runtime.GOARCH
}

// The marks between which a document holds the table.
const (
	beginMark = "<!-- load: make bench-sessions -->\n"
	endMark   = "<!-- end of load -->\n"
)

// errMarks is returned when a document has no place for the table.
var errMarks = errors.New("the marks for the table are not there")

func insert(path, table string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := bytes.Cut(old, []byte(beginMark))
	_, tail, ended := bytes.Cut(rest, []byte(endMark))
	if !ok || !ended {
		return fmt.Errorf("%s: %w", path, errMarks)
	}
	text := slices.Concat(head, []byte(beginMark), []byte(table), []byte(endMark), tail)
	return os.WriteFile(path, text, 0o644)
}
