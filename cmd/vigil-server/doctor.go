package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/conf"
)

// verdict is what the doctor thinks of one thing, and the exit status if nothing is worse.
type verdict int

const (
	fine   verdict = iota
	doubt          // it works, and something is worse than it need be
	broken         // it does not work, or not for long
)

var verdictWords = [...]string{fine: "ok", doubt: "warn", broken: "bad"}

// doctor looks at what a server with some configuration would find on this machine. It changes nothing but a file of 4 KiB in
// the data directory, which it removes.
type doctor struct {
	root  fs.FS // the root of the file system; the doctor reads /proc and /sys
	set   *conf.Settings
	clock func() clockState
	disk  diskProbe
	out   io.Writer
	worst verdict
}

// clockState says whether something keeps the clock of the machine right.
type clockState int

const (
	clockUnknown clockState = iota // the system does not tell
	clockKept
	clockFree
)

// diskProbe is what the doctor asks the disk of the data directory.
type diskProbe interface {
	// room is how many bytes are free for this user, and how many there are; 0 if it is not known.
	room(dir string) (free, total uint64)
	// sync writes a block and waits for the device, some times, and returns how long each took.
	sync(dir string) ([]time.Duration, error)
}

// examine is --doctor: the findings on w, one a line, and the worst as exit status.
func examine(set *conf.Settings, w io.Writer) error {
	d := &doctor{root: os.DirFS("/"), set: set, clock: machineClock, disk: machineDisk{}, out: w}
	d.look()
	if d.worst == fine {
		return nil
	}
	return &exitStatus{code: int(d.worst)}
}

func (d *doctor) look() {
	d.files()
	d.memory()
	d.overcommit()
	d.hugePages()
	d.backlog()
	d.clockSource()
	d.clockKept()
	d.directory()
}

// say reports one finding.
func (d *doctor) say(v verdict, format string, args ...any) {
	d.worst = max(d.worst, v)
	fmt.Fprintf(d.out, "%-4s  %s\n", verdictWords[v], fmt.Sprintf(format, args...))
}

// read returns the text of a file of /proc or /sys without blanks around it, "" if it is not there.
func (d *doctor) read(name string) string {
	b, _ := fs.ReadFile(d.root, name)
	return strings.TrimSpace(string(b))
}

// limit returns a limit of the process, the one that it may raise the other to: Go does so at the start.
func (d *doctor) limit(name string) (limit uint64, known bool) {
	for line := range strings.Lines(d.read("proc/self/limits")) {
		rest, ok := strings.CutPrefix(line, name)
		words := strings.Fields(rest)
		if !ok || len(words) < 2 {
			continue
		}
		if words[1] == "unlimited" {
			return math.MaxUint64, true
		}
		n, err := strconv.ParseUint(words[1], 10, 64)
		return n, err == nil
	}
	return 0, false
}

func (d *doctor) files() {
	limit, known := d.limit("Max open files")
	clients := int64(d.set.MaxClients)
	need := server.FilesFor(clients)
	switch {
	case !known:
	case server.ClientsFor(limit) < 1:
		d.say(broken, "open files: %d are too few to start; for maxclients %d allow %d (ulimit -n, LimitNOFILE= of the unit)", limit, clients, need)
	case limit < need:
		d.say(doubt, "open files: %d are enough for %d clients only; for maxclients %d allow %d (ulimit -n, LimitNOFILE= of the unit)",
			limit, server.ClientsFor(limit), clients, need)
	default:
		d.say(fine, "open files: %d, maxclients %d needs %d", limit, clients, need)
	}
	if size, known := d.limit("Max file size"); known && size != math.MaxUint64 {
		d.say(doubt, "size of files: limited to %d bytes, which bounds arguments and values; remove the limit (ulimit -f unlimited, LimitFSIZE=infinity)", size)
	}
}

