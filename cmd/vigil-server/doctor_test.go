package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/vigildb/vigil/server/conf"
)

// labDisk is a disk as a test wants it.
type labDisk struct {
	free, total uint64
	each        time.Duration
	err         error
}

func (d labDisk) room(string) (free, total uint64) { return d.free, d.total }

func (d labDisk) sync(string) ([]time.Duration, error) {
	if d.err != nil {
		return nil, d.err
	}
	return []time.Duration{9 * d.each, d.each, d.each / 2, 2 * d.each, d.each}, nil
}

// healthy is a machine with nothing to complain about.
func healthy() map[string]string {
	return map[string]string{
		"proc/self/limits":                           "Limit  Soft Limit  Hard Limit  Units\nMax file size   unlimited   unlimited   bytes\nMax open files   1024   65536   files\n",
		"proc/meminfo":                               "MemTotal:       16777216 kB\nCommitLimit:    16777216 kB\nCommitted_AS:    1048576 kB\n",
		"proc/self/mountinfo":                        "30 20 0:26 / / rw - ext4 /dev/a rw\n31 30 0:27 / /proc rw - proc proc rw\n",
		"proc/sys/vm/overcommit_memory":              "0\n",
		"proc/sys/net/core/somaxconn":                "4096\n",
		"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
		"sys/devices/system/clocksource/clocksource0/current_clocksource":   "tsc\n",
		"sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm\n",
	}
}

