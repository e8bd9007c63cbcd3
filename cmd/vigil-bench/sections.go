package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

type benchCase struct {
	name     string
	pipeline int
	args     []string
}

var cases = []benchCase{
	{"SET, P=1", 1, []string{"-t", "set", "-r", "100000", "-d", "100"}},
	{"GET, P=1", 1, []string{"-t", "get", "-r", "100000", "-d", "100"}},
	{"SET, P=16", 16, []string{"-t", "set", "-r", "100000", "-d", "100"}},
	{"GET, P=16", 16, []string{"-t", "get", "-r", "100000", "-d", "100"}},
	{"INCR, P=16", 16, []string{"-t", "incr", "-r", "100000"}},
	{"HSET, P=16", 16, []string{"-t", "hset", "-r", "100000"}},
	{"LPUSH, P=16", 16, []string{"-t", "lpush"}},
	{"RPOP, P=16", 16, []string{"-t", "rpop"}},
	{"LRANGE 100, P=1", 1, []string{"-t", "lrange_100"}},
	{"MSET of 10, P=1", 1, []string{"-t", "mset", "-r", "1000000"}},
	{"PFADD, P=16", 16, []string{"-r", "100000", "pfadd", "hll:__rand_int__", "item:__rand_int__"}},
	{"BITFIELD, P=16", 16, []string{"-r", "100000", "bitfield", "bf:__rand_int__", "set", "u1", "#1500", "1", "get", "u8", "0"}},
	{"ZADD, P=16", 16, []string{"-r", "1000000", "zadd", "board", "__rand_int__", "player:__rand_int__"}},
	{"ZINCRBY, P=16", 16, []string{"-r", "1000000", "zincrby", "board", "1", "player:__rand_int__"}},
	{"ZRANGE 100, P=16", 16, []string{"zrange", "board", "0", "99"}},
	{"ZPOPMIN, P=16", 16, []string{"zpopmin", "board"}},
	{"GEOADD, P=16", 16, []string{"-r", "1000000", "geoadd", "map", "13.__rand_int__", "37.__rand_int__", "place:__rand_int__"}},
	{"SET EX, P=16", 16, []string{"-r", "100000", "set", "s:__rand_int__", "session", "ex", "1800"}},
}

func withPair(o *options, f func(ours, redis *process, dir string) error) error {
	dir, err := os.MkdirTemp("", "vigil-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ours, redis, err := pair(o, dir)
	if err != nil {
		return err
	}
	defer ours.stop()
	defer redis.stop()
	return f(ours, redis, dir)
}

// median takes the middle of what pick makes of each pair of runs.
func median(ours, redis []run, pick func(a, b run) float64) float64 {
	var v []float64
	for i := range ours {
		v = append(v, pick(ours[i], redis[i]))
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// compare runs a case against both servers in turn.
func compare(o *options, c benchCase, n int, ours, redis *process) (a, b []run, err error) {
	for range o.rounds {
		x, err := benchmark(ours, n, c.pipeline, c.args)
		if err != nil {
			return nil, nil, err
		}
		y, err := benchmark(redis, n, c.pipeline, c.args)
		if err != nil {
			return nil, nil, err
		}
		a, b = append(a, x), append(b, y)
	}
	return a, b, nil
}

func throughput(o *options, r *report) error {
	return withPair(o, func(ours, redis *process, _ string) error {
		r.section("Throughput and CPU", "50 clients, one redis-benchmark process, values of 100 bytes. Ratios are "+
			"vigil/redis, medians over the rounds; CPU is all of the process, background work included.")
		r.row("case", "vigil /s", "redis /s", "ratio", "vigil us CPU", "redis us CPU", "ratio", "p99 ms", "redis")
		r.rule(9)
		for _, c := range cases {
			n := o.requests
			if c.pipeline == 1 {
				n /= 4
			}
			a, b, err := compare(o, c, n, ours, redis)
			if err != nil {
				return err
			}
			r.comparison(c.name, a, b)
		}
		return nil
	})
}

// uniqueKeys writes 3M keys that are all new, which a store that writes late
// cannot postpone forever, and watches for stalls and for the journal's size.
func uniqueKeys(o *options, r *report) error {
	return withPair(o, func(ours, redis *process, dir string) error {
		c := benchCase{"SET of new keys, P=16", 16, []string{"-t", "set", "-r", "1000000000", "-d", "100"}}
		stop, longest := make(chan struct{}), make(chan time.Duration, 1)
		go probe(ours, stop, longest)
		x, err := benchmark(ours, 3_000_000, c.pipeline, c.args)
		close(stop)
		stall := <-longest
		if err != nil {
			return err
		}
		y, err := benchmark(redis, 3_000_000, c.pipeline, c.args)
		if err != nil {
			return err
		}
		r.section("Every key new", "3M requests, keys from a range of 10^9.")
		r.row("case", "vigil /s", "redis /s", "ratio", "vigil us CPU", "redis us CPU", "ratio", "p99 ms", "redis")
		r.rule(9)
		r.comparison(c.name, []run{x}, []run{y})
		r.text(fmt.Sprintf("Longest time that another client's SET took meanwhile: %.1f ms. Size of the store after: %d MB.",
			stall.Seconds()*1000, size(filepath.Join(dir, "ours"))>>20))
		return nil
	})
}

func size(dir string) (n int64) {
	filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			n += info.Size()
		}
		return nil
	})
	return n
}

