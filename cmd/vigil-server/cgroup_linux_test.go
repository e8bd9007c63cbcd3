package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// testCgroup is a cgroup with a limit on memory.
type testCgroup struct {
	dir    string
	events string // file that counts the processes that were killed
}

// newTestCgroup makes a cgroup below that of the test, or at the top of a hierarchy in which no
// more can be made there. The error says why there can be none on this machine.
func newTestCgroup(t *testing.T, limit int64) (*testCgroup, error) {
	t.Helper()
	var failed []error
	for _, own := range memoryCgroups(os.DirFS("/")) {
		for _, parent := range []string{own.dir, own.top} {
			g := &testCgroup{dir: filepath.Join("/", parent, fmt.Sprintf("vigil-test-%d-%x", os.Getpid(), rand.Uint32()))}
			name := "memory.limit_in_bytes"
			if g.events = "memory.oom_control"; own.v2 {
				g.events, name = "memory.events", "memory.max"
				_ = os.WriteFile(filepath.Join("/", parent, "cgroup.subtree_control"), []byte("+memory"), 0o644)
			}
			err := os.Mkdir(g.dir, 0o755)
			if err == nil {
				t.Cleanup(func() { g.remove(t) })
				err = os.WriteFile(filepath.Join(g.dir, name), strconv.AppendInt(nil, limit, 10), 0o644)
			}
			if err == nil {
				// Without swap the limit is one; where there is none the file is missing.
				_ = os.WriteFile(filepath.Join(g.dir, "memory.swap.max"), []byte("0"), 0o644)
				_ = os.WriteFile(filepath.Join(g.dir, "memory.swappiness"), []byte("0"), 0o644)
				return g, nil
			}
			failed = append(failed, err)
		}
	}
	if len(failed) == 0 {
		return nil, errors.New("no hierarchy of cgroups that limits memory is mounted")
	}
	return nil, errors.Join(failed...)
}

// remove removes the cgroup, whose processes have ended: the system may need a moment to see that.
func (g *testCgroup) remove(t *testing.T) {
	for late := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		err := os.Remove(g.dir)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(late) {
			t.Errorf("remove the cgroup: %v", err)
			return
		}
	}
}

// kills is how many processes were killed for lack of memory.
func (g *testCgroup) kills(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(g.dir, g.events))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
			kills, err := strconv.Atoi(strings.TrimSpace(n))
			if err != nil {
				t.Fatal(err)
			}
			return kills
		}
	}
	t.Fatalf("%s does not count kills:\n%s", g.events, b)
	return 0
}

// launch starts a server in the cgroup and waits until it is ready.
func (g *testCgroup) launch(t *testing.T, args ...string) *process {
	t.Helper()
	enter := `echo $$ >"$0" && exec "$@"`
	args = append([]string{"-c", enter, filepath.Join(g.dir, "cgroup.procs"), binary, "--port", "auto"}, args...)
	return ready(t, startCommand(t, exec.Command("sh", args...)))
}

const (
	smallCgroup = 100 << 20
	// cgroupData is more than fits, in values of cgroupValue bytes.
	cgroupData, cgroupValue = 60 << 20, 4000
)

// setRandom sets keys to values that do not compress, as many as fill so many bytes.
func setRandom(t *testing.T, c *client, data, size int) {
	t.Helper()
	batch := max(1, min(250, 1<<20/size))
	random := rand.NewChaCha8([32]byte{1})
	value := make([]byte, size)
	for i := 0; i < data/size; i += batch {
		var b bytes.Buffer
		for j := range batch {
			random.Read(value)
			fmt.Fprintf(&b, "*3\r\n$3\r\nSET\r\n$10\r\nkey:%06d\r\n$%d\r\n%s\r\n", i+j, size, value)
		}
		if _, err := c.nc.Write(b.Bytes()); err != nil {
			t.Fatal(err)
		}
		for range batch {
			if got, err := c.reply(); err != nil || got != "OK" {
				t.Fatalf("SET: %s, %v", got, err)
			}
		}
	}
}

// TestServerThatRanOutOfMemoryStartsAgain: a server is killed by the system in a cgroup with less memory
// than it has data, and starts in the same one. Where no cgroup can be made the same
// server is killed by a signal, and may take as much memory when it starts as the cgroup would
// allow.
func TestServerThatRanOutOfMemoryStartsAgain(t *testing.T) {
	dir := t.TempDir()
	g, err := newTestCgroup(t, smallCgroup)
	if err != nil {
		t.Logf("NO CGROUP can be made here, so the peak of the process is all that is checked: %v", err)
		p := launch(t, "--dir", dir, "--maxmemory", strconv.FormatInt(memoryLimit{bytes: smallCgroup}.derive(), 10))
		setRandom(t, patient(t, p), cgroupData, cgroupValue)
		p.signal(t, syscall.SIGKILL)
		_ = p.wait()
	} else {
		p := g.launch(t, "--dir", dir)
		c := patient(t, p)
		setRandom(t, c, cgroupData, cgroupValue)
		if got := c.do(t, "WAITAOF 1 0 0"); got != "[1 0]" {
			t.Fatalf("WAITAOF: %s", got)
		}
		derived := memoryLimit{bytes: smallCgroup}.derive()
		if want := fmt.Sprintf("\r\nmaxmemory:0\r\nmaxmemory_human:0B\r\nmaxmemory_derived:%d\r\n", derived); !strings.Contains(c.do(t, "INFO memory"), want) {
			t.Errorf("INFO lacks %q:\n%s", want, c.do(t, "INFO memory"))
		}
		if got := c.do(t, "CONFIG GET maxmemory"); got != "[maxmemory 0]" {
			t.Errorf("CONFIG GET maxmemory: %s", got)
		}
		if want := "values move to disk beyond 24 MB, as the cgroup " + g.dir + " has 100 MB of memory"; !strings.Contains(p.out.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, p.out)
		}
		outOfMemory(t, p, g)
	}
	restartWithin(t, g, dir)
}

