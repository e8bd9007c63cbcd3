//go:build browser && linux

package browser

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/vigildb/vigil/examples/shop/internal/process"
)

// demoPorts returns a port that is free, as are the two after it.
func demoPorts(t *testing.T) int {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		next, err := net.Listen("tcp", "localhost:"+strconv.Itoa(port+1))
		if err == nil {
			var last net.Listener
			if last, err = net.Listen("tcp", "localhost:"+strconv.Itoa(port+2)); err == nil {
				last.Close()
			}
			next.Close()
		}
		l.Close()
		if err == nil {
			return port
		}
	}
	t.Fatal("no three ports in a row are free")
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

// The demo prints what to kill. What it says of that is what happens.
func TestDemoBringsItsPartsBack(t *testing.T) {
	s := &stage{t: t, dir: t.TempDir()}
	p := s.startDemo(demoPorts(t))
	if window, err := http.Get(s.logged(p, regexp.MustCompile(`the store inside: +(http://\S+)`))); err != nil {
		t.Error(err)
	} else if window.Body.Close(); window.StatusCode != http.StatusOK {
		t.Errorf("vigil's window: %s", window.Status)
	}
	v := s.newVisitor()
	v.signIn("robin", "a long night")
	v.open("/product/teapot")
	v.press("#add")
	for _, name := range []string{"microservice", "vigil", "shop"} {
		id, err := strconv.Atoi(s.logged(p, regexp.MustCompile(`kill -9 (\d+)   # `+name+`:`)))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(children(t, p), id) {
			t.Fatalf("%s is said to be %d, which is no child of the demo", name, id)
		}
		if err := syscall.Kill(id, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		s.logged(p, regexp.MustCompile(`(`+name+`) has ended: `))
		s.logged(p, regexp.MustCompile(`(`+name+`) is there again`))
		v.becomes("/", "#total-pages", true) // a reload
		v.want("#user", "robin")
		v.want("#cart-count", "1")
	}
	if err := p.Stop(patience); err != nil {
		t.Fatal(err)
	}
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
