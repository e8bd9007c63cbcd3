package main

import (
	"bufio"
	"os/exec"
	"testing"
	"time"
)

// The time is that of the other process, in less than the ticks of /proc.
func TestProcessorTimeOfAProcess(t *testing.T) {
	cmd := exec.Command("sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done; read end")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
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
	cmd := exec.Command("sh", "-c", `read begin; sh -c 'i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done'; echo done; read end`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
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
