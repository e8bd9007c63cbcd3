package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// status is a line of /proc/PID/status, in bytes.
func (p *process) status(t *testing.T, name string) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), name+":")
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

func TestProcessFollowsMaxmemory(t *testing.T) {
	const maxMemory, data, size = 32 << 20, 150 << 20, 4000
	p := launch(t, "--dir", t.TempDir(), "--maxmemory", strconv.Itoa(maxMemory))
	setRandom(t, patient(t, p), data, size)
	// Some time later it is 1.5 x maxmemory + 64 MB; this is under load, on a machine
	// that may have little to spare.
	peak, bound := p.status(t, "VmHWM"), int64(3*maxMemory+128<<20)
	t.Logf("%d MB, %d MB at most", p.status(t, "VmRSS")>>20, peak>>20)
	if peak > bound {
		t.Errorf("the process took %d MB with %d MB of data and a maxmemory of %d MB, want at most %d MB",
			peak>>20, data>>20, maxMemory>>20, bound>>20)
	}
}
