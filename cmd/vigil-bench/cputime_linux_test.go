package main

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"testing"
	"time"
)

// started runs a script of the shell, and returns what it reads and prints.
func started(t *testing.T, script string) (cmd *exec.Cmd, in io.WriteCloser, out io.Reader) {
	t.Helper()
	cmd = exec.Command("sh", "-c", script)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, in, out
}

// The time is that of the other process, in less than the ticks of /proc.
func TestProcessorTimeOfAProcess(t *testing.T) {
	cmd, in, out := started(t, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done; read end")
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	took := cpuTime(cmd.Process.Pid)
	in.Close()
	cmd.Wait()
	all := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if took <= 0 || took%(10*time.Millisecond) == 0 || took > all+50*time.Millisecond {
		t.Errorf("%v, of %v in all", took, all)
	}
	if took := cpuTime(cmd.Process.Pid); took != 0 {
		t.Errorf("%v of a process that has ended", took)
	}
}

// Children that have ended count.
func TestProcessorTimeOfChildren(t *testing.T) {
	cmd, in, out := started(t, `read begin; sh -c 'i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done'; echo done; read end`)
	if took := childrenTime(cmd.Process.Pid); took != 0 {
		t.Errorf("%v before there is a child", took)
	}
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	took := childrenTime(cmd.Process.Pid)
	in.Close()
	cmd.Wait()
	if all := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); took <= 0 || took > all+50*time.Millisecond {
		t.Errorf("%v, of %v in all", took, all)
	}
}
