package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Section moving: how long data takes from a Redis to vigil and back, by file and by a full synchronization, and what a stream of
// commands costs the two sides of it.

// stepPatience is how long one step may take.
const stepPatience = 5 * time.Minute

func moving(o *options, r *report) error {
	r.section("How long it takes", "\n`make moving`. Strings under keys of 16 bytes, values of 20 to 100 bytes; in seconds, and in\n"+
		"brackets the seconds of processor time that it took all servers together.")
	peer := o.peerName()
	r.row("keys", "vigil --import", peer+" loads the file", "vigil --export", peer+" saves", peer+" to vigil, live", peer+" to "+peer, "vigil to "+peer)
	r.rule(8)
	for _, text := range strings.Split(o.moving, ",") {
		n, err := strconv.Atoi(text)
		if err == nil {
			err = withDir(func(dir string) error { return move(o, r, dir, n) })
		}
		if err != nil {
			return fmt.Errorf("%s keys: %w", text, err)
		}
	}
	return streams(o, r)
}

// spent is what a step has taken, in seconds.
type spent struct{ time, cpu float64 }

func (s spent) String() string { return fmt.Sprintf("%.1f (%.1f)", s.time, s.cpu) }

// spend measures f, which uses servers that run before and after it.
func spend(f func() error, all ...*process) (s spent, err error) {
	before, began := servers(all).cpu(), time.Now()
	err = f()
	return spent{time.Since(began).Seconds(), servers(all).cpu() - before}, err
}

// spendTool measures a run of our binary that ends by itself.
func spendTool(o *options, args ...string) (spent, error) {
	cmd := exec.Command(o.binary, args...)
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return spent{}, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
	}
	return spent{time.Since(began).Seconds(), (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}, nil
}

// plain prepares a server of the other kind that saves only when it is told to.
func plain(o *options, dir string) (*process, error) {
	port := freePort()
	return &process{name: o.peerName(), port: port, args: []string{o.peer, "--port", strconv.Itoa(port), "--dir", dir, "--save", "",
		"--appendonly", "no", "--repl-diskless-sync-delay", "0"}}, os.MkdirAll(dir, 0o755)
}

// move moves n keys in all ways, and writes a row.
func move(o *options, r *report, dir string, n int) error {
	from, err := plain(o, filepath.Join(dir, "from"))
	if err != nil {
		return err
	}
	if err := from.start(); err != nil {
		return err
	}
	defer from.stop()
	if err := fillSmall(from, n); err != nil {
		return err
	}
	var imports, loads, exports, saves, toOurs, between, fromOurs spent
	if saves, err = spend(func() error { return once(from, words("SAVE")) }, from); err != nil {
		return err
	}
	file, store, back := filepath.Join(dir, "from", "dump.rdb"), filepath.Join(dir, "store"), filepath.Join(dir, "back", "dump.rdb")
	if err := errors.Join(os.MkdirAll(store, 0o755), os.MkdirAll(filepath.Dir(back), 0o755)); err != nil {
		return err
	}
	if imports, err = spendTool(o, "--import", file, "--dir", store); err != nil {
		return err
	}
	if exports, err = spendTool(o, "--export", back, "--for", "redis7.0", "--dir", store); err != nil {
		return err
	}
	if loads, err = loading(o, filepath.Dir(back), n); err != nil { // what vigil has written
		return err
	}
	if between, err = fresh(o, filepath.Join(dir, "replica"), from, n); err != nil {
		return err
	}
	ours, err := own(o, filepath.Join(dir, "ours"))
	if err != nil {
		return err
	}
	ours.args = append(ours.args, "--repl-diskless-sync-delay", "0")
	defer servers{ours}.stop()
	if err := ours.start(); err != nil {
		return err
	}
	if toOurs, err = follows(from, ours, n); err != nil {
		return err
	}
	if err := once(ours, words("REPLICAOF NO ONE")); err != nil {
		return err
	}
	if fromOurs, err = fresh(o, filepath.Join(dir, "another"), ours, n); err != nil {
		return err
	}
	cells := []string{strconv.Itoa(n)}
	for _, s := range []spent{imports, loads, exports, saves, toOurs, between, fromOurs} {
		cells = append(cells, s.String())
	}
	r.row(cells...)
	return nil
}

// loading measures the start of a server of the other kind with a file.
func loading(o *options, dir string, n int) (s spent, err error) {
	p, err := plain(o, dir)
	if err != nil {
		return s, err
	}
	defer servers{p}.stop()
	began := time.Now()
	err = errors.Join(p.start(), has(p, n))
	return spent{time.Since(began).Seconds(), p.cpu()}, err
}

// fresh measures a full synchronization of a new server of the other kind.
func fresh(o *options, dir string, master *process, n int) (s spent, err error) {
	p, err := plain(o, dir)
	if err != nil {
		return s, err
	}
	defer servers{p}.stop()
	if err := p.start(); err != nil {
		return s, err
	}
	return follows(master, p, n)
}

// has checks how many keys a server has.
func has(p *process, n int) error {
	c, err := dial(p.port)
	if err != nil {
		return err
	}
	defer c.Close()
	if got, err := c.do("DBSIZE"); err != nil || got != fmt.Sprintf(":%d", n) {
		return fmt.Errorf("%s has %s keys, want %d: %w", p.name, got, n, err)
	}
	return nil
}

