package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// rdbOf is an RDB file of n strings, without a checksum.
func rdbOf(n int) []byte {
	b := []byte("REDIS0011\xfe\x00")
	for i := range n {
		b = append(b, 0, 12)
		b = fmt.Appendf(b, "key:%08d", i)
		b = append(b, 20)
		b = fmt.Appendf(b, "value:%014d", i)
	}
	return append(b, "\xff\x00\x00\x00\x00\x00\x00\x00\x00"...)
}

func wantReply(t *testing.T, c *client, call, want string) {
	t.Helper()
	if got := c.do(t, call); got != want {
		t.Errorf("%s: got %s, want %s", call, got, want)
	}
}

// stopServer ends a server in order.
func stopServer(t *testing.T, p *process) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	if err := p.wait(); err != nil {
		t.Errorf("%v\n%s", err, p.out)
	}
}

// oldStore makes a store with one key.
func oldStore(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	p := launch(t, "--dir", dir)
	c := dial(t, p)
	wantReply(t, c, "SET old value", "OK")
	stopServer(t, p)
	return dir
}

// holdsOld checks that a store has that key and no other, and is sound.
func holdsOld(t *testing.T, dir string) {
	t.Helper()
	p := launch(t, "--dir", dir)
	c := dial(t, p)
	wantReply(t, c, "GET old", "value")
	wantReply(t, c, "DBSIZE", "1")
	wantReply(t, c, "SET new value", "OK")
	stopServer(t, p)
	if status, out := tool(t, "--check", "--dir", dir); status != 0 || strings.Contains(out, "flushed databases") {
		t.Errorf("--check: status %d, %s", status, out)
	}
}

// kill -9 in the midst of an import leaves what the store had.
func TestKilledImportLeavesTheOldData(t *testing.T) {
	dir := oldStore(t)
	file := rdbOf(400_000)
	cmd := exec.Command(binary, "--import", "-", "--import-on-conflict", "replace-all", "--dir", dir, "--maxmemory", "32mb")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(file[:len(file)-100]); err != nil { // it has read nearly everything when this returns
		t.Error(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it ended by itself")
	}
	holdsOld(t, dir)
}

// A disk that is full ends an import with a reason, and leaves what the store had.
func TestFullDiskEndsAnImport(t *testing.T) {
	dir := oldStore(t)
	file := rdbOf(400_000)
	var out bytes.Buffer
	cmd := exec.Command(binary, "--import", "-", "--import-on-conflict", "replace-all", "--dir", dir, "--maxmemory", "32mb")
	cmd.Stdout, cmd.Stderr = &out, &out
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	half := len(file) / 2
	if _, err := in.Write(file[:half]); err != nil {
		t.Error(err)
	}
	fillDisk(t, &process{cmd: cmd}, true)
	_, _ = in.Write(file[half:]) // which fails once it has ended
	in.Close()
	err = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(out.String(), "nothing was changed") || !strings.Contains(out.String(), "file too large") {
		t.Errorf("%v: %s", err, out.String())
	}
	holdsOld(t, dir)
}

// What makes no sense has status 2, and a file that is none status 1.
func TestTransfersEndWithAStatus(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.rdb")
	if err := os.WriteFile(bad, []byte("REDIS0011\x63"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, calls := range map[int][]string{
		2: {"--import", "--import x --import-on-conflict maybe", "--import-only 0", "--import x --check", "--import x --export y --for redis7.0", "--export x",
			"--export x --for redis6", "--import x --import-until yesterday", "--import x --import-skip-unknown maybe"},
		1: {"--import " + bad, "--import " + dir + "/nosuch", "--import " + dir},
	} {
		for _, call := range calls {
			status, out := tool(t, append(strings.Fields(call), "--dir", filepath.Join(dir, "store"))...)
			if status != want && !(call == "--import" && status != 0) {
				t.Errorf("%s: status %d, want %d: %s", call, status, want, out)
			}
		}
	}
}
