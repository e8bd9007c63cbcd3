//go:build browser

package browser

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/examples/shop/internal/process"
)

// patience is how long anything may take on a machine that is busy with other things.
const patience = 45 * time.Second

var (
	screenshots = flag.String("screenshots", "", "folder for the screenshots; without it they are made and dropped")
	every       = flag.String("every", "", "folder for the pictures of each page at each width, by day and by night")
	bin         string          // the folder of the programs
	chromium    context.Context // the one browser, in which each visitor has a profile
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "shop-browser-")
	if err != nil {
		log.Print(err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	for _, b := range [][2]string{{"../../..", "./cmd/vigil-server"}, {"../../../cmd/vigil-session", "."}, {"..", "."}, {"..", "./demo"}} {
		if err := build(b[0], b[1]); err != nil {
			log.Print(err)
			return 1
		}
	}
	stop, err := startBrowser()
	if err != nil {
		log.Print(err)
		return 1
	}
	defer stop()
	return m.Run()
}

func build(module, pkg string) error {
	cmd := exec.Command("go", "build", "-o", bin+"/", pkg)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s in %s: %w\n%s", pkg, module, err, out)
	}
	return nil
}

// startBrowser starts the browser, and fails if there is none: a test that
// is not run has not passed.
func startBrowser() (stop func(), err error) {
	path := os.Getenv("CHROMIUM")
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if path == "" {
			path, _ = exec.LookPath(name)
		}
	}
	if path == "" {
		return nil, fmt.Errorf("no Chromium here: `make browser` installs Debian's, or set CHROMIUM to the path of one")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WSURLReadTimeout(patience))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it has no sandbox for root
	}
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stopBrowser := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	chromium = ctx
	return func() { stopBrowser(); stopAllocator() }, nil
}

// stage is the programs of one test. They end with it.
type stage struct {
	t       *testing.T
	dir     string
	vigil   *process.Process
	port    string // of vigil
	rdb     *redis.Client
	address string // of the shop
}

// newStage starts vigil, a microservice for each glob, and the shop.
func newStage(t *testing.T, globs ...string) *stage {
	t.Helper()
	s := &stage{t: t, dir: t.TempDir(), port: "auto"}
	s.startVigil()
	s.rdb = redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + s.port})
	t.Cleanup(func() { s.rdb.Close() })
	for _, g := range globs {
		s.startMicroservice(g)
	}
	// Answers that a busy machine makes late are not what is tested.
	shop := s.start("shop", "-addr", "127.0.0.1:"+s.port, "-listen", "127.0.0.1:0", "-budget", "10s")
	s.address = s.logged(shop, regexp.MustCompile(`address=(http://\S+)`))
	return s
}

// start starts a program, which is killed when the test ends.
func (s *stage) start(name string, args ...string) *process.Process {
	s.t.Helper()
	f, err := os.CreateTemp(s.dir, name+"-*.log")
	if err != nil {
		s.t.Fatal(err)
	}
	f.Close()
	p, err := process.Start(name, f.Name(), filepath.Join(bin, name), args...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		p.Kill()
		if s.t.Failed() {
			s.t.Logf("%s wrote last:\n%s", name, p.Tail(15))
		}
	})
	return p
}

// startVigil starts vigil on the stage's port and data. A reply means that the write
// is on the device, so that kill -9 is allowed to lose nothing.
func (s *stage) startVigil() {
	s.t.Helper()
	dir := filepath.Join(s.dir, "vigil")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	s.vigil = s.start("vigil-server", "--port", s.port, "--bind", "127.0.0.1", "--dir", dir, "--appendfsync", "always")
	s.port = s.logged(s.vigil, regexp.MustCompile(`listening on 127\.0\.0\.1:(\d+)`))
	s.logged(s.vigil, regexp.MustCompile(`(Ready) to accept connections`))
}

// startMicroservice returns when the microservice hears of its sessions.
func (s *stage) startMicroservice(glob string) *process.Process {
	s.t.Helper()
	before := s.patterns()
	p := s.start("vigil-session", "--addr", "127.0.0.1:"+s.port, "--session-glob", glob, "--config", s.patient())
	s.eventually("the microservice subscribes to five patterns", func() bool { return s.patterns() >= before+5 })
	return p
}

// patient is the path of a configuration with a budget for machines that are busy.
func (s *stage) patient() string {
	s.t.Helper()
	path := filepath.Join(s.dir, "session.toml")
	if err := os.WriteFile(path, []byte("budget = \"10s\"\nanswer_ttl = \"20s\"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func (s *stage) patterns() int64 {
	s.t.Helper()
	n, err := s.rdb.PubSubNumPat(s.t.Context()).Result()
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// logged waits for a line of a program, and returns what the pattern's group is there.
func (s *stage) logged(p *process.Process, pattern *regexp.Regexp) string {
	s.t.Helper()
	var found string
	s.eventually(fmt.Sprintf("%s logs %s", p.Name, pattern), func() bool {
		select {
		case <-p.Done():
			s.t.Fatalf("%s has ended:\n%s", p.Name, p.Tail(15))
		default:
		}
		if m := pattern.FindStringSubmatch(p.Tail(100)); m != nil {
			found = m[1]
		}
		return found != ""
	})
	return found
}

// eventually waits for another process to make something true.
func (s *stage) eventually(what string, holds func() bool) {
	s.t.Helper()
	late, again := time.NewTimer(patience), time.NewTicker(10*time.Millisecond)
	defer late.Stop()
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-late.C:
			s.t.Fatalf("not within %s: %s", patience, what)
		}
	}
}
