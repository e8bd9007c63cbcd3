package buckets

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// binary is the server under test, built once.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "vigil-buckets")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "vigil-server")
	build := exec.Command("go", "build", "-o", binary, "./cmd/vigil-server")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// bucket is a store with one bucket, as it may be on a bad day.
type bucket struct {
	*httptest.Server
	memory *s3mem.Backend
	puts   atomic.Int64
	full   atomic.Bool  // puts are refused
	cut    atomic.Int64 // of every so many requests the link is cut in the middle; 0: none
	served atomic.Int64

	mu   sync.Mutex
	held map[string]chan struct{} // requests of a method that wait; guarded by mu
	come chan string              // methods of requests that wait
}

const accessKey, secretKey = "access", "secret-of-the-bucket"

func newBucket(t *testing.T) *bucket {
	t.Helper()
	b := &bucket{memory: s3mem.New(), held: map[string]chan struct{}{}, come: make(chan string, 1000)}
	if err := b.memory.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	fake := gofakes3.New(b.memory).Server()
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.serve(fake, w, r) }))
	t.Cleanup(func() {
		b.release("GET")
		b.release("PUT")
		b.CloseClientConnections()
		b.Close()
	})
	return b
}

func refuse(w http.ResponseWriter, status int, code, text string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>%s</Message></Error>", code, text)
}

func (b *bucket) serve(fake http.Handler, w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Authorization"), "Credential="+accessKey+"/") {
		refuse(w, 403, "InvalidAccessKeyId", "The key does not exist in our records.")
		return
	}
	if n := b.cut.Load(); n > 0 && b.served.Add(1)%n == 0 {
		_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2)
		nc, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			nc.Close()
		}
		return
	}
	b.mu.Lock()
	held := b.held[r.Method]
	b.mu.Unlock()
	if held != nil && strings.Contains(r.URL.Path, "/objects/") {
		b.come <- r.Method
		select {
		case <-held:
		case <-r.Context().Done():
			return
		}
	}
	if r.Method == "PUT" {
		b.puts.Add(1)
		if b.full.Load() {
			refuse(w, 507, "XMinioStorageFull", "Storage backend has reached its minimum free drive threshold.")
			return
		}
	}
	fake.ServeHTTP(w, r)
}

// hold lets requests for objects wait until release is called.
func (b *bucket) hold(method string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held[method] = make(chan struct{})
}

func (b *bucket) release(method string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held[method] != nil {
		close(b.held[method])
		delete(b.held, method)
	}
}

// came waits for a request that is held.
func (b *bucket) came(t *testing.T) {
	t.Helper()
	select {
	case <-b.come:
	case <-time.After(20 * time.Second):
		t.Fatal("no request came within 20 s")
	}
}

// flags are the directives of the bucket.
func (b *bucket) flags(more ...string) []string {
	return append([]string{"--backup-s3-endpoint", b.URL, "--backup-s3-access-key", accessKey, "--backup-s3-secret-key", secretKey}, more...)
}

// process is a server.
type process struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	out  bytes.Buffer // guarded by mu
	more chan struct{}
	addr string
	done chan error
}

var listening = regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`)

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.more <- struct{}{}:
	default:
	}
	return p.out.Write(b)
}

func (p *process) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// wait waits until the process has printed something.
func (p *process) wait(t *testing.T, text string) string {
	t.Helper()
	want := regexp.MustCompile(text)
	for late := time.After(30 * time.Second); ; {
		if found := want.FindStringSubmatch(p.String()); found != nil {
			return found[len(found)-1]
		}
		select {
		case <-p.more:
		case <-late:
			t.Fatalf("%q was not printed within 30 s:\n%s", text, p)
		}
	}
}

// start starts the program.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(binary, args...), more: make(chan struct{}, 1), done: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() { p.kill() })
	return p
}

// launch starts a server and waits until it is ready.
func launch(t *testing.T, args ...string) *process {
	t.Helper()
	p := start(t, append(args, "--port", "auto", "--enable-debug-command", "yes")...)
	p.addr = p.wait(t, listening.String())
	p.wait(t, "Ready to accept")
	return p
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	p.end()
}

func (p *process) end() error {
	err := <-p.done
	p.done <- err
	return err
}

// stop asks a server to end, and fails if it does not within some seconds.
func (p *process) stop(t *testing.T) {
	t.Helper()
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.done:
		p.done <- err
		if err != nil {
			t.Errorf("the server ended with %v:\n%s", err, p)
		}
	case <-time.After(15 * time.Second):
		t.Fatalf("the server did not end within 15 s:\n%s", p)
	}
}

// run runs the program to its end.
func run(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	p := start(t, args...)
	p.end()
	return p.cmd.ProcessState.ExitCode(), p.String()
}

// do sends a command and returns the reply, with blanks between the parts.
func (p *process) do(t *testing.T, line string) string {
	t.Helper()
	nc, err := net.Dial("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(nc, "%s\r\n", line)
	r := bufio.NewReader(nc)
	var read func() string
	read = func() string {
		head, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, p)
		}
		head = strings.TrimRight(head, "\r\n")
		n, _ := strconv.Atoi(head[1:])
		switch head[0] {
		case '$':
			b := make([]byte, n+2)
			if _, err := io.ReadFull(r, b); err != nil {
				t.Fatal(err)
			}
			return string(b[:n])
		case '*':
			parts := make([]string, n)
			for i := range parts {
				parts[i] = read()
			}
			return strings.Join(parts, " ")
		}
		return head[1:]
	}
	return read()
}

// until asks for the status until a field of it is at least a number.
func (p *process) until(t *testing.T, field string, least int64) {
	t.Helper()
	want := regexp.MustCompile(field + ` (-?\d+)`)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if found := want.FindStringSubmatch(p.do(t, "VIGIL.BACKUP STATUS")); found != nil {
			if n, _ := strconv.ParseInt(found[1], 10, 64); n >= least {
				return
			}
		}
	}
	t.Fatalf("%s was not %d within 20 s: %s\n%s", field, least, p.do(t, "VIGIL.BACKUP STATUS"), p)
}
