package server

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/groups"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/testscale"
)

// badReads fails a read of a disk: the n-th from the call of arm on, and all later ones until mend.
type badReads struct {
	mu   sync.Mutex
	n    int // of the read that fails; 0 if none does
	done int // reads since arm
}

func (b *badReads) arm(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n, b.done = n, 0
}

// mend ends what arm began and returns how many reads there were, those that failed included.
func (b *badReads) mend() (reads int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n = 0
	return b.done
}

// MaybeError implements errorfs.Injector.
func (b *badReads) MaybeError(op errorfs.Op) error {
	if op.Kind != errorfs.OpFileRead && op.Kind != errorfs.OpFileReadAt {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done++; b.n == 0 || b.done < b.n {
		return nil
	}
	return syscall.EIO
}

func (b *badReads) String() string { return "bad reads" }

// residence is what of the data is in memory when a call begins.
type residence struct {
	name string
	// heads: values are known, and their pages are on disk. Otherwise nothing was read of them.
	heads bool
	// warm: some of the pages were read.
	warm bool
	// tight: memory is exceeded, so that pages that were read leave it again.
	tight bool

	keys []string // of the data
}

var residences = []residence{
	{name: "nothing in memory"},
	{name: "no page in memory", heads: true},
	{name: "some pages in memory", heads: true, warm: true},
	{name: "no page in memory, and no room", heads: true, tight: true},
}

// diskLife is a server on a disk whose reads can fail.
type diskLife struct {
	*rig
	disk  *disktest.Disk
	reads *badReads
	c     *testClient
	told  *testClient // of events
	tasks map[string]persistence.Task
}

// startOn opens a server on a disk. Nothing runs in its background.
func startOn(t testing.TB, disk *disktest.Disk) *diskLife {
	t.Helper()
	l := &diskLife{rig: &rig{t: t, clock: newTestClock(), log: &testLog{}}, disk: disk, reads: &badReads{}, tasks: map[string]persistence.Task{}}
	srv, err := Open(context.Background(), Options{Config: testConfig(t), Dir: "db", Seed: 1, Clock: l.clock, Log: slog.New(l.log),
		inside: inside{Store: func(o *persistence.Options) {
			o.FS = errorfs.Wrap(disk, l.reads)
			o.LargeBytes, o.CacheBytes, o.MaxMemory, o.Policy, o.IdleAfter = 1, 1, readsRoom, eviction.Spill, -1
			o.Background = func(task persistence.Task) { l.tasks[task.Name] = task }
		}}})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	l.srv = srv
	l.connect()
	l.told, l.c = l.c.hello3(), nil
	if l.told.send("PSUBSCRIBE", "*"); l.told.reply() == "" {
		t.Fatal("no subscription")
	}
	l.connect()
	return l
}

// readsRoom is so little memory that values of several pages do not fit.
const readsRoom = 64 << 10

func (l *diskLife) connect() {
	l.t.Helper()
	nc, err := l.srv.Dial()
	if err != nil {
		l.t.Fatal(err)
	}
	l.c = &testClient{t: l.t, nc: nc, r: bufio.NewReader(nc)}
}

// settle brings into memory what a call is to find there.
func (l *diskLife) settle(in residence) {
	l.t.Helper()
	if in.heads {
		var all persistence.Shards
		all.AddAll()
		tx := l.srv.store.NewTx()
		tx.Lock(&all, l.clock.Now().UnixMilli())
		for _, key := range in.keys {
			tx.Kind([]byte(key))
		}
		if tx.Err() != nil {
			l.t.Fatal(tx.Err())
		}
		tx.Unlock()
	}
	l.srv.store.Eviction().Set(0, eviction.Spill, 5)
	if in.warm {
		for _, call := range readsWarm {
			if !slices.Contains(in.keys, strings.Fields(call)[1]) {
				continue
			}
			if got := l.do(call); strings.HasPrefix(got, "(error)") {
				l.t.Fatalf("%s: %s", call, got)
			}
		}
	}
	if in.tight {
		l.do("SETRANGE ballast 2000000 x")
		l.srv.store.Eviction().Set(1<<20, eviction.Spill, 5)
	}
}

// end closes the server.
func (l *diskLife) end() {
	l.t.Helper()
	l.c.nc.Close()
	l.told.nc.Close()
	if err := l.srv.Close(context.Background()); err != nil {
		l.t.Fatalf("Close: %v", err)
	}
}

// do makes a call of readsCalls.
func (l *diskLife) do(call string) string {
	l.t.Helper()
	return l.c.do(readsWords(call)...)
}

var readsName = regexp.MustCompile(`\$(\d+)`)

// readsWords are the arguments of a call: $7 is a long name of 7.
func readsWords(call string) []string {
	args := strings.Fields(call)
	for i, a := range args {
		if a[0] == '"' {
			args[i], _ = strconv.Unquote(a)
			continue
		}
		args[i] = readsName.ReplaceAllStringFunc(a, func(m string) string {
			n, _ := strconv.Atoi(m[1:])
			return longName(n)
		})
	}
	return args
}

func longName(n int) string { return fmt.Sprintf("%0100d", n) }

// state is all that a server holds, as clients see it.
func (l *diskLife) state() string {
	l.t.Helper()
	var b strings.Builder
	for db := range 2 {
		l.c.do("SELECT", strconv.Itoa(db))
		found := l.c.do("KEYS", "*")
		if strings.HasPrefix(found, "(error)") {
			return found
		}
		keys := strings.Fields(strings.Trim(found, "[]"))
		slices.Sort(keys)
		for _, quoted := range keys {
			key, err := strconv.Unquote(quoted)
			if err != nil {
				l.t.Fatal(err)
			}
			if key == "ballast" {
				continue
			}
			kind := l.c.do("TYPE", key)
			fmt.Fprintln(&b, db, key, kind, l.c.do("PEXPIRETIME", key), l.c.do("DEBUG", "DIGEST-VALUE", key))
			switch kind {
			case "stream":
				fmt.Fprintln(&b, l.c.do("XINFO", "STREAM", key, "FULL", "COUNT", "0"))
			case "hash":
				fmt.Fprintln(&b, l.c.do("HPEXPIRETIME", key, "FIELDS", "4", longName(7), longName(8), longName(9), longName(399)))
			case "set":
				fmt.Fprintln(&b, l.c.do("SPEXPIRETIME", key, "MEMBERS", "8", longName(3), longName(7), longName(8), longName(9), longName(200),
					longName(399), "1000003000", "2000006000"))
			}
		}
	}
	l.c.do("SELECT", "0")
	return b.String()
}

// outcome is what a call came to.
type outcome struct {
	reply, state string
	reads        int
	recorded     bool   // the journal has something of it
	event        string // the first that was published, PONG for none
}

// attempt makes a call while the n-th read fails, and all behind it; none with 0. The server goes on.
func attempt(t testing.TB, disk *disktest.Disk, in residence, call string, n int) (o outcome, l *diskLife) {
	t.Helper()
	l = startOn(t, disk)
	l.settle(in)
	l.c.want("CONFIG SET notify-keyspace-events EA", "OK")
	before := l.srv.store.Commits().Newest()
	l.reads.arm(n)
	l.c.send(readsWords(call)...)
	reply, err := l.c.read()
	if o.reads = l.reads.mend(); err != nil {
		reply = err.Error()
	}
	for _, line := range l.log.all() {
		if strings.HasPrefix(line, "panic") {
			t.Errorf("%s, %s, read %d: %.2000s", call, in.name, n, line)
			l.connect()
		}
	}
	o.event = l.told.do("PING")
	o.reply, o.recorded = reply, l.srv.store.Commits().Newest() != before
	l.srv.store.Eviction().Set(0, eviction.Spill, 5)
	// A read that came while Pebble itself opened a file gets the error of that, though the disk is mended.
	l.until("the disk is mended", func() bool {
		o.state = l.state()
		return !strings.Contains(o.state, "internal error")
	})
	return o, l
}

// readsImage makes a disk with the data of some keys.
func readsImage(t *testing.T, keys []string) *disktest.Disk {
	t.Helper()
	disk := disktest.New()
	l := startOn(t, disk)
	l.srv.store.Eviction().Set(0, eviction.Spill, 5)
	for _, call := range readsBuild() {
		if !slices.ContainsFunc(call, func(word string) bool { return slices.Contains(keys, word) }) {
			continue
		}
		if got := l.c.do(call...); strings.HasPrefix(got, "(error)") {
			t.Fatalf("%.100q: %s", call, got)
		}
	}
	l.tasks["commit"].Step(true)
	if err := l.srv.store.Passes().Materialise(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.end()
	return disk
}

// clone is a disk with all that another one has.
func clone(disk *disktest.Disk) *disktest.Disk { return disk.CrashClone(vfs.CrashCloneCfg{}) }

var everyRead = flag.Bool("everyread", false, "fail every read of every call, whatever is in memory")

// TestCallThatCannotReadChangesNothing fails reads of each command that writes. It returns an error then,
// and there is no trace of it: not in memory, not in the journal, and not after a start. Or it did
// not need what could not be read, and did all.
func TestCallThatCannotReadChangesNothing(t *testing.T) {
	was := structures.SetIndexedPages(2)
	defer structures.SetIndexedPages(was)
	images := map[string]*disktest.Disk{}
	for i, call := range testscale.Some(readsCalls()) {
		keys := []string{}
		for _, word := range strings.Fields(call) {
			if word = strings.TrimSuffix(word, "->0"); slices.Contains(readsKeys, word) {
				keys = append(keys, word)
			}
		}
		name := strings.Join(keys, " ")
		if images[name] == nil {
			images[name] = readsImage(t, keys)
		}
		for j, in := range residences {
			if in.keys = keys; *everyRead || j == i%len(residences) {
				failing(t, images[name], in, call)
			}
		}
	}
}

// failing makes a call while its first read fails, while its last one does, and some or all in between.
func failing(t *testing.T, image *disktest.Disk, in residence, call string) {
	t.Helper()
	l := startOn(t, clone(image))
	l.srv.store.Eviction().Set(0, eviction.Spill, 5)
	untouched := l.state()
	l.end()
	want, l := attempt(t, clone(image), in, call, 0)
	l.end()
	if strings.HasPrefix(want.reply, "(error)") || want.state == untouched {
		t.Errorf("%s, %s: got %.100s, want a change", call, in.name, want.reply)
	}
	if want.reads == 0 && !in.heads && len(in.keys) > 0 {
		t.Errorf("%s, %s: reads nothing", call, in.name)
	}
	step := 1
	if !*everyRead {
		step = max(1, want.reads/readsTried)
	}
	for n := want.reads; n > 0; n -= step {
		at := fmt.Sprintf("%s, %s, read %d of %d", call, in.name, n, want.reads)
		disk := clone(image)
		got, l := attempt(t, disk, in, call, n)
		l.tasks["commit"].Step(true)
		l.end()
		switch {
		case got.reply == want.reply && got.state == want.state:
			continue
		case !strings.HasPrefix(got.reply, "(error)"):
			t.Errorf("%s: got %.200s, want an error or %.200s\n%s", at, got.reply, want.reply, difference(got.state, untouched))
		case got.state != untouched || got.recorded || got.event != "PONG":
			t.Errorf("%s: got %.100s, recorded %v, published %.200s, and the change\n%s", at, got.reply, got.recorded, got.event, difference(got.state, untouched))
		case n == want.reads:
			l = startOn(t, disk)
			l.srv.store.Eviction().Set(0, eviction.Spill, 5)
			if again := l.state(); again != untouched {
				t.Errorf("%s: after a start\n%s", at, difference(again, untouched))
			}
			l.end()
		}
	}
}

// readsTried is about how many reads of a call fail, if not all.
const readsTried = 5

// difference is the first line in which two states differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("got  %.300s\nwant %.300s", g[i], w[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(g), len(w))
}

// TestEveryCommandThatWritesHasACallThatCannotRead finds commands that TestCallThatCannotReadChangesNothing
// leaves out.
func TestEveryCommandThatWritesHasACallThatCannotRead(t *testing.T) {
	table, err := commands.NewTable(groups.All())
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{}
	for _, call := range readsCalls() {
		var argv [][]byte
		for _, a := range readsWords(call) {
			argv = append(argv, []byte(a))
		}
		cmd, _ := table.Lookup(argv)
		if cmd == nil || !cmd.Is(commands.Write) {
			t.Errorf("%s is of no command that writes", call)
			continue
		}
		called[cmd.Name] = true
	}
	for _, cmd := range table.All() {
		switch reason := readsNothing[cmd.Name]; {
		case !cmd.Is(commands.Write):
		case !called[cmd.Name] && reason == "":
			t.Errorf("%s: want a call in readsText (failing_reads_calls_test.go), or in readsNothing the reason why no read of it can fail half way", cmd.Name)
		case called[cmd.Name] && reason != "":
			t.Errorf("%s: there is a call, and in readsNothing a reason for none: %s", cmd.Name, reason)
		}
	}
}