// outOfMemory makes the system kill the server: a client asks for much and reads nothing.
func outOfMemory(t *testing.T, p *process, g *testCgroup) {
	t.Helper()
	c := patient(t, p)
	big := strings.Repeat("x", 1<<20)
	fmt.Fprintf(c.nc, "*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n$%d\r\n%s\r\n", len(big), big)
	if got, err := c.reply(); err != nil || got != "OK" {
		t.Fatalf("SET: %s, %v", got, err)
	}
	if got := c.do(t, "WAITAOF 1 0 0"); got != "[1 0]" {
		t.Fatalf("WAITAOF: %s", got)
	}
	// SETRANGE copies what a reply shares with the key.
	fmt.Fprint(c.nc, "MULTI\r\n")
	for range 300 {
		fmt.Fprint(c.nc, "GETRANGE big 0 -1\r\nSETRANGE big 0 y\r\n")
	}
	fmt.Fprint(c.nc, "EXEC\r\n")
	var exit *exec.ExitError
	if err := p.wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL || g.kills(t) == 0 {
		t.Fatalf("the server was to be killed by the system, not %v:\n%s", err, p.out)
	}
}

// restartWithin starts a server on what setRandom has written, in the cgroup or with its limit as
// maxmemory.
func restartWithin(t *testing.T, g *testCgroup, dir string, args ...string) {
	t.Helper()
	var p *process
	args = append(args, "--dir", dir)
	if g != nil {
		before := g.kills(t)
		p = g.launch(t, args...)
		defer func() {
			if n := g.kills(t); n != before {
				t.Errorf("killed %d times", n-before)
			}
		}()
	} else {
		p = launch(t, append([]string{"--maxmemory", strconv.FormatInt(memoryLimit{bytes: smallCgroup}.derive(), 10)}, args...)...)
	}
	loaded := p.status(t, "VmHWM")
	c := patient(t, p)
	for i := range cgroupData / cgroupValue {
		if i%10 > 0 {
			continue
		}
		if got := c.do(t, fmt.Sprintf("STRLEN key:%06d", i)); got != strconv.Itoa(cgroupValue) {
			t.Fatalf("STRLEN of key %d: %s", i, got)
		}
	}
	if got, _ := strconv.Atoi(c.do(t, "DBSIZE")); got < cgroupData/cgroupValue {
		t.Errorf("%d keys, want %d", got, cgroupData/cgroupValue)
	}
	t.Logf("%d MB at the end of loading, %d later, %d of the program's file", loaded>>20, p.status(t, "VmHWM")>>20, p.status(t, "RssFile")>>20)
	// The pages of the program's file are counted as it has them now: the system maps more than are used while there is room, and takes
	// them back. What is used is programBytes at most.
	if peak, most := p.status(t, "VmHWM")-p.status(t, "RssFile"), int64(smallCgroup-programBytes); peak > most {
		t.Errorf("up to %d MB of memory without the program's, want at most %d", peak>>20, most>>20)
	}
}

// TestServerStartsInALessRoomyCgroup: the data was written with much memory. Without a limit
// loading it took 220 MB.
func TestServerStartsInALessRoomyCgroup(t *testing.T) {
	dir := t.TempDir()
	p := launch(t, "--dir", dir, "--appendfsync", "always") // WAITAOF waits for what its own client wrote
	setRandom(t, patient(t, p), cgroupData, cgroupValue)
	if got := dial(t, p).do(t, "WAITAOF 1 0 0"); got != "[1 0]" {
		t.Fatalf("WAITAOF: %s", got)
	}
	p.signal(t, syscall.SIGKILL)
	_ = p.wait()
	g, err := newTestCgroup(t, smallCgroup)
	if err != nil {
		t.Logf("NO CGROUP can be made here, so the peak of the process is all that is checked: %v", err)
	}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"derived", nil},
		{"maxmemory", []string{"--maxmemory", "20mb"}},
		{"noeviction", []string{"--maxmemory-policy", "noeviction"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			restartWithin(t, g, copied, c.args...)
		})
	}
}
