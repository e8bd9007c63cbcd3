package main

import (
	"fmt"
	"strings"
	"time"
)

// kept are the values whose memory is measured. % stands for 16 characters that
// each key has of its own.
var kept = []part{
	{name: "string of 200 bytes", commands: []string{"SET % " + strings.Repeat("v", 200)}},
	{name: "hash of 5 fields", commands: []string{"HSET % name visitor% lang de seen 1700000000000 csrf abcdefghijklmnopqrstuvwxyz cart item-17,item-22"}},
	{name: "list of 10 elements", commands: []string{"RPUSH %" + strings.Repeat(" elem0000001", 10)}},
	{name: "HyperLogLog of 100 elements", commands: []string{"PFADD %" + numbered(100)}},
	{name: "hash of 200 fields", n: 25, commands: []string{"HSET %" + fields(200)}},
	{name: "Bloom filter of 100 items", ours: true, commands: []string{"BF.RESERVE % 0.01 100", "BF.MADD %" + numbered(100)}},
	{name: "set of 10 words", commands: []string{"SADD %" + numbered(10)}},
	{name: "set of 10 integers", commands: []string{"SADD % 1 2 3 500 600 70000 80000 90000 100000 1700000000"}},
	{name: "sorted set of 10", commands: []string{"ZADD %" + scored(10)}},
}

// large is one value of each type, which every command adds an element to.
var large = []part{
	{name: "hash, fields of 16 bytes and values of 21", commands: []string{"HSET hash % " + strings.Repeat("v", 21)}},
	{name: "list, elements of 16 bytes", commands: []string{"RPUSH list %"}},
	{name: "set, members of 16 bytes", commands: []string{"SADD set %"}},
	{name: "set, integers", commands: []string{"SADD set @"}},
	{name: "sorted set, members of 16 bytes", commands: []string{"ZADD zset @ %"}},
	{name: "stream, a field of 16 bytes and one of 21", commands: []string{"XADD stream * id % name " + strings.Repeat("v", 21)}},
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " item%d", i)
	}
	return b.String()
}

func scored(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " %d player%d", i*37, i)
	}
	return b.String()
}

func fields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " field%04d %s", i, strings.Repeat("v", 21))
	}
	return b.String()
}

const (
	// settled is how long the servers have, after a load, to give memory back.
	settled = 45 * time.Second
	// rssEvery is the time between two looks at the memory.
	rssEvery = 100 * time.Millisecond
)

// values measures what a key takes with values of several types: right after the
// load, at its highest, and when the servers had time to give memory back.
func values(o *options, r *report) error {
	r.section("Memory of values", fmt.Sprintf("Bytes a key: the growth of RSS over %d keys of 16 bytes, a %dth of them for the hash of 200 fields, right after the load, at the highest of then and the %.0f s behind it, and after these.",
		o.values, kept[4].n, settled.Seconds()))
	if err := eachValue(o, r, kept); err != nil {
		return err
	}
	r.section("Memory of large values", fmt.Sprintf("Bytes an element: the growth of RSS over %d elements of one value, measured as above.", o.values))
	return eachValue(o, r, large)
}

func eachValue(o *options, r *report, parts []part) error {
	r.row("value", "vigil loaded", "peak", "at rest", o.peerName()+" loaded", "peak", "at rest", "at rest, ratio")
	r.rule(8)
	for _, p := range parts {
		if err := withPair(o, func(ours, redis *process, _ string) error { return valuesOf(o, r, p, ours, redis) }); err != nil {
			return err
		}
	}
	return nil
}

// valuesOf measures one type, both servers at the same time but for the loads.
func valuesOf(o *options, r *report, p part, ours, redis *process) error {
	keys := o.values / max(p.n, 1)
	cells := []string{p.name}
	servers := []*process{ours}
	if !p.ours {
		servers = append(servers, redis)
	}
	var watches []*rssWatch
	for _, s := range servers {
		w := watchRSS(s)
		watches = append(watches, w)
		if err := write(s, part{n: keys, commands: p.commands}); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		w.loaded = s.rss()
	}
	time.Sleep(settled)
	var rest []float64
	for _, w := range watches {
		peak, last := w.end()
		perKey := func(rss int64) float64 { return float64(rss-w.empty) / float64(keys) }
		rest = append(rest, perKey(last))
		cells = append(cells, fmt.Sprintf("%.0f", perKey(w.loaded)), fmt.Sprintf("%.0f", perKey(peak)), fmt.Sprintf("%.0f", perKey(last)))
	}
	if p.ours {
		cells = append(cells, "-", "-", "-", "-")
	} else {
		cells = append(cells, fmt.Sprintf("%.2f", rest[0]/rest[1]))
	}
	r.row(cells...)
	return nil
}

// rssWatch follows the memory of a server.
type rssWatch struct {
	p             *process
	empty, loaded int64
	stop          chan struct{}
	peak          chan int64
}

func watchRSS(p *process) *rssWatch {
	w := &rssWatch{p: p, empty: p.rss(), stop: make(chan struct{}), peak: make(chan int64)}
	// Ends with end.
	go func() {
		tick := time.NewTicker(rssEvery)
		defer tick.Stop()
		for highest := w.empty; ; {
			select {
			case <-tick.C:
				highest = max(highest, p.rss())
			case <-w.stop:
				w.peak <- highest
				return
			}
		}
	}()
	return w
}

// end returns the highest memory and that of now.
func (w *rssWatch) end() (peak, last int64) {
	close(w.stop)
	return <-w.peak, w.p.rss()
}
