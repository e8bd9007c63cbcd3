package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// conn is a client that sends one command at a time.
type conn struct {
	net.Conn
	r *bufio.Reader
}

func dial(port int) (*conn, error) {
	nc, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	return &conn{nc, bufio.NewReader(nc)}, nil
}

// do sends a command and returns the first line of its reply; the body of a
// bulk string is read and dropped.
func (c *conn) do(args ...string) (string, error) {
	line, body, err := c.send(args)
	if err == nil {
		_, err = c.r.Discard(body)
	}
	return line, err
}

// text sends a command and returns the bulk string of its reply.
func (c *conn) text(args ...string) (string, error) {
	_, size, err := c.send(args)
	if err != nil {
		return "", err
	}
	body := make([]byte, size)
	_, err = io.ReadFull(c.r, body)
	return string(body), err
}

// send sends a command and returns the first line of its reply, and how long the
// body behind it is.
func (c *conn) send(args []string) (line string, body int, err error) {
	if _, err := c.Write(appendCommand(nil, args)); err != nil {
		return "", 0, err
	}
	if line, err = c.r.ReadString('\n'); err != nil {
		return "", 0, err
	}
	if n, err := strconv.Atoi(strings.TrimSpace(line[1:])); line[0] == '$' && err == nil && n >= 0 {
		body = n + 2
	}
	return strings.TrimSpace(line), body, nil
}

// run is the outcome of one run of redis-benchmark.
type run struct {
	perSecond, cpuMicros, p99 float64
}

// benchmark runs redis-benchmark against p.
func benchmark(p *process, n, pipeline int, args []string) (run, error) {
	before := p.cpu()
	all := append([]string{"-p", strconv.Itoa(cmp.Or(p.tls, p.port)), "-c", "50", "-n", strconv.Itoa(n),
		"-P", strconv.Itoa(pipeline), "--csv"}, args...)
	out, err := exec.Command("redis-benchmark", all...).Output()
	if err != nil {
		return run{}, fmt.Errorf("redis-benchmark %s: %w", strings.Join(all, " "), err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	fields := strings.Split(lines[len(lines)-1], ",")
	// The name comes first, and has commas if a word of the call has some.
	fields = fields[max(len(fields)-8, 0):]
	if len(fields) < 8 {
		return run{}, fmt.Errorf("redis-benchmark printed %q", lines[len(lines)-1])
	}
	number := func(i int) float64 {
		v, _ := strconv.ParseFloat(strings.Trim(fields[i], `"`), 64)
		return v
	}
	return run{perSecond: number(1), p99: number(6), cpuMicros: (p.cpu() - before) / float64(n) * 1e6}, nil
}

// probe asks the server for a key over and over until stop is closed, and sends
// the longest time that a reply took.
func probe(p *process, stop <-chan struct{}, longest chan<- time.Duration) {
	var worst time.Duration
	defer func() { longest <- worst }()
	c, err := dial(p.port)
	if err != nil {
		return
	}
	defer c.Close()
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Millisecond):
		}
		began := time.Now()
		if _, err := c.do("SET", "probe", "x"); err != nil {
			return
		}
		worst = max(worst, time.Since(began))
	}
}
