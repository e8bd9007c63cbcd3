package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// withPair runs f with both servers, which get these arguments for TLS.
func withPair(o *options, f func(ours, redis *process, dir string) error, tls ...string) error {
	return withTwo(func(dir string) (ours, redis *process, err error) { return pair(o, dir, tls) }, f)
}

// withTwo runs f with two servers, which prepare makes for a directory of their own.
func withTwo(prepare func(dir string) (a, b *process, err error), f func(a, b *process, dir string) error) error {
	return withDir(func(dir string) error {
		a, b, err := prepare(dir)
		if err != nil {
			return err
		}
		for _, p := range []*process{a, b} {
			if err := p.start(); err != nil {
				return err
			}
			defer p.stop()
		}
		return f(a, b, dir)
	})
}

// withDir runs f with a directory, which is gone afterwards.
func withDir(f func(dir string) error) error {
	dir, err := os.MkdirTemp("", "vigil-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return f(dir)
}

// uniqueKeys writes 3M keys that are all new, which a store that writes late
// cannot postpone forever, and watches for stalls and for the journal's size.
func uniqueKeys(o *options, r *report) error {
	return withPair(o, func(ours, redis *process, dir string) error {
		c := benchCase{name: "SET of new keys, P=16", pipeline: 16, args: []string{"-t", "set", "-r", "1000000000", "-d", "100"}}
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
		r.compared(o)
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
