package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAuditLogIsOpenedAgainAtSIGHUPAndIsWholeAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "audit.log")
	p := launch(t, "--dir", dir, "--audit-log-file", file)
	c := dial(t, p)
	holds := func(path, want string) func() bool {
		return func() bool {
			text, _ := os.ReadFile(path)
			return strings.Contains(string(text), want)
		}
	}
	c.do(t, "CONFIG SET timeout 100")
	await(t, holds(file, `"call":"\"CONFIG\" \"SET\" \"timeout\" \"100\"","result":"OK"}`))
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	p.cmd.Process.Signal(syscall.SIGHUP)
	await(t, func() bool { _, err := os.Stat(file); return err == nil })
	if got := c.do(t, "CONFIG SET audit-log-file x"); !strings.Contains(got, "immutable") {
		t.Errorf("a client may turn it off: %s", got)
	}
	c.send("SHUTDOWN")
	<-p.done
	p.done <- nil
	if !holds(file, "immutable")() || !holds(file, `"call":"\"SHUTDOWN\""`)() || holds(file+".1", "SHUTDOWN")() {
		text, _ := os.ReadFile(file)
		t.Errorf("the new file has %s", text)
	}
	if out, err := exec.Command(binary, "--dir", dir, "--port", "auto", "--audit-log-file", filepath.Join(dir, "none", "x")).CombinedOutput(); err == nil || !strings.Contains(string(out), "open the audit log") {
		t.Errorf("without its audit log it starts: %v:\n%s", err, out)
	}
}

func TestAuditLogWithoutAFileIsInTheLogAtAnyLevel(t *testing.T) {
	p := launch(t, "--dir", t.TempDir(), "--audit-log", "yes")
	c := dial(t, p)
	c.do(t, "CONFIG SET loglevel warning")
	c.do(t, "FLUSHALL")
	if !p.out.wait(`# audit {"time":`) || !p.out.wait(`"call":"\"FLUSHALL\"","result":"OK"}`) {
		t.Errorf("the log:\n%s", p.out)
	}
}
