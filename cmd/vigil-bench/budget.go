package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"
)

// load is data of one shape.
type load struct {
	name string
	size int // bytes of a key's data
	cmd  func(b []byte, i int, value []byte) []byte
}

var loads = []load{
	{"strings of 100 bytes", 100, appendSet},
	{"strings of 1 KB", 1000, appendSet},
	{"hashes of 10 fields of 12 bytes", 180, appendHSet},
}

func appendSet(b []byte, i int, value []byte) []byte {
	return fmt.Appendf(b, "*3\r\n$3\r\nSET\r\n$16\r\nkey:%012d\r\n$%d\r\n%s\r\n", i, len(value), value)
}

func appendHSet(b []byte, i int, _ []byte) []byte {
	b = fmt.Appendf(b, "*22\r\n$4\r\nHSET\r\n$16\r\nkey:%012d\r\n", i)
	for f := range 10 {
		b = fmt.Appendf(b, "$6\r\nfield%d\r\n$12\r\nvalue-%06d\r\n", f, (7*i+f)%1_000_000)
	}
	return b
}

// budgetMemory is the maxmemory of the section.
const budgetMemory = 64 << 20

// budget loads much more data than maxmemory allows and looks at the process.
func budget(o *options, r *report) error {
	r.section("The process and maxmemory", fmt.Sprintf("%d MB of data under a maxmemory of %d MB. At rest is 15 s later.",
		o.data, budgetMemory>>20))
	r.row("data", "peak, MB", "at rest, MB", "at rest / maxmemory", "us CPU a key")
	r.rule(5)
	for _, l := range loads {
		if err := budgetOf(o, r, l); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

func budgetOf(o *options, r *report, l load) error {
	dir, err := os.MkdirTemp("", "vigil-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p := &process{name: "vigil", port: freePort()}
	p.args = []string{o.binary, "--port", strconv.Itoa(p.port), "--dir", dir, "--appendfsync", o.fsync,
		"--maxmemory", strconv.Itoa(budgetMemory)}
	if err := p.start(); err != nil {
		return err
	}
	defer p.stop()
	keys := o.data * 1_000_000 / l.size
	if err := l.send(p, keys); err != nil {
		return err
	}
	cpu := p.cpu()
	time.Sleep(15 * time.Second)
	rest := float64(p.rss())
	r.row(l.name, fmt.Sprint(p.status("VmHWM")>>20), fmt.Sprintf("%.0f", rest/(1<<20)),
		fmt.Sprintf("%.2f", rest/budgetMemory), fmt.Sprintf("%.1f", cpu*1e6/float64(keys)))
	return nil
}

// send writes keys, each once, with values that do not compress.
func (l load) send(p *process, keys int) error {
	c, err := dial(p.port)
	if err != nil {
		return err
	}
	defer c.Close()
	random := rand.NewChaCha8([32]byte{1})
	value := make([]byte, l.size)
	const batch = 500
	for i := 0; i < keys; i += batch {
		var b []byte
		last := min(i+batch, keys)
		for j := i; j < last; j++ {
			random.Read(value)
			b = l.cmd(b, j, value)
		}
		if _, err := c.Write(b); err != nil {
			return err
		}
		for range last - i {
			reply, err := c.r.ReadString('\n')
			if err != nil {
				return err
			}
			if reply[0] == '-' {
				return fmt.Errorf("the server says %s", reply)
			}
		}
	}
	return nil
}