// memory compares what the process takes with what it may have.
func (d *doctor) memory() {
	l := findMemoryLimit(d.root)
	derived := derivedMaxMemory(d.set, l)
	need := loadedBudget(cmp.Or(d.set.MaxMemory, derived))
	switch {
	case l.bytes == 0:
	case d.set.ThrowAway && d.set.MaxMemory == 0:
		d.say(doubt, "memory: nothing is kept on disk and maxmemory is 0, so data grows until %s kills the process; set maxmemory to %s", l.of, megabytes(l.derive()))
	case need > l.bytes:
		d.say(broken, "memory: the process takes up to %s, and %s has %s; set maxmemory to %s or less, or allow it more", megabytes(need), l.of, megabytes(l.bytes),
			megabytes(l.derive()))
	case d.set.MaxMemory == 0 && d.set.MaxMemoryPolicy != conf.Spill:
		d.say(doubt, "memory: maxmemory is 0, and with maxmemory-policy %s nothing bounds the data; set maxmemory to %s, as %s has %s", d.set.MaxMemoryPolicy,
			megabytes(derived), l.of, megabytes(l.bytes))
	case d.set.MaxMemory == 0:
		d.say(fine, "memory: %s has %s; values move to disk beyond %s", l.of, megabytes(l.bytes), megabytes(derived))
	default:
		d.say(fine, "memory: %s has %s, the process takes up to %s", l.of, megabytes(l.bytes), megabytes(need))
	}
}

// overcommit: vigil does not fork, so it needs no more than it uses. Only where the system counts what was promised can that
// fail before memory is short.
func (d *doctor) overcommit() {
	switch mode := d.read("proc/sys/vm/overcommit_memory"); mode {
	case "":
	case "2":
		meminfo := d.read("proc/meminfo")
		left := meminfoBytes(meminfo, "CommitLimit:") - meminfoBytes(meminfo, "Committed_AS:")
		l := findMemoryLimit(d.root)
		need := loadedBudget(cmp.Or(d.set.MaxMemory, l.derive()))
		if left < need {
			d.say(broken, "overcommit: vm.overcommit_memory is 2 and %s are left to promise, the process takes up to %s; set it to 0 (sysctl), or raise vm.overcommit_ratio",
				megabytes(max(left, 0)), megabytes(need))
			return
		}
		d.say(fine, "overcommit: vm.overcommit_memory is 2, and %s are left to promise", megabytes(left))
	default:
		d.say(fine, "overcommit: vm.overcommit_memory is %s; vigil does not fork, 0 and 1 are both right", mode)
	}
}

func meminfoBytes(meminfo, name string) int64 {
	_, rest, _ := strings.Cut(meminfo, name)
	words := strings.Fields(rest)
	if len(words) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(words[0], 10, 64)
	return kib << 10
}

func (d *doctor) hugePages() {
	enabled := d.read("sys/kernel/mm/transparent_hugepage/enabled")
	switch {
	case enabled == "":
	case strings.Contains(enabled, "[always]"):
		d.say(doubt, "transparent huge pages: always, so memory that was returned page by page may stay; echo madvise >/sys/kernel/mm/transparent_hugepage/enabled")
	default:
		d.say(fine, "transparent huge pages: %s", enabled)
	}
}

func (d *doctor) backlog() {
	most, err := strconv.Atoi(d.read("proc/sys/net/core/somaxconn"))
	switch {
	case err != nil:
	case most < d.set.TCPBacklog:
		d.say(doubt, "backlog: net.core.somaxconn is %d, and tcp-backlog %d; sysctl net.core.somaxconn=%d, or a crowd that connects at once waits a second", most,
			d.set.TCPBacklog, d.set.TCPBacklog)
	default:
		d.say(fine, "backlog: net.core.somaxconn is %d, tcp-backlog %d", most, d.set.TCPBacklog)
	}
}

// slowClocks need a call to the system for each look at them, and the server looks several times for each round of an event loop.
var slowClocks = []string{"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit", "xen"}

func (d *doctor) clockSource() {
	const folder = "sys/devices/system/clocksource/clocksource0/"
	current := d.read(folder + "current_clocksource")
	switch {
	case current == "":
	case slices.Contains(slowClocks, current):
		d.say(doubt, "clock: the source is %s, each look at which is a call to the system; of %q take tsc or kvm-clock if it is there (clocksource= of the kernel)",
			current, d.read(folder+"available_clocksource"))
	default:
		d.say(fine, "clock: the source is %s", current)
	}
}

func (d *doctor) clockKept() {
	switch d.clock() {
	case clockFree:
		d.say(doubt, "time: nothing keeps the clock right, and keys expire by it; run chrony or systemd-timesyncd")
	case clockKept:
		d.say(fine, "time: the clock is kept by NTP")
	}
}

// directory looks at where the data is to be.
func (d *doctor) directory() {
	dir, err := filepath.Abs(d.set.Dir)
	if err != nil {
		d.say(broken, "data: %v", err)
		return
	}
	if d.set.ThrowAway {
		d.say(fine, "data: nothing is kept on disk")
		return
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no directory")
	}
	if err != nil {
		d.say(broken, "data: %s: %v; make it, or set dir", dir, err)
		return
	}
	d.fileSystem(dir)
	d.room(dir)
	d.speed(dir)
}

