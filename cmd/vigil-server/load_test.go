package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fill writes n keys and kills the server, so that the next start has them all to
// load.
func fill(t *testing.T, dir string, n int) {
	t.Helper()
	p := launch(t, "--dir", dir)
	c := dial(t, p)
	w := bufio.NewWriter(c.nc)
	go func() {
		for i := range n {
			fmt.Fprintf(w, "SET key:%d %d\r\n", i, i)
		}
		w.Flush()
	}()
	for range n {
		if got, err := c.reply(); got != "OK" {
			t.Fatalf("SET: %s, %v", got, err)
		}
	}
	if got := c.do(t, "WAITAOF 1 0 0"); got != "[1 0]" {
		t.Fatalf("WAITAOF: %s", got)
	}
	p.signal(t, syscall.SIGKILL)
	p.wait()
}

func TestSignalWhileLoadingEndsTheServerAndLosesNothing(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 100_000)
	for range 3 {
		cmd := exec.Command(binary, "--port", "auto", "--dir", dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for lines.Scan() && !strings.Contains(lines.Text(), "listening on") {
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		var rest bytes.Buffer
		for lines.Scan() {
			fmt.Fprintln(&rest, lines.Text())
		}
		if err := cmd.Wait(); err != nil {
			t.Fatalf("exit after SIGTERM: %v\n%s", err, &rest)
		}
	}
	p := launch(t, "--dir", dir)
	if got := dial(t, p).do(t, "DBSIZE"); got != "100000" {
		t.Errorf("DBSIZE: got %s, want 100000", got)
	}
}

func TestStoreThatCannotBeLoadedEndsTheServerWithItsName(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 100_000)
	p := launch(t, "--dir", dir)
	p.signal(t, syscall.SIGTERM)
	p.wait()
	damaged := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Base(filepath.Dir(path)) != "log" {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil && len(b) > 10000 {
			b[len(bytes.TrimRight(b, "\x00"))/2] ^= 1 // in what is written
			damaged++
			err = os.WriteFile(path, b, 0o644)
		}
		return err
	})
	if err != nil || damaged == 0 {
		t.Fatalf("damaged %d files: %v", damaged, err)
	}
	out, err := exec.Command(binary, "--port", "auto", "--dir", dir).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !bytes.Contains(out, []byte("vigil-server: open store "+dir)) {
		t.Errorf("start on a damaged store: %v\n%s", err, out)
	}
}

// TestPortsOpenWithTheData: a program that starts an empty server, and uses it as soon as
// it can connect, gets no -LOADING. On a busy machine the server may have lost its
// patience, but not each time.
func TestPortsOpenWithTheData(t *testing.T) {
	var out string
	for range 10 {
		p := launch(t, "--dir", t.TempDir())
		p.signal(t, syscall.SIGTERM)
		p.wait()
		out = p.out.String()
		loaded, listens := strings.Index(out, "DB loaded from disk"), strings.Index(out, "listening on")
		if loaded >= 0 && loaded < listens {
			return
		}
	}
	t.Errorf("clients could connect before the data was there:\n%s", out)
}
