//go:build browser && linux

package browser

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/vigildb/vigil/examples/shop/internal/process"
)

// demoPorts returns a port that is free, as is the one after it.
func demoPorts(t *testing.T) int {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		next, err := net.Listen("tcp", "localhost:"+strconv.Itoa(port+1))
		l.Close()
		if err == nil {
			next.Close()
			return port
		}
	}
	t.Fatal("no two ports in a row are free")
	return 0
}

// startDemo returns when the shop is open.
func (s *stage) startDemo(port int) *process.Process {
	s.t.Helper()
	p := s.start("demo", "-port", strconv.Itoa(port), "-dir", filepath.Join(s.dir, "demo"), "-absence", "100ms")
	s.address = s.logged(p, regexp.MustCompile(`The shop is open: +(http://\S+)`))
	return p
}

// children are the processes that a process has started, by their ids.
func children(t *testing.T, p *process.Process) []int {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.ID()))
	if err != nil {
		t.Fatal(err)
	}
	var ids []int
	for _, path := range lists {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		for _, field := range strings.Fields(string(text)) {
			id, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
	}
	return ids
}

// gone says whether none of the processes is there any more.
func gone(ids []int) bool {
	for _, id := range ids {
		if syscall.Kill(id, 0) == nil {
			return false
		}
	}
	return true
}

func TestDemoOpensAndEndsCleanly(t *testing.T) {
	s := &stage{t: t, dir: t.TempDir()}
	port := demoPorts(t)
	first := s.startDemo(port)
	v := s.newVisitor()
	v.open("/")
	v.wantThere("#welcome", true)
	v.signIn("robin", "a long night")
	ids := children(t, first)
	if len(ids) != 3 {
		t.Fatalf("the demo has %d children, want 3", len(ids))
	}
	second := s.start("demo", "-port", strconv.Itoa(port), "-dir", filepath.Join(s.dir, "another"))
	s.eventually("a demo on the same port ends", ended(second))
	if text := second.Tail(5); !strings.Contains(text, fmt.Sprintf("port %d, for the shop, cannot be had", port)) || !strings.Contains(text, "DEMO_PORT=") {
		t.Errorf("a demo on the same port: got %q, want to be told of DEMO_PORT", text)
	}
	if err := first.Stop(patience); err != nil {
		t.Fatal(err)
	}
	if !gone(ids) {
		t.Errorf("children are left: %v of %v", children(t, first), ids)
	}
	again := s.startDemo(port)
	v.open("/")
	v.want("#user", "robin")
	ids = children(t, again)
	again.Kill()
	s.eventually("children end with a demo that was killed", func() bool { return gone(ids) })
}

func TestDemoBringsItsPartsBack(t *testing.T) {
	s := &stage{t: t, dir: t.TempDir()}
	p := s.startDemo(demoPorts(t))
	v := s.newVisitor()
	for program, name := range map[string]string{"vigil-session": "microservice", "vigil-server": "vigil", "shop": "shop"} {
		kill(t, p, program)
		s.logged(p, regexp.MustCompile(`(`+name+`) has ended: `))
		s.logged(p, regexp.MustCompile(`(`+name+`) is there again`))
		v.becomes("/", "#total-pages", true)
	}
	if err := p.Stop(patience); err != nil {
		t.Fatal(err)
	}
}

// kill ends a child of the demo, as kill -9 does.
func kill(t *testing.T, p *process.Process, program string) {
	t.Helper()
	for _, id := range children(t, p) {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", id))
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(string(name)) == program {
			if err := syscall.Kill(id, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("the demo has no child %s", program)
}

func TestDemoSaysWhyAPartCannotStart(t *testing.T) {
	s := &stage{t: t, dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(s.dir, "demo"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(demoPorts(t))
	blocked := s.start("demo", "-port", port, "-dir", filepath.Join(s.dir, "demo"))
	s.eventually("a demo without a folder ends", ended(blocked))
	if err := os.MkdirAll(filepath.Join(s.dir, "damaged", "vigil", "LOCK"), 0o700); err != nil {
		t.Fatal(err)
	}
	damaged := s.start("demo", "-port", port, "-dir", filepath.Join(s.dir, "damaged"))
	s.eventually("a demo on a damaged store ends", ended(damaged))
	if got := damaged.Tail(12); !strings.Contains(got, "vigil has ended; its last words were") || !strings.Contains(got, "LOCK") {
		t.Errorf("a demo on a damaged store: got %q, want the reason", got)
	}
}

func ended(p *process.Process) func() bool {
	return func() bool {
		select {
		case <-p.Done():
			return true
		default:
			return false
		}
	}
}