// fileSystems that lose data with the machine or the container, or that keep less than they promise.
var fileSystems = map[string]string{
	"tmpfs": "which is in memory: the data is lost with the machine; set dir to a disk", "ramfs": "which is in memory: the data is lost with the machine; set dir to a disk",
	"overlay": "that of a container: the data is lost with it; mount a volume there", "aufs": "that of a container: the data is lost with it; mount a volume there",
	"nfs": "where a lock or a sync may hang with the network; set dir to a disk of this machine", "nfs4": "where a lock or a sync may hang with the network; set dir to a disk of this machine",
	"cifs": "where a lock or a sync may hang with the network; set dir to a disk of this machine", "9p": "whose syncs promise little; set dir to a disk of this machine",
}

func (d *doctor) fileSystem(dir string) {
	var kind string
	longest := -1
	for line := range strings.Lines(d.read("proc/self/mountinfo")) {
		before, after, _ := strings.Cut(line, " - ")
		mount, system := strings.Fields(before), strings.Fields(after)
		if len(mount) < 5 || len(system) < 1 {
			continue
		}
		at := unescape(mount[4])
		if within(dir, at) && len(at) >= longest { // a later mount at the same place hides the earlier
			longest, kind = len(at), system[0]
		}
	}
	switch why := fileSystems[kind]; {
	case kind == "":
	case why != "":
		d.say(doubt, "file system: %s is on %s, %s", dir, kind, why)
	default:
		d.say(fine, "file system: %s is on %s", dir, kind)
	}
}

// within reports whether a path is a directory or below it.
func within(name, dir string) bool {
	rest, ok := strings.CutPrefix(path.Clean(filepath.ToSlash(name)), strings.TrimSuffix(dir, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

const (
	// leastRoom is what a server needs to be useful: its reserve, and some of its log.
	leastRoom = 256 << 20
	// tightPart is which part of the disk is to be free: the server warns of a fuller one.
	tightPart = 20
	// slowSync and verySlowSync are when the usual sync is worth a word: with appendfsync always each write waits for one.
	slowSync, verySlowSync = 10 * time.Millisecond, 100 * time.Millisecond
)

func (d *doctor) room(dir string) {
	free, total := d.disk.room(dir)
	switch {
	case total == 0:
	case free < leastRoom:
		d.say(broken, "room: %s of %s are free in %s; make room, a full disk takes no writes", megabytes(int64(free)), megabytes(int64(total)), dir)
	case free < total/tightPart:
		d.say(doubt, "room: %s of %s are free in %s, less than a %dth; make room, a full disk takes no writes", megabytes(int64(free)), megabytes(int64(total)), dir, tightPart)
	default:
		d.say(fine, "room: %s of %s are free in %s", megabytes(int64(free)), megabytes(int64(total)), dir)
	}
}

func (d *doctor) speed(dir string) {
	times, err := d.disk.sync(dir)
	if err != nil {
		d.say(broken, "syncs: %v; the server has to be able to write there", err)
		return
	}
	slices.Sort(times)
	usual, most := times[len(times)/2], times[len(times)-1]
	text := fmt.Sprintf("syncs: 4 KiB take %.2f ms in %s, %.1f ms at most of %d", ms(usual), dir, ms(most), len(times))
	v := fine
	switch {
	case usual >= verySlowSync:
		v, text = broken, text+"; with appendfsync always each write waits for that, and a server with everysec stalls: take another disk"
	case usual >= slowSync && d.set.AppendFsync == conf.FsyncAlways:
		v, text = doubt, text+"; each write waits for that: take another disk, or appendfsync everysec"
	}
	d.say(v, "%s", text)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// machineDisk is the disk of this machine.
type machineDisk struct{}

const (
	// syncRounds syncs, or as many as fit into syncTime, are enough to tell disks from each other.
	syncRounds = 50
	syncTime   = time.Second
)

func (machineDisk) sync(dir string) (times []time.Duration, err error) {
	f, err := os.CreateTemp(dir, ".vigil-doctor-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	block := bytes.Repeat([]byte("vigil\n__"), 512)
	if _, err := f.WriteAt(block, 0); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil { // the file itself, once
		return nil, err
	}
	for begun := time.Now(); len(times) < syncRounds && (len(times) == 0 || time.Since(begun) < syncTime); {
		block[0]++
		start := time.Now()
		if _, err := f.WriteAt(block, 0); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
		times = append(times, time.Since(start))
	}
	return times, nil
}
