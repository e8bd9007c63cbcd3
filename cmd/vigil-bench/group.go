package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// trio is three servers that hold the same data: members of a group of vigil's, or a Redis
// server with two replicas.
type trio struct {
	servers
	leader *process
	wait   bool // whether the acknowledgement of another server is asked for by WAIT
}

// groupOf starts three members of a group in dir, and waits until one leads.
func groupOf(o *options, dir string) (*trio, error) {
	t := &trio{}
	ports, members := freePorts(3), ""
	for i, port := range ports {
		members += fmt.Sprintf("%d=127.0.0.1:%d ", i+1, port)
	}
	for i, port := range ports {
		err := t.add(&process{name: "vigil", port: port, args: []string{o.binary, "--port", strconv.Itoa(port), "--appendfsync", o.fsync,
			"--save", "", "--loglevel", "warning", "--cluster-members", members, "--cluster-member-id", strconv.Itoa(i + 1),
			"--cluster-secret", "a secret of vigil-bench",
			// A stall of a machine that other programs use is to be measured, not to end the run.
			"--cluster-election-timeout", "5000"}}, dir)
		if err != nil {
			return t, err
		}
	}
	return t, t.elect()
}

// replicated starts a Redis server and two replicas of it in dir, and waits until both
// have its data.
func replicated(o *options, dir string) (*trio, error) {
	t := &trio{wait: true}
	for i, port := range freePorts(3) {
		p := &process{name: o.peerName(), port: port, args: []string{o.peer, "--port", strconv.Itoa(port), "--save", "",
			"--appendonly", "yes", "--appendfsync", o.fsync}}
		if i > 0 {
			p.args = append(p.args, "--replicaof", "127.0.0.1 "+strconv.Itoa(t.servers[0].port))
		}
		if err := t.add(p, dir); err != nil {
			return t, err
		}
	}
	return t, t.elect()
}

// freePorts returns n ports that are free, and so are those 10000 higher.
func freePorts(n int) (ports []int) {
	for len(ports) < n {
		port := freePort()
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+10000)); err == nil {
			l.Close()
			ports = append(ports, port)
		}
	}
	return ports
}

func (t *trio) add(p *process, dir string) error {
	dir = filepath.Join(dir, strconv.Itoa(p.port))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	p.args = append(p.args, "--dir", dir)
	t.servers = append(t.servers, p)
	return p.start()
}

// elect waits until one of the servers takes writes which both others acknowledge.
func (t *trio) elect() error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for _, p := range t.servers {
			c, err := dial(p.port)
			if err != nil {
				continue
			}
			written, err := c.do("SET", "elected", "x")
			if err == nil && written == "+OK" {
				written, err = c.do("WAIT", "2", "1000")
			}
			c.Close()
			if err == nil && written == ":2" {
				t.leader = p
				return nil
			}
		}
	}
	return errors.New("no server takes writes within a minute")
}

// writes is a load of SET.
type writes struct {
	name              string
	clients, pipeline int
	requests          int // of all clients
}

// outcome is what a load came to; the times are those of a pipeline.
type outcome struct {
	perSecond, cpuMicros float64
	median, p99          time.Duration
}

// run writes to the leader with several clients. Each waits for the replies to a pipeline, and for
// the acknowledgement of another server, before it sends the next one.
func (w *writes) run(t *trio) (outcome, error) {
	rounds := max(1, w.requests/(w.clients*w.pipeline))
	took := make([][]time.Duration, w.clients)
	failed := make([]error, w.clients)
	cpu, began := t.cpu(), time.Now()
	var clients sync.WaitGroup
	for i := range w.clients {
		clients.Go(func() { took[i], failed[i] = w.client(t, i, rounds) })
	}
	clients.Wait()
	seconds, n := time.Since(began).Seconds(), float64(rounds*w.clients*w.pipeline)
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	if err := errors.Join(failed...); err != nil {
		return outcome{}, err
	}
	return outcome{n / seconds, (t.cpu() - cpu) / n * 1e6, all[len(all)/2], all[len(all)*99/100]}, nil
}

