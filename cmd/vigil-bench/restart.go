package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ending is a way in which a server's process ends, and what the next start finds.
type ending struct {
	name string
	args []string // directives besides port and directory
	end  func(p *process) error
}

var oursEndings = []ending{
	{"vigil, SIGTERM", nil, terminate},
	{"vigil, kill -9, nothing stored under its own key", nil, kill},
	{"vigil, kill -9 in the middle of a pass", nil, killInAPass},
}

var redisEndings = []ending{
	{"the other, RDB file", []string{"--save", "", "--appendonly", "no"}, saveAndKill},
	{"the other, AOF, SIGTERM", []string{"--save", "", "--appendonly", "yes"}, terminate},
}

// restarts measures how long the first GET takes after a process has ended.
func restarts(o *options, r *report) error {
	r.section("Restart", fmt.Sprintf("%d keys of 16 bytes with values of 20 to 100 bytes, each written once by one client. A "+
		"restart is over when the first GET is answered with a value; CPU is what the process has used by then.", o.keys))
	r.row("server and its end", "until it ended, ms", "restart, ms", "CPU, ms")
	r.rule(4)
	for i, e := range append(oursEndings, redisEndings...) {
		if err := restart(o, r, e, i < len(oursEndings)); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return nil
}

func restart(o *options, r *report, e ending, ours bool) error {
	dir, err := os.MkdirTemp("", "vigil-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p := &process{name: e.name, port: freePort()}
	p.args = []string{o.peer, "--port", strconv.Itoa(p.port), "--dir", dir, "--appendfsync", o.fsync}
	if ours {
		p.args[0] = o.binary
	}
	p.args = append(p.args, e.args...)
	if err := p.start(); err != nil {
		return err
	}
	defer p.stop()
	if err := fillSmall(p, o.keys); err != nil {
		return err
	}
	began := time.Now()
	if err := e.end(p); err != nil {
		return err
	}
	ended := time.Since(began)
	began = time.Now()
	if err := p.start(); err != nil {
		return err
	}
	took := time.Since(began)
	r.row(e.name, fmt.Sprint(ended.Milliseconds()), fmt.Sprint(took.Milliseconds()), fmt.Sprintf("%.0f", p.cpu()*1000))
	return nil
}

func terminate(p *process) error {
	p.stop()
	return nil
}

func kill(p *process) error {
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	p.cmd.Wait()
	return nil
}

// killInAPass asks for all keys to be stored under their own names, and kills the
// server when half of them are.
func killInAPass(p *process) error {
	c, err := dial(p.port)
	if err != nil {
		return err
	}
	defer c.Close()
	total, err := c.do("DBSIZE")
	if err != nil {
		return err
	}
	keys, err := strconv.Atoi(strings.TrimPrefix(total, ":"))
	if err != nil {
		return err
	}
	if _, err := c.do("BGREWRITEAOF"); err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		n, err := c.info("persistence", "vigil_materialised")
		if err != nil {
			return err
		}
		if n >= keys/2 {
			return kill(p)
		}
	}
	return fmt.Errorf("half of %d keys were not stored within a minute", keys)
}

// info reads a number of a section of INFO.
func (c *conn) info(section, name string) (int, error) {
	text, err := c.text("INFO", section)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return 0, fmt.Errorf("INFO has no %s", name)
}

func saveAndKill(p *process) error {
	if err := once(p, words("SAVE")); err != nil {
		return err
	}
	return kill(p)
}

// fillSmall writes n keys, each once, with values of 20 to 100 bytes.
func fillSmall(p *process, n int) error {
	c, err := dial(p.port)
	if err != nil {
		return err
	}
	defer c.Close()
	const batch = 1000
	value := strings.Repeat("abcdefghij", 10)
	r := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < n; i += batch {
		var b []byte
		last := min(i+batch, n)
		for j := i; j < last; j++ {
			v := value[:20+r.IntN(81)]
			b = fmt.Appendf(b, "*3\r\n$3\r\nSET\r\n$16\r\nkey:%012d\r\n$%d\r\n%s\r\n", j, len(v), v)
		}
		if _, err := c.Write(b); err != nil {
			return err
		}
		for range last - i {
			if _, err := c.r.ReadString('\n'); err != nil {
				return err
			}
		}
	}
	_, err = c.do("WAITAOF", "1", "0", "0") // unknown to Redis 7.0, which is none the worse for it
	return err
}
