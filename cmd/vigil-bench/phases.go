package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Phases of a run in which clients write while something happens to the cluster.
const (
	preparing = iota
	before
	meanwhile // what is measured is under way
	after
	phases
)

// phaseSeconds is how long writes are measured before, and afterwards.
const phaseSeconds = 5

// phased is a load of clients that write, measured by phases.
type phased struct {
	clients []*keyWriter
	phase   atomic.Int32
	seconds [phases]float64
	used    [phases]float64 // processor time of all servers
}

// load makes clients, which write all keys.
func (p *phased) load(clients, keys int, at *route) error {
	for range clients {
		p.clients = append(p.clients, &keyWriter{router: newRouter(at)})
	}
	for i := range keys {
		n := p.clients[i%clients]
		n.keys = append(n.keys, written{key: fmt.Sprintf("key:%012d", i)})
	}
	return each(p.clients, (*keyWriter).fill)
}

// amid lets the clients write while do runs.
func (p *phased) amid(do func() error) (err error) {
	var stop atomic.Bool
	ended := make(chan error, 1)
	go func() { // ends when stop is set, which is awaited below
		ended <- each(p.clients, func(n *keyWriter) error {
			n.run(&p.phase, &stop, uint64(slices.Index(p.clients, n)))
			return nil
		})
	}()
	defer func() {
		stop.Store(true)
		err = errors.Join(err, <-ended)
	}()
	time.Sleep(time.Second) // connections are made, and memory is touched
	return do()
}

// during measures a phase; cpu is the processor time of all servers.
func (p *phased) during(phase int32, cpu func() float64, do func() error) error {
	used, began := cpu(), time.Now()
	p.phase.Store(phase)
	err := do()
	p.phase.Store(preparing)
	p.seconds[phase], p.used[phase] = time.Since(began).Seconds(), cpu()-used
	return err
}

// undisturbed is the phase before, and the one after.
func undisturbed() error {
	time.Sleep(phaseSeconds * time.Second)
	return nil
}

// count is something that clients count, with its name in the table.
type count struct {
	name string
	of   func(n *keyWriter) *[phases]int
}

// table shows the phases beside each other; title is that of the one in the middle.
func (p *phased) table(r *report, title string, counts ...count) {
	r.row("", "before", title, "after")
	r.rule(4)
	row := func(name, format string, of func(phase int) any) {
		cells := []string{name}
		for phase := before; phase < phases; phase++ {
			cells = append(cells, fmt.Sprintf(format, of(phase)))
		}
		r.row(cells...)
	}
	took := p.latencies()
	at := func(part float64) func(phase int) any {
		return func(phase int) any {
			all := took[phase]
			if len(all) == 0 {
				return 0.0
			}
			return millis(all[int(part*float64(len(all)-1))])
		}
	}
	row("seconds", "%.1f", func(phase int) any { return p.seconds[phase] })
	row("writes /s", "%.0f", func(phase int) any { return p.perSecond(phase) })
	row("us CPU of all servers for a write", "%.1f", func(phase int) any { return p.used[phase] / float64(max(1, len(took[phase]))) * 1e6 })
	row("p50, ms", "%.2f", at(0.5))
	row("p99, ms", "%.2f", at(0.99))
	row("longest, ms", "%.0f", at(1))
	for _, c := range append(counts, count{"errors", func(n *keyWriter) *[phases]int { return &n.failed }}) {
		row(c.name, "%d", func(phase int) any { return p.sum(c, phase) })
	}
	for _, n := range p.clients {
		if n.first != nil {
			fmt.Fprintln(os.Stderr, "an error of a client:", n.first)
		}
	}
}

func (p *phased) sum(c count, phase int) (sum int) {
	for _, n := range p.clients {
		sum += c.of(n)[phase]
	}
	return sum
}

// latencies returns how long the acknowledged writes of each phase took, in order.
func (p *phased) latencies() (took [phases][]time.Duration) {
	for phase := range phases {
		for _, n := range p.clients {
			took[phase] = append(took[phase], n.took[phase]...)
		}
		slices.Sort(took[phase])
	}
	return took
}

// acknowledged is how many writes were acknowledged in some of the phases.
func (p *phased) acknowledged(in ...int) (writes int) {
	for _, phase := range in {
		for _, n := range p.clients {
			writes += len(n.took[phase])
		}
	}
	return writes
}

func (p *phased) perSecond(phase int) float64 {
	return float64(p.acknowledged(phase)) / max(p.seconds[phase], 1e-9)
}

// lost returns an error if a client has noticed that an acknowledged write is not there.
func (p *phased) lost() error {
	var lost []string
	for _, n := range p.clients {
		lost = append(lost, n.lost...)
	}
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("%d acknowledged writes are lost: %s", len(lost), strings.Join(lost[:min(len(lost), 10)], "; "))
}