func (w *writes) client(t *trio, number, rounds int) (took []time.Duration, err error) {
	nc, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", t.leader.port))
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	r := bufio.NewReader(nc)
	var calls []byte
	want := strings.Repeat("+OK\r\n", w.pipeline)
	got := make([]byte, len(want))
	value := strings.Repeat("v", 100)
	for round := range rounds {
		calls = calls[:0]
		for i := range w.pipeline {
			key := fmt.Sprintf("key:%012d", (round*w.pipeline+i)*w.clients+number)
			calls = appendCommand(calls, []string{"SET", key, value})
		}
		if t.wait {
			calls = appendCommand(calls, []string{"WAIT", "1", "0"})
		}
		began := time.Now()
		if _, err := nc.Write(calls); err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
			return nil, errors.Join(fmt.Errorf("SET: replies %q", got), err)
		}
		if t.wait {
			line, err := r.ReadString('\n')
			if n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, ":"))); err != nil || n < 1 {
				return nil, errors.Join(fmt.Errorf("WAIT: reply %q", line), err)
			}
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// replication measures writes that more than one machine has, beside a Redis server with
// two replicas whose clients call WAIT 1.
func replication(o *options, r *report) error {
	dir, err := os.MkdirTemp("", "vigil-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ours, err := groupOf(o, dir)
	defer ours.stop()
	if err != nil {
		return err
	}
	redis, err := replicated(o, dir)
	defer redis.stop()
	if err != nil {
		return err
	}
	peer := o.peerName()
	r.section("Three servers, "+o.fsync, fmt.Sprintf("SET of 100 bytes at the leader of a group of three with `appendfsync %s`, whose replies wait for the acknowledgement of "+
		"another member, beside a server of %s with two replicas that gets a `WAIT 1` behind each pipeline. A member that acknowledges has the write in its log%s; "+
		"a replica of that has it in memory. CPU is that of three servers; times are those of a pipeline; medians of %d rounds in turn "+
		"(`vigil-bench -sections group -appendfsync %s -requests %d -rounds %d`).",
		o.fsync, peer, map[bool]string{true: " on the device"}[o.fsync == "always"], o.rounds, o.fsync, o.requests, o.rounds))
	r.row("case", "vigil /s", peer+" /s", "ratio", "vigil us CPU", peer+" us CPU", "ratio", "p50 ms", peer, "p99 ms", peer)
	r.rule(11)
	for _, w := range []writes{
		{"1 client, P=1", 1, 1, o.requests / 40}, {"50 clients, P=1", 50, 1, o.requests / 4}, {"50 clients, P=16", 50, 16, o.requests},
	} {
		var a, b []outcome
		for range o.rounds {
			x, err := w.run(ours)
			if err != nil {
				return fmt.Errorf("vigil, %s: %w", w.name, err)
			}
			y, err := w.run(redis)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", peer, w.name, err)
			}
			a, b = append(a, x), append(b, y)
		}
		f := func(format string, pick func(a, b outcome) float64) string {
			return fmt.Sprintf(format, median(a, b, pick))
		}
		ms := func(d time.Duration) float64 { return d.Seconds() * 1000 }
		r.row(w.name,
			f("%.0f", func(a, _ outcome) float64 { return a.perSecond }), f("%.0f", func(_, b outcome) float64 { return b.perSecond }),
			f("%.2f", func(a, b outcome) float64 { return a.perSecond / b.perSecond }),
			f("%.2f", func(a, _ outcome) float64 { return a.cpuMicros }), f("%.2f", func(_, b outcome) float64 { return b.cpuMicros }),
			f("%.2f", func(a, b outcome) float64 { return a.cpuMicros / b.cpuMicros }),
			f("%.2f", func(a, _ outcome) float64 { return ms(a.median) }), f("%.2f", func(_, b outcome) float64 { return ms(b.median) }),
			f("%.2f", func(a, _ outcome) float64 { return ms(a.p99) }), f("%.2f", func(_, b outcome) float64 { return ms(b.p99) }))
	}
	return nil
}
