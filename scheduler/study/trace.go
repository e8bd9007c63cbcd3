package study

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
)

// Trace says which files of the public trace are read. Its data were gathered for the
// papers of Kolobov and others; they are not part of this project.
const (
	traceURLs       = "url_urlid_hostid.txt"            // URL, id, id of its host
	traceHosts      = "host_hostid_isconstrained.txt"   // host, id, 1 if it limits requests
	traceImportance = "urlid_imp.txt"                   // id, importance
	traceHistory    = "urlid_offset_history.txt"        // id, offset, [[days since the last crawl, changed], ...]
	traceRates      = "urlid_chrate_compl_obs_hist.txt" // id, changes a day; all are signalled
	traceGap        = 10. / StepsADay                   // days from one request to the next of a host with limits
)

// ErrTrace is returned for lines that are not of the trace.
var ErrTrace = errors.New("study: not a line of the trace")

// ReadTrace returns one of every so many pages of the trace in a directory of its
// unpacked files. Change rates are those of the file of pages that were observed
// completely, whose changes count as signals that are all true, and else the most
// likely ones for the crawls of the history. The trace says which hosts have limits and
// not which: each of these is asked once in ten steps here. Pages that have no
// importance are left out, and so are those that always changed, whose rate cannot be told.
func ReadTrace(files fs.FS, every int) ([]Page, error) {
	limited := map[string]bool{}
	hosts, pages := map[string]int{}, map[string]*Page{}
	var order []string
	read := func(name string, columns int, visit func(f []string) error) error {
		return tabbed(files, name, columns, visit)
	}
	err := errors.Join(
		read(traceHosts, 3, func(f []string) error { limited[f[1]] = f[2] == "1"; return nil }),
		read(traceURLs, 3, func(f []string) error {
			if id, err := strconv.Atoi(f[1]); err != nil || id%max(every, 1) != 0 {
				return err
			}
			if _, known := hosts[f[2]]; !known {
				hosts[f[2]] = len(hosts)
			}
			p := &Page{Host: hosts[f[2]], Precision: 1, Requests: math.Inf(1), KiB: 1}
			if limited[f[2]] {
				p.Requests = 1 / traceGap
			}
			pages[f[1]] = p
			order = append(order, f[1])
			return nil
		}),
		read(traceImportance, 2, func(f []string) (err error) {
			if p := pages[f[0]]; p != nil {
				p.Importance, err = strconv.ParseFloat(f[1], 64)
			}
			return err
		}),
		read(traceHistory, 3, func(f []string) (err error) {
			if p := pages[f[0]]; p != nil {
				p.Change, err = rateOf(f[2])
			}
			return err
		}),
		read(traceRates, 2, func(f []string) (err error) {
			if p := pages[f[0]]; p != nil {
				p.Change, err = strconv.ParseFloat(f[1], 64)
				p.Recall = 1
			}
			return err
		}))
	if err != nil {
		return nil, err
	}
	var out []Page
	for _, id := range order {
		if p := pages[id]; p.Importance > 0 && p.Change > 0 && !math.IsInf(p.Change, 1) && !math.IsInf(p.Importance, 1) {
			out = append(out, *p)
		}
	}
	return out, nil
}

// tabbed visits the lines of a file of columns between tabs.
func tabbed(files fs.FS, name string, columns int, visit func(fields []string) error) error {
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Split(lines.Text(), "\t")
		err := ErrTrace
		if len(fields) == columns {
			err = visit(fields)
		}
		if err != nil {
			return fmt.Errorf("%s, line %d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// rateOf returns the most likely change rate for a history [[days, changed], ...]:
// that where sum of t exp(-D t)/(1 - exp(-D t)) over crawls that found a change is the
// sum of t over the others. 0 without a change; +Inf if each crawl found one.
func rateOf(history string) (float64, error) {
	var changed []float64
	quiet := 0.0
	clean := strings.NewReplacer("[", " ", "]", " ", ",", " ").Replace(history)
	fields := strings.Fields(clean)
	if len(fields)%2 != 0 {
		return 0, ErrTrace
	}
	for i := 0; i < len(fields); i += 2 {
		days, err := strconv.ParseFloat(fields[i], 64)
		if err != nil || !(days >= 0) || math.IsInf(days, 1) {
			return 0, ErrTrace
		}
		switch fields[i+1] {
		case "0":
			quiet += days
		case "1":
			if days > 0 {
				changed = append(changed, days)
			}
		default:
			return 0, ErrTrace
		}
	}
	switch {
	case len(changed) == 0:
		return 0, nil
	case quiet == 0:
		return math.Inf(1), nil
	}
	return priceOf(quiet, func(d float64) (sum float64) {
		for _, t := range changed {
			sum += t / math.Expm1(d*t)
		}
		return sum
	}), nil
}
