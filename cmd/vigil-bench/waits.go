package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/vigildb/vigil/server/waits"
)

// waitsShown is how many cases the table shows: the worst.
const waitsShown = 40

// waitsRow is one case at one size.
type waitsRow struct {
	k waits.Case
	n int
	r waits.Result
}

func (w *waitsRow) worst() time.Duration { return max(w.r.Anyone, w.r.SameKey) }

// otherClients measures how long each command makes other clients wait.
func otherClients(o *options, r *report) error {
	return withPair(o, func(ours, redis *process, _ string) error {
		redis.stop()
		var rows []waitsRow
		for _, size := range strings.Split(o.waits, ",") {
			n, err := strconv.Atoi(size)
			if err != nil {
				return fmt.Errorf("size %q: %w", size, err)
			}
			for _, k := range waits.Cases() {
				// Values are 512 MB where containers have a million elements.
				size := n
				if k.Bytes {
					size = 512 * n
				}
				res, err := leastWait(k, ours.port, size)
				if err != nil {
					return err
				}
				fmt.Fprintf(os.Stderr, "%d\t%s, %s\t%.1f\t%.1f\n", n, k.Command, k.What, millis(res.Anyone), millis(res.SameKey))
				rows = append(rows, waitsRow{k, size, res})
			}
		}
		writeWaits(o, r, rows)
		return nil
	})
}

// leastWait measures a case up to three times: what the machine did besides is not
// the server's, and does not last.
func leastWait(k waits.Case, port, size int) (least waits.Result, err error) {
	const rounds, unremarkable = 3, 30 * time.Millisecond
	for round := range rounds {
		res, err := k.Measure(fmt.Sprintf("127.0.0.1:%d", port), size)
		if err != nil {
			return least, err
		}
		if round == 0 || max(res.Anyone, res.SameKey) < max(least.Anyone, least.SameKey) {
			least = res
		}
		if max(least.Anyone, least.SameKey) < unremarkable {
			break
		}
	}
	return least, nil
}

func millis(d time.Duration) float64 { return d.Seconds() * 1000 }

func writeWaits(o *options, r *report, rows []waitsRow) {
	r.section(waitsTitle, "The longest time that a PING, and a call for the very key, of another client took while one client made the most "+
		"costly call of a command and left, in ms; sizes are elements, keys or bytes. Of three rounds the one with the shortest waits counts. All cases of server/waits were measured with `vigil-bench "+
		"-sections waits -waits "+o.waits+"`; the "+strconv.Itoa(waitsShown)+" worst are shown.")
	r.row("command", "what is big", "size", "PING", "same key")
	r.rule(5)
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].worst() > rows[j].worst() })
	for _, w := range rows[:min(len(rows), waitsShown)] {
		r.row(w.k.Command, w.k.What, strconv.Itoa(w.n), fmt.Sprintf("%.0f", millis(w.r.Anyone)), fmt.Sprintf("%.0f", millis(w.r.SameKey)))
	}
	if len(rows) > waitsShown {
		w := rows[waitsShown]
		r.text(fmt.Sprintf("The other %d made no client wait longer than %.0f ms.", len(rows)-waitsShown, millis(w.worst())))
	}
}

const waitsTitle = "Longest wait of another client by command"