// follows makes a server the replica of another one, and measures until it has everything.
func follows(master, replica *process, n int) (spent, error) {
	s, err := spend(func() error {
		if err := once(replica, words(fmt.Sprintf("REPLICAOF 127.0.0.1 %d", master.port))); err != nil {
			return err
		}
		return level(master, replica)
	}, master, replica)
	return s, errors.Join(err, has(replica, n))
}

// level waits until a replica has what its master has.
func level(master, replica *process) error {
	m, err := dial(master.port)
	if err != nil {
		return err
	}
	defer m.Close()
	c, err := dial(replica.port)
	if err != nil {
		return err
	}
	defer c.Close()
	for end := time.Now().Add(stepPatience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		text, err := c.text("INFO", "replication")
		if err != nil {
			return err
		}
		if !strings.Contains(text, "master_link_status:up") {
			continue
		}
		want, err := m.info("replication", "master_repl_offset")
		if err != nil {
			return err
		}
		if got, err := c.info("replication", "slave_repl_offset"); err != nil || got >= want {
			return err
		}
	}
	return fmt.Errorf("%s has not what its master has after %s", replica.name, stepPatience)
}

// streamed are the commands whose cost is measured.
var streamed = []benchCase{
	{name: "SET", args: []string{"-t", "set", "-r", "100000", "-d", "100"}},
	{name: "LPUSH", args: []string{"-r", "10000", "LPUSH", "list:__rand_int__", "element"}},
	{name: "HSET", args: []string{"-r", "10000", "HSET", "hash:__rand_int__", "field:__rand_int__", "value"}},
}

// streams measures what a stream costs: a master with a replica beside one without, and a replica.
func streams(o *options, r *report) error {
	peer := o.peerName()
	r.text(fmt.Sprintf("What a write costs with 16 calls in a pipeline, in microseconds of processor time, by medians of\n"+
		"%d rounds in turn: a master without a replica, and with a %s as its replica; and a replica, whose\nmaster is a %s.\n", o.rounds, peer, peer))
	r.row("command", "vigil alone", "with a replica", "ratio", peer+" alone", "with a replica", "ratio", "vigil as a replica", peer+" as one", "ratio")
	r.rule(10)
	for _, c := range streamed {
		var err error
		run := func(master, replica side) (served, applied float64) {
			if err == nil {
				served, applied, err = stream(o, c, master, replica)
			}
			return served, applied
		}
		var ourAlone, ourServed, theirAlone, theirServed, ourApplied, theirApplied []float64
		for range o.rounds {
			alone, _ := run(vigilSide, noSide)
			served, _ := run(vigilSide, peerSide)
			_, applied := run(peerSide, vigilSide)
			ourAlone, ourServed, ourApplied = append(ourAlone, alone), append(ourServed, served), append(ourApplied, applied)
			alone, _ = run(peerSide, noSide)
			served, applied = run(peerSide, peerSide)
			theirAlone, theirServed, theirApplied = append(theirAlone, alone), append(theirServed, served), append(theirApplied, applied)
		}
		if err != nil {
			return err
		}
		cells := []string{c.name}
		add := func(a, b, ratio float64) {
			cells = append(cells, fmt.Sprintf("%.2f", a), fmt.Sprintf("%.2f", b), fmt.Sprintf("%.2f", ratio))
		}
		a, b := middle(ourAlone), middle(ourServed)
		add(a, b, b/a)
		a, b = middle(theirAlone), middle(theirServed)
		add(a, b, b/a)
		a, b = middle(ourApplied), middle(theirApplied)
		add(a, b, a/b)
		r.row(cells...)
	}
	return nil
}

// side is whose server is meant.
type side int

const (
	noSide side = iota
	vigilSide
	peerSide
)

// stream measures a command at a new master with a replica, or without one, in microseconds of processor time.
func stream(o *options, c benchCase, master, replica side) (served, applied float64, err error) {
	err = withPair(o, func(a, b *process, dir string) error {
		m, p := a, b // the replica is the other one unless both are of the same side
		if master == peerSide {
			m, p = b, a
		}
		if replica == master {
			if p, err = another(o, replica, filepath.Join(dir, "another")); err == nil {
				err = p.start()
			}
			if err != nil {
				return err
			}
			defer p.stop()
		}
		if replica != noSide {
			if _, err := follows(m, p, 0); err != nil {
				return err
			}
		}
		before := p.cpu()
		x, err := benchmark(m, o.requests, 16, c.args)
		if err == nil && replica != noSide {
			err = level(m, p)
		}
		served, applied = x.cpuMicros, (p.cpu()-before)/float64(o.requests)*1e6
		return err
	})
	return served, applied, err
}

// another prepares a server of the same kind as the master.
func another(o *options, of side, dir string) (*process, error) {
	if of == vigilSide {
		return own(o, dir)
	}
	p, err := plain(o, dir)
	if err == nil {
		p.args = append(p.args, "--appendonly", "yes", "--appendfsync", o.fsync)
	}
	return p, err
}