// fill writes a million keys of 200 bytes, each once.
func fill(p *process) error {
	c, err := dial(p.port)
	if err != nil {
		return err
	}
	defer c.Close()
	value := make([]byte, 200)
	for i := range value {
		value[i] = 'a' + byte(i%26)
	}
	const batch = 1000
	for i := 0; i < 1_000_000; i += batch {
		var b []byte
		for j := i; j < i+batch; j++ {
			b = fmt.Appendf(b, "*3\r\n$3\r\nSET\r\n$16\r\nkey:%012d\r\n$200\r\n%s\r\n", j, value)
		}
		if _, err := c.Write(b); err != nil {
			return err
		}
		for range batch {
			if _, err := c.r.ReadString('\n'); err != nil {
				return err
			}
		}
	}
	return nil
}

func memoryAndRestart(o *options, r *report) error {
	return withPair(o, func(ours, redis *process, _ string) error {
		r.section("Memory and restart", "1M keys of 16 bytes with values of 200 bytes. A restart is over when the first GET is answered.")
		r.row("server", "RSS per key, bytes", "restart, ms")
		r.rule(3)
		for _, p := range []*process{ours, redis} {
			empty := p.rss()
			if err := fill(p); err != nil {
				return err
			}
			perKey := float64(p.rss()-empty) / 1e6
			p.stop()
			began := time.Now()
			if err := p.start(); err != nil {
				return err
			}
			r.row(p.name, fmt.Sprintf("%.0f", perKey), fmt.Sprint(time.Since(began).Milliseconds()))
		}
		return nil
	})
}

// snapshotStall asks for snapshots while another client writes.
func snapshotStall(o *options, r *report) error {
	return withPair(o, func(ours, redis *process, _ string) error {
		r.section("Snapshots", "1M keys of 200 bytes; the longest time that another client's SET took during a BGSAVE.")
		r.row("server", "longest SET, ms", "until done, ms")
		r.rule(3)
		for _, p := range []*process{ours, redis} {
			if err := fill(p); err != nil {
				return err
			}
			stop, longest := make(chan struct{}), make(chan time.Duration, 1)
			go probe(p, stop, longest)
			took, err := save(p)
			close(stop)
			stall := <-longest
			if err != nil {
				return err
			}
			r.row(p.name, fmt.Sprintf("%.1f", stall.Seconds()*1000), fmt.Sprint(took.Milliseconds()))
		}
		return nil
	})
}

// save runs BGSAVE and waits until LASTSAVE has moved on.
func save(p *process) (time.Duration, error) {
	c, err := dial(p.port)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	time.Sleep(1100 * time.Millisecond) // LASTSAVE counts in seconds
	before, err := c.do("LASTSAVE")
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := c.do("BGSAVE"); err != nil {
		return 0, err
	}
	for time.Since(began) < time.Minute {
		now, err := c.do("LASTSAVE")
		if err != nil || now != before {
			return time.Since(began), err
		}
		time.Sleep(time.Millisecond)
	}
	return 0, fmt.Errorf("%s: BGSAVE did not end within a minute", p.name)
}
