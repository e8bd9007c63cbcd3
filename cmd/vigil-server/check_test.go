package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

var damageRounds = flag.Int("damage.rounds", 12, "how many bits of a killed server's files are flipped, one a start")

// killedStore runs a server under appendfsync always, writes n keys and kills it.
func killedStore(t *testing.T, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	p := launch(t, "--dir", dir, "--appendfsync", "always")
	c := dial(t, p)
	for i := range n {
		c.do(t, fmt.Sprintf("SET k%d %s", i, killedValue(i)))
	}
	p.signal(t, syscall.SIGKILL)
	p.wait()
	return dir
}

func killedValue(i int) string { return fmt.Sprintf("%d-%s", i, strings.Repeat("v", 100)) }

// tool runs the binary to its end.
func tool(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	var b bytes.Buffer
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = &b, &b
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), b.String()
}

// files are the paths of the regular files in dir that are not empty.
func files(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func flipBit(t *testing.T, path string, r *rand.Rand) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// What is not written yet of a file may have any bytes.
	b[r.IntN(max(1, len(bytes.TrimRight(b, "\x00"))))] ^= 1 << r.IntN(8)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFlippedBitsAfterAKillAreNoticed starts a killed server with one flipped bit:
// it refuses, with the name of the file and status 1, or has every key.
func TestFlippedBitsAfterAKillAreNoticed(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	const n = 300
	killed := killedStore(t, n)
	refused := map[string]int{}
	for range *damageRounds {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(killed)); err != nil {
			t.Fatal(err)
		}
		all := files(t, dir)
		path := all[r.IntN(len(all))]
		flipBit(t, path, r)
		name := filepath.Base(path)
		status, out := tool(t, "--check", "--dir", dir)
		if sound := strings.HasSuffix(out, "\nsound\n"); sound != (status == 0) || status > 1 {
			t.Fatalf("check: status %d\n%s", status, out)
		}
		p, text := tryLaunch(t, "--dir", dir)
		if p == nil {
			refused[name]++
			if !strings.Contains(text, name) || status == 0 {
				t.Errorf("%s: the check has status %d, and the start says %s", name, status, text)
			}
			continue
		}
		c := dial(t, p)
		for i := range n {
			if got := c.do(t, fmt.Sprintf("GET k%d", i)); got != killedValue(i) {
				t.Fatalf("%s: k%d is %q after an ordinary start", name, i, got)
			}
		}
		p.signal(t, syscall.SIGKILL)
		p.wait()
	}
	t.Logf("%d rounds, refused: %v", *damageRounds, refused)
}

// tryLaunch starts a server that may refuse to.
func tryLaunch(t *testing.T, args ...string) (p *process, out string) {
	t.Helper()
	p = start(t, args...)
	select {
	case p.addr = <-p.ready:
	case <-time.After(30 * time.Second):
		t.Fatal("the server neither got ready nor ended within 30 s")
	}
	if p.addr != "" {
		return p, ""
	}
	var exit *exec.ExitError
	if err := p.wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("exit of a start that failed: %v", err)
	}
	return nil, p.out.String()
}

func TestRecoverTruncateGoesOnAndSaysWhatIsLost(t *testing.T) {
	dir := killedStore(t, 300)
	var log string
	for _, f := range files(t, dir) {
		if filepath.Base(filepath.Dir(f)) == "log" {
			log = max(log, f)
		}
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	b[len(bytes.TrimRight(b, "\x00"))/2] ^= 1 // in what is written
	if err := os.WriteFile(log, b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, text := tryLaunch(t, "--dir", dir)
	if !strings.Contains(text, "--recover truncate") || !strings.Contains(text, filepath.Base(log)+" is damaged at offset") {
		t.Errorf("refusal: %s", text)
	}
	if status, out := tool(t, "--recover", "guess", "--dir", dir); status != 1 {
		t.Errorf("--recover guess: %d, %s", status, out)
	}
	p := launch(t, "--recover", "truncate", "--dir", dir)
	n := dial(t, p).do(t, "DBSIZE")
	if n == "0" || n == "300" {
		t.Errorf("%s keys are left", n)
	}
	p.signal(t, syscall.SIGTERM)
	if err := p.wait(); err != nil {
		t.Errorf("end: %v", err)
	}
	if out := p.out.String(); !strings.Contains(out, "lost: records") || !strings.Contains(out, "damaged-") {
		t.Errorf("log of the recovery:\n%s", out)
	}
	p = launch(t, "--dir", dir)
	if got := dial(t, p).do(t, "DBSIZE"); got != n {
		t.Errorf("%s keys after the next start, want %s", got, n)
	}
}

func TestSnapshotIsCheckedAndRestored(t *testing.T) {
	dir := t.TempDir()
	p := launch(t, "--dir", dir)
	c := dial(t, p)
	for i := range 100 {
		c.do(t, fmt.Sprintf("RPUSH l%d %s", i%10, killedValue(i)))
	}
	c.do(t, "SAVE")
	c.do(t, "FLUSHALL")
	if status, out := tool(t, "--check", "--dir", dir); status != 2 || !strings.Contains(out, "in use") {
		t.Errorf("check of a store in use: %d, %s", status, out)
	}
	snapshots, err := filepath.Glob(filepath.Join(dir, "snapshots", "*"))
	if err != nil || len(snapshots) != 1 {
		t.Fatalf("snapshots: %v, %v", snapshots, err)
	}
	if status, out := tool(t, "--check", "--dir", snapshots[0]); status != 0 {
		t.Errorf("check of the snapshot: %d, %s", status, out)
	}
	if status, out := tool(t, "--restore", snapshots[0], "--dir", dir); status != 2 || !strings.Contains(out, "not empty") {
		t.Errorf("restore over a store: %d, %s", status, out)
	}
	restored := filepath.Join(t.TempDir(), "new")
	if status, out := tool(t, "--restore", snapshots[0], "--dir", restored); status != 0 {
		t.Fatalf("restore: %d, %s", status, out)
	}
	p = launch(t, "--dir", restored)
	c = dial(t, p)
	for i := range 10 {
		if got := c.do(t, fmt.Sprintf("LLEN l%d", i)); got != "10" {
			t.Errorf("l%d has %s elements, want 10", i, got)
		}
	}
	if status, out := tool(t, "--check", "--dir", t.TempDir()); status != 2 || !strings.Contains(out, "no store") {
		t.Errorf("check of an empty directory: %d, %s", status, out)
	}
}
