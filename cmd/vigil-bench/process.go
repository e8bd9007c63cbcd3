package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is one server under measurement.
type process struct {
	name string
	port int
	tls  int // port for TLS, 0 without one
	args []string
	cmd  *exec.Cmd
	log  lastOutput
}

// pair prepares both servers, with empty directories under dir; tls is their arguments for
// that, if they are to serve it.
func pair(o *options, dir string, tls []string) (ours, redis *process, err error) {
	redisDir := filepath.Join(dir, "redis")
	if err := os.MkdirAll(redisDir, 0o755); err != nil {
		return nil, nil, err
	}
	port := freePort()
	redis = &process{name: o.peerName(), port: port, args: []string{o.peer, "--port", strconv.Itoa(port),
		"--dir", redisDir, "--save", "", "--appendonly", "yes", "--appendfsync", o.fsync}}
	if ours, err = own(o, filepath.Join(dir, "ours")); err != nil {
		return nil, nil, err
	}
	if len(tls) > 0 {
		ours.withTLS(tls)
		redis.withTLS(tls)
	}
	return ours, redis, nil
}

// own prepares a server of ours with an empty directory.
func own(o *options, dir string) (*process, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	port := freePort()
	return &process{name: "vigil", port: port, args: []string{o.binary, "--port", strconv.Itoa(port),
		"--dir", dir, "--appendfsync", o.fsync,
		// Section waits has cases of 10,000 clients, and of a million subscriptions.
		"--maxclients", "11000", "--client-output-buffer-limit", "pubsub", "0", "0", "0"}}, nil
}

func freePort() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// start runs the server and waits until it replies.
func (p *process) start() error {
	if err := p.launch(); err != nil {
		return err
	}
	return p.ready()
}

func (p *process) launch() error {
	p.cmd = exec.Command(p.args[0], p.args[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	return nil
}

func (p *process) ready() error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		c, err := dial(p.port)
		if err != nil {
			continue
		}
		reply, err := c.do("GET", "key:000000000042")
		c.Close()
		if err == nil && !strings.HasPrefix(reply, "-LOADING") {
			return nil
		}
	}
	return fmt.Errorf("%s did not respond within a minute", p.name)
}

// lastOutput keeps the end of what a server writes: a connection that it closes, or its own
// end, has its reason there.
type lastOutput struct {
	mu sync.Mutex
	b  []byte // guarded by mu
}

// outputBytes is what is kept of a log at least: a stack is some kilobytes.
const outputBytes = 16 << 10

func (o *lastOutput) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.b = append(o.b, b...); len(o.b) > 2*outputBytes {
		o.b = append(o.b[:0], o.b[len(o.b)-outputBytes:]...)
	}
	return len(b), nil
}

// explained adds the end of the server's log to an error.
func (p *process) explained(err error) error {
	if err == nil {
		return nil
	}
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	return fmt.Errorf("%w; the log of the server ends with:\n%s", err, p.log.b)
}

func (p *process) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.cmd.Wait()
}

// cpu is the processor time used so far, in seconds, of all threads and of the children that
// have ended, as redis-server's that rewrite its file.
func (p *process) cpu() float64 {
	return (cpuTime(p.cmd.Process.Pid) + childrenTime(p.cmd.Process.Pid)).Seconds()
}

// servers are some that are measured together.
type servers []*process

// stop stops those that have been started.
func (all servers) stop() {
	for _, p := range all {
		if p.cmd != nil && p.cmd.Process != nil {
			p.stop()
		}
	}
}

// cpu is the processor time of all, in seconds.
func (all servers) cpu() (seconds float64) {
	for _, p := range all {
		seconds += p.cpu()
	}
	return seconds
}

// rss is the resident memory in bytes.
func (p *process) rss() int64 { return p.status("VmRSS") }

// status is a line of /proc/PID/status, in bytes.
func (p *process) status(name string) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}
