package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// lookTime is how long a round of looking is, and lookEvery how often an open page
	// renews itself.
	lookTime  = 30 * time.Second
	lookEvery = 5 * time.Second
	lookKeys  = 100_000
)

// looks are the kinds of visitors of a window. The first server has none.
var looks = []struct {
	name  string
	paths []string // asked for every lookEvery
}{
	{"`http-port 0`", nil},
	{"a window, not used", nil},
	{"a page open at `/`", []string{"/"}},
	{"a page open at `/schedules`, and a scrape of `/metrics`", []string{"/schedules", "/metrics"}},
}

// looking measures the processor time of servers with windows, all at the same time,
// so that what else the machine does is the same for all.
func looking(o *options, r *report) error {
	r.section("Processor time", fmt.Sprintf("Of one core, keys without an expiry, by `make window-cost`: %d rounds of %v, medians and extremes; %d keys, a schedule of 1,000 nodes and a "+
		"map of 100 units; pages and scrapes every %v.", o.rounds, lookTime, lookKeys, lookEvery))
	dir, err := os.MkdirTemp("", "vigil-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var servers []*process
	var windows []int // their ports
	for i := range looks {
		window := 0
		if i > 0 {
			window = freePort()
		}
		port := freePort()
		p := &process{name: "vigil", port: port, args: []string{o.binary, "--port", strconv.Itoa(port), "--http-port", strconv.Itoa(window),
			"--dir", filepath.Join(dir, strconv.Itoa(i)), "--appendfsync", o.fsync}}
		if err := os.Mkdir(filepath.Join(dir, strconv.Itoa(i)), 0o755); err != nil {
			return err
		}
		if err := p.start(); err != nil {
			return err
		}
		defer p.stop()
		if err := fillForLooks(p); err != nil {
			return err
		}
		servers, windows = append(servers, p), append(windows, window)
	}
	shares := make([][]float64, len(looks))
	for round := range o.rounds + 1 {
		spent, err := lookRound(servers, windows)
		if err != nil {
			return err
		}
		for i := range spent {
			if round > 0 { // the first finds the keys, and lets the store settle
				shares[i] = append(shares[i], spent[i])
			}
		}
	}
	r.row("", "of a core", "from", "to")
	r.rule(4)
	for i, v := range shares {
		slices.Sort(v)
		r.row(looks[i].name, sharePercent(v[len(v)/2]), sharePercent(v[0]), sharePercent(v[len(v)-1]))
	}
	return nil
}

func sharePercent(v float64) string { return fmt.Sprintf("%.2f %%", 100*v) }

// fillForLooks gives a server what the pages show.
func fillForLooks(p *process) error {
	err := write(p, part{n: lookKeys, commands: []string{"SET session:% ~"}})
	if err != nil {
		return err
	}
	c, err := dial(p.port)
	if err != nil {
		return err
	}
	defer c.Close()
	nodes, units := []string{"SCHED.ADD", "crawl"}, []string{"PLACE.SET", "map"}
	for i := range 1000 {
		nodes = append(nodes, "node"+strconv.Itoa(i))
	}
	for i := range 100 {
		units = append(units, "unit"+strconv.Itoa(i), "1")
	}
	for _, args := range [][]string{{"SCHED.CREATE", "crawl"}, nodes, {"PLACE.CREATE", "map"}, units} {
		if reply, err := c.do(args...); err != nil || reply[0] == '-' {
			return errors.Join(err, fmt.Errorf("%s: %s", args[0], reply))
		}
	}
	return nil
}

// lookRound returns the share of a core that each server took.
func lookRound(servers []*process, windows []int) ([]float64, error) {
	began := time.Now()
	var spent []float64
	for _, p := range servers {
		spent = append(spent, p.cpu())
	}
	failed := make([]error, len(servers))
	var visitors sync.WaitGroup
	for i := range servers {
		visitors.Go(func() { failed[i] = visit(windows[i], looks[i].paths, began) })
	}
	visitors.Wait()
	for i, p := range servers {
		spent[i] = (p.cpu() - spent[i]) / time.Since(began).Seconds()
	}
	return spent, errors.Join(failed...)
}

// visit asks for pages again and again until the round is over.
func visit(port int, paths []string, began time.Time) error {
	for at := time.Duration(0); at < lookTime; at += lookEvery {
		for _, path := range paths {
			resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", port, path))
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK {
				return errors.Join(err, fmt.Errorf("GET %s: %s", path, resp.Status))
			}
		}
		time.Sleep(time.Until(began.Add(at + lookEvery)))
	}
	return nil
}
