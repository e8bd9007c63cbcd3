package main

import (
	"fmt"
	"time"
)

// store asks for every key to be stored under its own name, and waits for that.
func store(p *process) error {
	if err := once(p, words("BGREWRITEAOF")); err != nil {
		return err
	}
	return stored(p)
}

// stored waits until a server does not write its keys to a new file or under their own names.
func stored(p *process) error {
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		n, err := infoOf(p, "persistence", "aof_rewrite_in_progress")
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
	}
	return fmt.Errorf("%s: keys were not stored within five minutes", p.name)
}

const (
	quietFor = 300 * time.Millisecond
	quietCPU = 3 * time.Millisecond // within quietFor; timers of an idle server take less
)

// settle makes a server do what a case left for later, and returns how much of the processor
// time which that took is the case's, in seconds. Our server stores every key that has
// changed. By itself it does so when its journal has reached a bound: if the case has written
// half of that, half of the time is its own. The file of redis-server may be amid a rewriting.
func settle(p *process) (seconds float64, err error) {
	before, share := p.cpu(), 1.0
	if p.name == "vigil" {
		journal, err := infoOf(p, "persistence", "aof_current_size")
		if err != nil {
			return 0, err
		}
		bound, err := infoOf(p, "persistence", "vigil_journal_bound")
		if err != nil {
			return 0, err
		}
		share = min(1, float64(journal)/float64(bound))
		if err := store(p); err != nil {
			return 0, err
		}
	} else if err := stored(p); err != nil {
		return 0, err
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		at := p.cpu()
		if time.Sleep(quietFor); p.cpu()-at < quietCPU.Seconds() {
			return (p.cpu() - before) * share, nil
		}
	}
	return 0, fmt.Errorf("%s was still at work a minute after a case", p.name)
}
