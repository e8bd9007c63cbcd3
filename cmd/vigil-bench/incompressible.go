package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// The values of redis-benchmark are one letter, which compresses to nothing. So what values of some kilobytes cost a
// server that compresses its tables is measured with random bytes, over so many commands that what was put
// off is paid for.

const (
	randomKeys     = 10_000
	randomClients  = 8
	randomPipeline = 4
)

// randomWrites measures SET of random bytes.
func randomWrites(o *options, r *report) error {
	r.section("Random bytes", fmt.Sprintf("SET of %d keys by %d clients with pipelines of %d, each value one of 64 that are random bytes; %d commands of each size on servers "+
		"with empty directories. CPU is all of the process and its children, with the work that is left for later. The last two columns are the longest SET of another client meanwhile.",
		randomKeys, randomClients, randomPipeline, o.writes))
	peer := o.peerName()
	r.row("bytes", "vigil /s", peer+" /s", "ratio", "vigil us CPU", peer+" us CPU", "ratio", "longest wait, ms", peer)
	r.rule(9)
	for _, size := range []int{100, 1 << 10, 4 << 10, 10 << 10} {
		err := withPair(o, func(ours, redis *process, _ string) error {
			var got [2]run
			var waits [2]time.Duration
			for i, p := range []*process{ours, redis} {
				var err error
				if got[i], waits[i], err = writeRandom(p, size, o.writes); err != nil {
					return fmt.Errorf("%s: %w", p.name, p.explained(err))
				}
			}
			a, b := got[0], got[1]
			r.row(strconv.Itoa(size), fmt.Sprintf("%.0f", a.perSecond), fmt.Sprintf("%.0f", b.perSecond), fmt.Sprintf("%.2f", a.perSecond/b.perSecond),
				fmt.Sprintf("%.1f", a.cpuMicros), fmt.Sprintf("%.1f", b.cpuMicros), fmt.Sprintf("%.2f", a.cpuMicros/b.cpuMicros),
				fmt.Sprintf("%.1f", millis(waits[0])), fmt.Sprintf("%.1f", millis(waits[1])))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writeRandom writes n values, and returns the longest time that another client's SET took meanwhile.
func writeRandom(p *process, size, n int) (got run, longest time.Duration, err error) {
	stop, worst := make(chan struct{}), make(chan time.Duration, 1)
	before, began := p.cpu(), time.Now()
	go probe(p, stop, worst)
	ended := make(chan error, randomClients)
	for i := range randomClients {
		go func() { ended <- sendRandom(p, size, n/randomClients, uint64(i)) }()
	}
	for range randomClients {
		err = errors.Join(err, <-ended)
	}
	took := time.Since(began)
	close(stop)
	if longest = <-worst; err != nil {
		return got, 0, err
	}
	used := p.cpu() - before
	late, err := settle(p)
	return run{perSecond: float64(n) / took.Seconds(), cpuMicros: (used + late) / float64(n) * 1e6}, longest, err
}

// sendRandom writes n values by one client.
func sendRandom(p *process, size, n int, seed uint64) error {
	c, err := dial(p.port)
	if err != nil {
		return err
	}
	defer c.Close()
	r := rand.New(rand.NewPCG(seed, 38))
	values := make([][]byte, 64)
	for i := range values {
		values[i] = make([]byte, size)
		for k := range values[i] {
			values[i][k] = byte(r.Uint32())
		}
	}
	var b []byte
	for sent := 0; sent < n; sent += randomPipeline {
		b = b[:0]
		for range randomPipeline {
			b = fmt.Appendf(b, "*3\r\n$3\r\nSET\r\n$14\r\nkey:%010d\r\n$%d\r\n", r.IntN(randomKeys), size)
			b = append(append(b, values[r.IntN(len(values))]...), "\r\n"...)
		}
		if _, err := c.Write(b); err != nil {
			return err
		}
		for range randomPipeline {
			line, err := c.r.ReadString('\n')
			if err != nil {
				return err
			}
			if line != "+OK\r\n" {
				return fmt.Errorf("SET: %q", line)
			}
		}
	}
	return nil
}

// syncedCases are writes whose replies wait for the device.
var syncedCases = []benchCase{
	{name: "SET, P=1, one client", pipeline: 1, args: words("-c 1 -t set -r 100000 -d 100"), costly: 8},
	{name: "SET, P=1", pipeline: 1, args: words("-t set -r 100000 -d 100")},
	{name: "SET, P=16", pipeline: 16, args: words("-t set -r 100000 -d 100")},
	{name: "SET of 1 KB, P=16", pipeline: 16, args: words("-t set -r 100000 -d 1024")},
	{name: "HSET of 5 fields, P=1", pipeline: 1, args: words("-r 100000 hset h:__rand_int__ a 1 b 2 c 3 d 4 e 5")},
}

// syncedWrites measures writes under appendfsync always, and readers beside them.
func syncedWrites(o *options, r *report) error {
	always := *o
	always.fsync = "always"
	return withPair(&always, func(ours, redis *process, _ string) error {
		r.section("Writes that wait for the device", "As the first table, with `appendfsync always` on both sides.")
		if err := comparisons(&always, r, syncedCases, ours, redis); err != nil {
			return err
		}
		var p50 [2]time.Duration
		for i, p := range []*process{ours, redis} {
			var err error
			if p50[i], err = readBesideWriters(p, o.requests/4); err != nil {
				return err
			}
		}
		r.text(fmt.Sprintf("Half of the GETs of one client took less than %.2f ms beside 50 clients that write so (%s: %.2f ms).", millis(p50[0]), o.peerName(), millis(p50[1])))
		return nil
	})
}

// readBesideWriters returns the median time of a GET while 50 clients write.
func readBesideWriters(p *process, n int) (time.Duration, error) {
	ended := make(chan error, 1)
	go func() {
		_, err := benchmark(p, n, 1, words("-t set -r 100000 -d 100"))
		ended <- err
	}()
	c, err := dial(p.port)
	if err != nil {
		return 0, errors.Join(err, <-ended)
	}
	defer c.Close()
	var took []time.Duration
	for {
		select {
		case err := <-ended:
			if len(took) == 0 {
				return 0, errors.Join(err, errors.New("nothing was read"))
			}
			return middle(took), err
		default:
		}
		began := time.Now()
		if _, err := c.do("GET", "key:000000000042"); err != nil {
			return 0, errors.Join(err, <-ended)
		}
		took = append(took, time.Since(began))
	}
}
