package main

import (
	"fmt"
	"strconv"
	"strings"
)

// collector measures the collector's share of the processor time while small hashes
// are written: all new ones first, and then again.
func collector(o *options, r *report) error {
	r.section("Collector", fmt.Sprintf("The part of the process's CPU that the garbage collector takes while %d hashes of 5 fields are written by one client, "+
		"200 in a pipeline, as the Go runtime estimates it (`make collector`).", o.values))
	r.row("hashes", "CPU, s", "collections", "collector, s", "share, %")
	r.rule(5)
	return alone(o, []string{"--appendfsync", o.fsync}, func(p *process, _ string) error {
		for _, round := range []string{"new", "again"} {
			began, cpu, err := collections(p)
			if err != nil {
				return err
			}
			if err := write(p, part{n: o.values, commands: kept[1].commands}); err != nil {
				return err
			}
			ended, total, err := collections(p)
			if err != nil {
				return err
			}
			took, all := ended.seconds-began.seconds, total-cpu
			r.row(round, fmt.Sprintf("%.1f", all), fmt.Sprint(ended.count-began.count), fmt.Sprintf("%.2f", took), fmt.Sprintf("%.1f", 100*took/all))
		}
		return nil
	})
}

// collected is what the collector has done so far.
type collected struct {
	count   int
	seconds float64
}

// collections reads what the collector of a server has done, and the seconds of
// processor time that the server has used.
func collections(p *process) (c collected, cpu float64, err error) {
	conn, err := dial(p.port)
	if err != nil {
		return c, 0, err
	}
	defer conn.Close()
	if c.count, err = conn.info("memory", "vigil_gc_cycles"); err != nil {
		return c, 0, err
	}
	text, err := conn.text("INFO", "memory")
	if err != nil {
		return c, 0, err
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, "vigil_gc_cpu_seconds:"); ok {
			c.seconds, err = strconv.ParseFloat(strings.TrimSpace(value), 64)
			return c, p.cpu(), err
		}
	}
	return c, 0, fmt.Errorf("INFO has no vigil_gc_cpu_seconds")
}
