package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary is the server under test, built once.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(onlyHere) != "" {
		becomeServer()
	}
	dir, err := os.MkdirTemp("", "vigil-server")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "vigil-server")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// output is what a process has printed so far.
type output struct {
	mu   sync.Mutex
	b    bytes.Buffer  // guarded by mu
	more chan struct{} // closed by the next Write, nil until it is waited for; guarded by mu
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.more != nil {
		close(o.more)
		o.more = nil
	}
	return o.b.Write(b)
}

// wait waits until the output contains a text, a minute at most.
func (o *output) wait(text string) bool {
	for late := time.After(time.Minute); ; {
		o.mu.Lock()
		if strings.Contains(o.b.String(), text) {
			o.mu.Unlock()
			return true
		}
		if o.more == nil {
			o.more = make(chan struct{})
		}
		more := o.more
		o.mu.Unlock()
		select {
		case <-more:
		case <-late:
			return false
		}
	}
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// process is a running server.
type process struct {
	cmd   *exec.Cmd
	addr  string
	out   *output
	ready chan string // the address, once it accepts connections; then closed
	done  chan error  // the exit; one value
}

var listening = regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`)

// launch starts a server on any free port and waits until it is ready.
func launch(t *testing.T, args ...string) *process {
	t.Helper()
	return ready(t, start(t, args...))
}

// ready waits until a server accepts connections.
func ready(t *testing.T, p *process) *process {
	t.Helper()
	select {
	case p.addr = <-p.ready:
		if p.addr == "" {
			t.Fatalf("the server ended before it was ready:\n%s", p.out)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the server was not ready within 30 s")
	}
	return p
}

// start starts a server on any free port.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	return startCommand(t, exec.Command(binary, append(args, "--port", "auto")...))
}

// startCommand starts a server and reads what it prints.
func startCommand(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, out: &output{}, ready: make(chan string, 1), done: make(chan error, 1)}
	pipe, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.follow(pipe)
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.done
		p.done <- nil
	})
	return p
}

// follow reads the log to its end and then collects the exit.
func (p *process) follow(pipe io.Reader) {
	addr := ""
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		fmt.Fprintln(p.out, lines.Text())
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			addr = m[1]
		}
		if strings.Contains(lines.Text(), "Ready to accept connections") {
			p.ready <- addr
		}
	}
	close(p.ready)
	p.done <- p.cmd.Wait()
}

// wait is the error of the exit, nil for status 0.
func (p *process) wait() error {
	err := <-p.done
	p.done <- err
	return err
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// still calls do while the server is stopped: it writes nothing meanwhile.
func (p *process) still(t *testing.T, do func()) {
	t.Helper()
	p.freeze(t)
	defer p.signal(t, syscall.SIGCONT)
	do()
}

// freeze stops the server where it is, until it gets SIGCONT.
func (p *process) freeze(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGSTOP)
	var status syscall.WaitStatus // the signal is sent before all threads have stopped
	if _, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the server has not stopped: %v, status %x", err, status)
	}
}

// client is a connection that speaks plain RESP2.
type client struct {
	nc net.Conn
	r  *bufio.Reader
}

func dial(t *testing.T, p *process) *client {
	t.Helper()
	return dialAt(t, "tcp", p.addr)
}

func dialAt(t *testing.T, network, addr string) *client {
	t.Helper()
	nc, err := net.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return newClient(nc)
}

// patient is dial for calls that take long on a busy machine.
func patient(t *testing.T, p *process) *client {
	t.Helper()
	c := dial(t, p)
	c.nc.SetDeadline(time.Now().Add(100 * time.Second))
	return c
}

func newClient(nc net.Conn) *client { return &client{nc, bufio.NewReader(nc)} }

func (c *client) send(line string) error {
	_, err := io.WriteString(c.nc, line+"\r\n")
	return err
}

// reply reads one reply of a string, integer, error or array, as text.
func (c *client) reply() (string, error) {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	switch line[0] {
	case '$':
		n, _ := strconv.Atoi(line[1:])
		if n < 0 {
			return "(nil)", nil
		}
		b := make([]byte, n+2)
		_, err := io.ReadFull(c.r, b)
		return string(b[:n]), err
	case '*':
		n, _ := strconv.Atoi(line[1:])
		var parts []string
		for range n {
			part, err := c.reply()
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		return "[" + strings.Join(parts, " ") + "]", nil
	}
	return line[1:], nil
}

func (c *client) do(t *testing.T, line string) string {
	t.Helper()
	if err := c.send(line); err != nil {
		t.Fatalf("%.60s: %v", line, err)
	}
	got, err := c.reply()
	if err != nil {
		t.Fatalf("%.60s: %v", line, err)
	}
	return got
}

func TestServerAnnouncesItselfAndEndsCleanlyOnSIGTERM(t *testing.T) {
	dir := t.TempDir()
	p := launch(t, "--dir", dir)
	c := dial(t, p)
	if got := c.do(t, "SET k v"); got != "OK" {
		t.Fatalf("SET: %s", got)
	}
	p.signal(t, syscall.SIGTERM)
	if err := p.wait(); err != nil {
		t.Fatalf("exit after SIGTERM: %v\n%s", err, p.out)
	}
	announced := fmt.Sprintf("(?s) PID: %d.*Server initialized.*Ready to accept connections", p.cmd.Process.Pid) // what Redis's tests wait for
	if !regexp.MustCompile(announced).MatchString(p.out.String()) {
		t.Errorf("no %q in the log:\n%s", announced, p.out)
	}
	p = launch(t, "--dir", dir)
	if got := dial(t, p).do(t, "GET k"); got != "v" {
		t.Errorf("GET after a clean restart: got %s, want v", got)
	}
}

func TestShutdownCommandEndsTheServer(t *testing.T) {
	p := launch(t, "--dir", t.TempDir())
	if err := dial(t, p).send("SHUTDOWN"); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		t.Fatalf("exit after SHUTDOWN: %v\n%s", err, p.out)
	}
}

func TestSecondServerOnOneDirectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	launch(t, "--dir", dir)
	out, err := exec.Command(binary, "--port", "auto", "--dir", dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "in use") {
		t.Errorf("second server on the same directory: %v\n%s", err, out)
	}
}

func TestMisspeltDirectiveNamesTheNearest(t *testing.T) {
	out, err := exec.Command(binary, "--maxmemry", "1gb").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "maxmemory") {
		t.Errorf("--maxmemry: %v\n%s", err, out)
	}
}

func TestPidFileIsThereWhileTheServerRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vigil.pid")
	p := launch(t, "--dir", t.TempDir(), "--pidfile", path, "--daemonize", "yes")
	text, err := os.ReadFile(path)
	if want := fmt.Sprintln(p.cmd.Process.Pid); err != nil || string(text) != want {
		t.Errorf("the file holds %q (%v), want %q", text, err, want)
	}
	p.signal(t, syscall.SIGINT)
	if err := p.wait(); err != nil {
		t.Errorf("exit after SIGINT: %v", err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	if !strings.Contains(p.out.String(), "daemonize yes: ") {
		t.Errorf("no warning of daemonize in the log:\n%s", p.out)
	}
}

func TestSystemdIsToldThatTheServerIsReady(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	launch(t, "--dir", dir, "--supervised", "systemd")
	l.SetReadDeadline(time.Now().Add(10 * time.Second))
	buf := make([]byte, 64)
	n, err := l.Read(buf)
	if err != nil || string(buf[:n]) != "READY=1" {
		t.Errorf("got %q, %v", buf[:n], err)
	}
}