// visit runs the doctor on a machine.
func visit(t *testing.T, files map[string]string, clock clockState, disk labDisk, args ...string) (said string, worst verdict) {
	t.Helper()
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	config, err := conf.Load(append([]string{"--dir", t.TempDir()}, args...), nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	d := &doctor{root: root, set: config.Settings(), clock: func() clockState { return clock }, disk: disk, out: &out}
	d.look()
	return out.String(), d.worst
}

var roomy = labDisk{free: 50 << 30, total: 100 << 30, each: time.Millisecond}

func TestDoctorHasNothingToSayOfAGoodMachine(t *testing.T) {
	said, worst := visit(t, healthy(), clockKept, roomy)
	if worst != fine || strings.Count(said, "\n") != 10 || regexp.MustCompile(`(?m)^(warn|bad)`).MatchString(said) {
		t.Errorf("verdict %d:\n%s", worst, said)
	}
	if said, worst := visit(t, nil, clockUnknown, labDisk{each: time.Millisecond}); worst != fine || strings.Count(said, "\n") != 1 {
		t.Errorf("where nothing is known: %d:\n%s", worst, said)
	}
}

func TestDoctorSaysWhatIsWrongAndWhatToChange(t *testing.T) {
	limits := func(line string) map[string]string { return map[string]string{"proc/self/limits": line} }
	for _, x := range []struct {
		name  string
		files map[string]string // in place of those of a healthy machine
		clock clockState
		disk  labDisk
		args  []string
		worst verdict
		says  string
	}{
		{"few files", limits("Max open files   100   4096   files\n"), clockKept, roomy, nil, doubt, "warn  open files: 4096 are enough for 3064 clients only; for maxclients 10000 allow 11032"},
		{"enough for fewer clients", limits("Max open files   100   4096   files\n"), clockKept, roomy, []string{"--maxclients", "3064"}, fine, "ok    open files: 4096, maxclients 3064 needs 4096"},
		{"no files", limits("Max open files   40   40   files\n"), clockKept, roomy, nil, broken, "bad   open files: 40 are too few to start"},
		{"small files", limits("Max open files 65536 65536 files\nMax file size   1000   5000000   bytes\n"), clockKept, roomy, nil, doubt, "warn  size of files: limited to 5000000 bytes"},
		{"a cgroup", map[string]string{"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 none rw\n", "sys/fs/cgroup/a/memory.max": "1073741824\n"},
			clockKept, roomy, []string{"--maxmemory", "1gb"}, broken, "bad   memory: the process takes up to 1600 MB, and the cgroup /sys/fs/cgroup/a has 1024 MB; set maxmemory to 640 MB"},
		{"a cgroup that fits", map[string]string{"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 none rw\n", "sys/fs/cgroup/a/memory.max": "1073741824\n"},
			clockKept, roomy, []string{"--maxmemory", "600mb"}, fine, "ok    memory: the cgroup /sys/fs/cgroup/a has 1024 MB"},
		{"no bound", nil, clockKept, roomy, []string{"--maxmemory-policy", "noeviction"}, doubt, "warn  memory: maxmemory is 0, and with maxmemory-policy noeviction nothing bounds the data"},
		{"nothing on disk", nil, clockKept, roomy, []string{"--save", "", "--appendonly", "no"}, doubt, "warn  memory: nothing is kept on disk and maxmemory is 0"},
		{"promises", map[string]string{"proc/sys/vm/overcommit_memory": "2", "proc/meminfo": "MemTotal: 16777216 kB\nCommitLimit: 8388608 kB\nCommitted_AS: 1048576 kB\n"},
			clockKept, roomy, nil, broken, "bad   overcommit: vm.overcommit_memory is 2 and 7168 MB are left"},
		{"promises that can be kept", map[string]string{"proc/sys/vm/overcommit_memory": "2"}, clockKept, roomy, []string{"--maxmemory", "1gb"}, fine, "ok    overcommit: vm.overcommit_memory is 2, and 15360 MB are left"},
		{"huge pages", map[string]string{"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n"}, clockKept, roomy, nil, doubt, "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled"},
		{"a short queue", map[string]string{"proc/sys/net/core/somaxconn": "128\n"}, clockKept, roomy, nil, doubt, "sysctl net.core.somaxconn=511"},
		{"a slow clock", map[string]string{"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n"}, clockKept, roomy, nil, doubt, `warn  clock: the source is hpet, each look at which is a call to the system; of "tsc hpet acpi_pm"`},
		{"a clock that nobody keeps", nil, clockFree, roomy, nil, doubt, "warn  time: nothing keeps the clock right"},
		{"in memory", map[string]string{"proc/self/mountinfo": "30 20 0:26 / / rw - ext4 /dev/a rw\n31 30 0:27 / /tmp rw - tmpfs t rw\n32 30 0:28 / " + os.TempDir() + " rw - tmpfs t rw\n"},
			clockKept, roomy, nil, doubt, "is on tmpfs, which is in memory"},
		{"a container", map[string]string{"proc/self/mountinfo": "30 20 0:26 / / rw - overlay o rw\n"}, clockKept, roomy, nil, doubt, "mount a volume there"},
		{"a full disk", nil, clockKept, labDisk{free: 100 << 20, total: 100 << 30, each: time.Millisecond}, nil, broken, "bad   room: 100 MB of 102400 MB are free"},
		{"an almost full disk", nil, clockKept, labDisk{free: 4 << 30, total: 100 << 30, each: time.Millisecond}, nil, doubt, "warn  room: 4096 MB of 102400 MB"},
		{"a slow disk", nil, clockKept, labDisk{free: 50 << 30, total: 100 << 30, each: 20 * time.Millisecond}, []string{"--appendfsync", "always"}, doubt, "warn  syncs: 4 KiB take 20.00 ms"},
		{"a slow disk that nobody waits for", nil, clockKept, labDisk{free: 50 << 30, total: 100 << 30, each: 20 * time.Millisecond}, nil, fine, "180.0 ms at most of 5"},
		{"a very slow disk", nil, clockKept, labDisk{free: 50 << 30, total: 100 << 30, each: 200 * time.Millisecond}, nil, broken, "bad   syncs: 4 KiB take 200.00 ms"},
		{"a disk that fails", nil, clockKept, labDisk{err: errors.New("input/output error")}, nil, broken, "bad   syncs: input/output error"},
	} {
		files := healthy()
		for name, text := range x.files {
			files[name] = text
		}
		if said, worst := visit(t, files, x.clock, x.disk, x.args...); worst != x.worst || !strings.Contains(said, x.says) {
			t.Errorf("%s: verdict %d, want %d, and %q in:\n%s", x.name, worst, x.worst, x.says, said)
		}
	}
}

// TestDoctorAsAProgram asks the binary, and sees that it leaves nothing behind and starts nothing.
func TestDoctorAsAProgram(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "v.conf")
	if err := os.WriteFile(file, []byte("dir "+dir+"\nmaxmemory 1000gb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(binary, "--doctor", file).CombinedOutput()
	var status *exec.ExitError
	if !errors.As(err, &status) || status.ExitCode() != int(broken) || !strings.Contains(string(out), "bad   memory: ") || !strings.Contains(string(out), "syncs: 4 KiB take ") {
		t.Errorf("%v:\n%s", err, out)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
	for _, args := range [][]string{{"--doctor", "--ping"}, {"--doctor", "--check"}, {"--ping", "--recover", "alone"}, {"--doctor", "--no-such", "1"}} {
		if out, err := exec.Command(binary, args...).CombinedOutput(); err == nil {
			t.Errorf("%q is accepted:\n%s", args, out)
		}
	}
}
