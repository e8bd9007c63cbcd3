package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a running server, reached by a socket in its directory.
type process struct {
	cmd    *exec.Cmd
	out    bytes.Buffer
	socket string
}

func start(binary, policy, dir string) (*process, error) {
	p := &process{socket: filepath.Join(dir, "socket")}
	p.cmd = exec.Command(binary, "--port", "0", "--unixsocket", p.socket, "--dir", dir,
		"--appendfsync", policy, "--enable-debug-command", "yes", "--save", "")
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	return p, p.cmd.Start()
}

func (p *process) stop() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

// exited waits for the end of a process that was told to stop. It has to end by itself
// and successfully.
func (p *process) exited() error {
	late := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("after SIGTERM: %w\n%s", err, p.log())
	}
	return nil
}

func (p *process) kill() { end(p.cmd) }

// end kills a process that was started.
func end(p *exec.Cmd) {
	_ = p.Process.Kill()
	_ = p.Wait()
}

// log is the output of a dead server.
func (p *process) log() string { return p.out.String() }

// patience is how long a server may take to be ready.
const patience = 60 * time.Second

// dial connects as soon as the server accepts commands.
func (p *process) dial() (*client, error) {
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		var nc net.Conn
		if nc, err = net.Dial("unix", p.socket); err != nil {
			continue
		}
		c := &client{nc: nc, r: bufio.NewReader(nc), w: bufio.NewWriter(nc)}
		var got string
		if got, err = c.do("GET", "n"); err == nil && !strings.HasPrefix(got, "-LOADING") {
			return c, nil
		}
		nc.Close()
	}
	return nil, errors.Join(errors.New("not ready in time"), err)
}

// client is a connection.
type client struct {
	nc net.Conn
	r  *bufio.Reader
	w  *bufio.Writer
}

func (c *client) send(args ...string) {
	fmt.Fprintf(c.w, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(c.w, "$%d\r\n%s\r\n", len(a), a)
	}
}

// reply reads one reply: a string as it is, an error with its '-', an array with
// its elements parted by blanks or the first error among them, nothing as "(nil)".
func (c *client) reply() (string, error) {
	text, _, err := c.parse()
	return text, err
}

// parse is reply; failed reports that text is an error of the server.
func (c *client) parse() (text string, failed bool, err error) {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return "", false, err
	}
	line = strings.TrimRight(line, "\r\n")
	if len(line) == 0 {
		return "", false, errors.New("empty reply")
	}
	n, _ := strconv.Atoi(line[1:])
	switch {
	case line[0] == '-':
		return line, true, nil
	case (line[0] == '$' || line[0] == '*') && n < 0:
		return "(nil)", false, nil
	case line[0] == '$':
		b := make([]byte, n+2)
		_, err := io.ReadFull(c.r, b)
		return string(b[:max(0, len(b)-2)]), false, err
	case line[0] == '*':
		return c.array(n)
	}
	return line[1:], false, nil
}

func (c *client) array(n int) (text string, failed bool, err error) {
	var parts []string
	for range n {
		part, bad, err := c.parse()
		if err != nil {
			return "", false, err
		}
		if bad && !failed {
			text, failed = part, true
		}
		parts = append(parts, part)
	}
	if !failed {
		text = strings.Join(parts, " ")
	}
	return text, failed, nil
}

func (c *client) do(args ...string) (string, error) {
	c.send(args...)
	if err := c.w.Flush(); err != nil {
		return "", err
	}
	return c.reply()
}
