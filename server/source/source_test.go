package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence"
)

// rig is a source with a store whose records are numbers, and whose cuts say behind which one they are.
type rig struct {
	t *testing.T
	*Source
	set     Settings
	now     time.Time
	passes  []func() // that have not run
	logged  []string
	ids     int
	grown   int
	feeding persistence.Feed
	lsn     uint64
	during  func(cut uint64) // called while a cut is made, and knows behind which record that will be
	file    func(lsn uint64) string
	timed   bool
	closing func() // called when a cut is closed
	fails   error
	formats []Format
	stop    context.CancelFunc
	// committed gets up to which record a group has committed; closed, that no more are.
	committed chan uint64
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, now: time.Unix(1000, 0), set: Settings{Backlog: 1 << 20, BacklogTTL: time.Hour, Timeout: time.Minute, Ping: 10 * time.Second}}
	r.file = func(lsn uint64) string { return fmt.Sprintf("keys behind %d", lsn) }
	done, stop := context.WithCancel(t.Context())
	r.stop = stop
	r.Source = New(strings.Repeat("0", 40), Options{Store: r, Settings: func() *Settings { return &r.set },
		Now: func() time.Time { return r.now }, Done: done,
		Grew: func() { r.grown++ },
		Go:   func(f func()) { r.passes = append(r.passes, f) },
		Logf: func(format string, args ...any) { r.logged = append(r.logged, fmt.Sprintf(format, args...)) },
		NewID: func() string {
			r.ids++
			return fmt.Sprintf("%040d", r.ids)
		}})
	return r
}

// StartFeed begins a feed.
func (r *rig) StartFeed(to persistence.Feed) (uint64, error) {
	if r.feeding != nil {
		r.t.Error("a second feed")
	}
	r.feeding = to
	return r.lsn, nil
}

// StopFeed ends it.
func (r *rig) StopFeed() { r.feeding = nil }

// AwaitRecord waits until commit is called.
func (r *rig) AwaitRecord(lsn uint64) error {
	for {
		select {
		case upTo, ok := <-r.committed:
			if !ok {
				return errors.New("given up")
			}
			if upTo >= lsn {
				return nil
			}
		case <-r.t.Context().Done():
			return r.t.Context().Err()
		}
	}
}

// Cut records one more before the cut, and what during does behind it.
func (r *rig) Cut() (Cut, error) {
	if r.fails != nil {
		return nil, r.fails
	}
	r.record(0, "BEFORE")
	c := cutOf{r, r.lsn}
	if r.during != nil {
		r.during(c.lsn)
	}
	return c, nil
}

type cutOf struct {
	r   *rig
	lsn uint64
}

func (c cutOf) Record() uint64                             { return c.lsn }
func (c cutOf) FieldsExpire(context.Context) (bool, error) { return c.r.timed, nil }

func (c cutOf) Close() error {
	if c.r.closing != nil {
		c.r.closing()
	}
	return nil
}

func (c cutOf) Write(_ context.Context, w io.Writer, f Format) error {
	c.r.formats = append(c.r.formats, f)
	_, err := io.WriteString(w, c.r.file(c.lsn))
	return err
}

// record adds a record of one command, or of several.
func (r *rig) record(db int, names ...string) {
	r.lsn++
	if r.feeding == nil {
		return
	}
	var b []byte
	for _, name := range names {
		b = fmt.Appendf(b, "*1\r\n$%d\r\n%s\r\n", len(name), name)
	}
	r.feeding.Record(r.lsn, persistence.Told{Commands: b, Count: len(names), First: db, Last: db})
}

// run makes the passes that have begun.
func (r *rig) run() {
	for len(r.passes) > 0 {
		f := r.passes[0]
		r.passes = r.passes[1:]
		f()
	}
}

// peer is a replica, and what it has got.
type peer struct {
	*Replica
	got     bytes.Buffer
	dropped string
	over    bool
}

func (r *rig) peer(hello ...Hello) *peer {
	p := &peer{}
	p.Replica = r.NewReplica("10.0.0.1", func() {}, func(why string) { p.dropped = why })
	for _, h := range hello {
		p.Greet(h)
	}
	return p
}

// take takes all that there is, n bytes at a time.
func (p *peer) take(n int) *peer {
	for more := true; more && !p.over; {
		var b []byte
		b, more, p.over = p.Fill(nil, n)
		p.got.Write(b)
	}
	return p
}

func (p *peer) text() string {
	s := regexp.MustCompile(`\*\d+\r\n`).ReplaceAllString(p.got.String(), "|")
	s = regexp.MustCompile(`\$\d+\r\n([A-Z0-9*]+)\r\n`).ReplaceAllString(s, " $1")
	return s
}

func (p *peer) want(t *testing.T, text string) {
	t.Helper()
	if p.text() != text {
		t.Errorf("got  %q\nwant %q", p.text(), text)
	}
	p.got.Reset()
}

var eof = Hello{Capa: "eof"}

// A replica gets the keys behind some record, and the stream behind it from its first byte on, which selects a database. What was recorded
// while the cut was made is in one of them.
func TestReplicaGetsKeysAndThenTheStreamBehindThem(t *testing.T) {
	r := newRig(t)
	r.record(0, "UNHEARD")
	r.during = func(uint64) { r.record(3, "X", "Y"); r.record(3, "Z") }
	p := r.peer()
	p.Sync("?", -1, false)
	r.Tick()
	p.take(7).want(t, "\n")
	r.run()
	p.take(7).want(t, "+FULLRESYNC "+strings.Repeat("0", 40)+" 39\r\n$13\r\nkeys behind 2| SELECT 3| MULTI| X| Y| EXEC| SELECT 3| Z")
	r.record(3, "A")
	r.record(0, "B")
	r.Interject("PUBLISH", []byte("C"), []byte("M"))
	p.take(100).want(t, "| SELECT 3| A| SELECT 0| B| PUBLISH C M")
	if rep := r.Report(); rep.Replicas[0].State != "online" || rep.Counts.Full != 1 || rep.Offset != p.offset {
		t.Errorf("got %+v", rep)
	}
}

// Behind a file whose end is a marker comes nothing until the replica confirms something, and the marker comes in one piece.
func TestStreamWaitsBehindAMarkerForAConfirmation(t *testing.T) {
	for n := 1; n < 120; n += 7 {
		r := newRig(t)
		p := r.peer(eof)
		p.Sync("?", -1, true)
		done := make(chan struct{})
		r.Tick()
		go func() { defer close(done); r.run() }()
		<-done
		p.take(max(n, marker))
		r.record(0, "A")
		r.record(0, "B")
		p.take(n).want(t, "\n$EOF:"+fmt.Sprintf("%040d", 1)+"\r\nkeys behind 1"+fmt.Sprintf("%040d", 1))
		if p.Ack(0, 0); !p.woken {
			t.Fatal("nobody was woken")
		}
		p.take(n).want(t, "| SELECT 0| A| B")
	}
}

// A replica may confirm a file as soon as it has the marker, though the pass is not over, and confirms it once.
func TestFileIsConfirmedBeforeItsPassIsOver(t *testing.T) {
	r := newRig(t)
	p := r.peer(eof)
	confirmed := false
	r.closing = func() {
		p.take(100).want(t, "\n$EOF:"+fmt.Sprintf("%040d", 1)+"\r\nkeys behind 1"+fmt.Sprintf("%040d", 1))
		p.Ack(0, 0)
		confirmed = true
	}
	p.Sync("?", -1, true)
	r.Tick()
	r.run()
	r.record(0, "A")
	if p.take(100).want(t, "| SELECT 0| A"); !confirmed {
		t.Error("no cut was closed")
	}
}

// A replica that asks for a file only gets nothing else, in the form that it can read.
func TestFilesAreOfTheFormThatIsAskedFor(t *testing.T) {
	yes, functions, v8, v9 := true, OnlyFunctions, "8.1.2", "9.0"
	for _, x := range []struct {
		hello []Hello
		timed bool
		want  string
	}{
		{nil, false, "redis7.0"}, {nil, true, "redis7.4"},
		{[]Hello{{Version: &v8}}, false, "redis7.0"}, {[]Hello{{Version: &v8}}, true, ""},
		{[]Hello{{Version: &v9}}, false, "redis7.0"}, {[]Hello{{Version: &v9}}, true, "valkey9"},
		{[]Hello{eof, {Filter: &functions}}, true, "redis7.0"},
	} {
		r := newRig(t)
		r.timed = x.timed
		p := r.peer(append(x.hello, Hello{RDBOnly: &yes})...)
		p.Sync("?", -1, true)
		r.run()
		p.take(1000)
		switch {
		case x.want == "" && (len(r.formats) > 0 || !strings.Contains(p.dropped, "Valkey 8")):
			t.Errorf("%+v: got %v, %q", x, r.formats, p.dropped)
		case x.want != "" && (len(r.formats) != 1 || r.formats[0].For != x.want || !p.over):
			t.Errorf("%+v: got %v, over %v", x, r.formats, p.over)
		}
	}
	if p := newRig(t).peer(Hello{Filter: &functions}); p.Complete() {
		t.Error("a part without knowledge of the end")
	}
}

// online returns a replica that gets the stream.
func (r *rig) online() *peer {
	p := r.peer(Hello{Capa: "psync2"})
	p.Sync("?", -1, false)
	r.run()
	p.take(1 << 20).got.Reset()
	return p
}

func TestReplicaGoesOnWhereItWas(t *testing.T) {
	r := newRig(t)
	p := r.online()
	r.record(0, "A")
	p.take(100)
	at, id := p.offset, r.Report().ID
	p.Leave()
	r.record(0, "B")
	for _, x := range []struct {
		id     string
		offset int64
		want   string
	}{
		{id, at + 1, "+CONTINUE " + id + "\r\n| B"}, {id, r.Offset() + 1, "+CONTINUE " + id + "\r\n"},
		{id, r.Offset() + 2, ""}, {id, 0, ""}, {id, -5, ""}, {strings.Repeat("f", 40), at + 1, ""}, {"?", at + 1, ""},
	} {
		p := r.peer(Hello{Capa: "psync2"})
		p.Sync(x.id, x.offset, false)
		p.take(100).want(t, x.want)
		p.Leave()
	}
	old := r.peer()
	old.Sync(id, at+1, false)
	old.take(100).want(t, "+CONTINUE\r\n| B")
	if c := r.Report().Counts; c.Partial != 3 || c.Refused != 4 {
		t.Errorf("got %+v", c)
	}
}

// What is kept is the size of the backlog, or what a replica needs up to its limit; then that one is dropped.
func TestBacklogIsBoundedWhateverReplicasDo(t *testing.T) {
	r := newRig(t)
	r.set.Backlog, r.set.Hard = 256<<10, 1<<20
	p, slow := r.online(), r.online()
	name := strings.Repeat("A", 1000)
	for range 3000 {
		r.record(0, name)
		p.take(1 << 20).got.Reset()
		if most := max(r.set.Backlog, r.set.Hard) + 2*blockBytes; r.log.end-r.log.first > most || int64(len(r.log.blocks)*blockBytes) > most+blockBytes {
			t.Fatalf("the backlog has %d bytes", r.log.end-r.log.first)
		}
	}
	if slow.dropped == "" || p.dropped != "" || r.log.end-r.log.first > r.set.Backlog+2*blockBytes {
		t.Errorf("slow %q, other %q, kept %d", slow.dropped, p.dropped, r.log.end-r.log.first)
	}
}

func TestReplicaThatConfirmsOrTakesNothingIsDropped(t *testing.T) {
	r := newRig(t)
	p, silent, stuck := r.online(), r.online(), r.online()
	r.record(0, "A")
	for range 61 {
		r.now = r.now.Add(time.Second)
		p.take(100)
		p.Ack(p.offset, 0)
		silent.take(100)
		stuck.Ack(1, 0)
		r.Tick()
	}
	if p.dropped != "" || !strings.Contains(silent.dropped, "confirmed") || !strings.Contains(stuck.dropped, "taken nothing") {
		t.Errorf("%q, %q, %q", p.dropped, silent.dropped, stuck.dropped)
	}
	if got := strings.Count(p.got.String(), "PING"); got < 5 || got > 7 {
		t.Errorf("%d PINGs in a minute", got)
	}
	p.Ack(r.Offset()+1000, 1<<62) // the future
	if r.Copies(r.Offset(), false) != 0 || r.Copies(1, true) != 0 || r.Good(time.Second) != 1 {
		t.Error("an offset counts that there is not")
	}
	r.Ask()
	end := r.Offset()
	r.Ask()
	if r.Offset() != end {
		t.Error("asked twice")
	}
	if p.Ack(end, end); r.Copies(end, false) != 1 || r.Copies(end, true) != 1 {
		t.Error("its confirmation does not count")
	}
}

// A pass goes on at the pace of the slowest, but waits for nobody for longer than the timeout.
func TestReplicaThatTakesNoFileHoldsOthersOnlyUntilTheTimeout(t *testing.T) {
	r := newRig(t)
	r.file = func(uint64) string { return strings.Repeat("k", 3*windowBytes) }
	p, stuck := r.peer(eof), r.peer(eof)
	p.Sync("?", -1, true)
	stuck.Sync("?", -1, true)
	done := make(chan struct{})
	go func() { defer close(done); r.run() }()
	for r.Report().Replicas[0].State != "send_bulk" {
		runtime.Gosched()
	}
	for p.got.Len() < windowBytes/2 {
		p.take(1 << 20)
		runtime.Gosched()
	}
	r.mu.Lock()
	r.now = r.now.Add(59 * time.Second)
	r.mu.Unlock()
	for p.got.Len() < windowBytes*3/4 {
		p.take(1 << 20)
	}
	r.mu.Lock()
	r.now = r.now.Add(2 * time.Second)
	held := r.pass != nil && r.pass.size-stuck.at <= windowBytes
	r.mu.Unlock()
	if r.Tick(); stuck.dropped == "" || !held {
		t.Fatalf("dropped: %q, within the window: %v", stuck.dropped, held)
	}
	for p.got.Len() < 3*windowBytes+2*marker && p.dropped == "" {
		p.take(1 << 20)
	}
	if <-done; p.dropped != "" {
		t.Error(p.dropped)
	}
}

// However many ask, and leave, passes begin no faster than the delay, and one serves all that wait.
func TestStormOfReplicasSharesPasses(t *testing.T) {
	r := newRig(t)
	r.set.Delay = 5 * time.Second
	var last []*peer
	for i := range 1000 {
		p := r.peer()
		if p.Sync("?", -1, false); i < 990 {
			p.Leave()
		} else {
			last = append(last, p)
		}
		r.run()
	}
	r.now = r.now.Add(5 * time.Second)
	r.Tick()
	r.run()
	for _, p := range last {
		if p.take(1000); !strings.Contains(p.got.String(), "keys behind") {
			t.Errorf("got %q", p.got.String())
		}
	}
	if r.lsn > 2 || len(r.Report().Replicas) != len(last) {
		t.Errorf("%d cuts, %d replicas", r.lsn, len(r.Report().Replicas))
	}
}

// What cannot be told ends the stream: its replicas come back, to another one.
func TestLostStreamBeginsAnewUnderAnotherName(t *testing.T) {
	r := newRig(t)
	p := r.online()
	id, at := r.Report().ID, p.offset
	lost := r.feeding
	r.StopFeed()
	lost.Lost("it cannot be told")
	if r.Report().ID == id || !strings.Contains(p.dropped, "cannot be told") || r.Report().Active {
		t.Errorf("%+v, %q", r.Report(), p.dropped)
	}
	lost.Record(99, persistence.Told{Commands: []byte("late"), Count: 1})
	p = r.peer()
	p.Sync(id, at+1, false)
	if r.run(); !strings.HasPrefix(p.take(1000).got.String(), "+FULLRESYNC "+r.Report().ID) {
		t.Errorf("got %q", p.got.String())
	}
	p.Leave()
	r.now = r.now.Add(2 * time.Hour)
	if r.Tick(); r.feeding != nil || r.Report().Active {
		t.Error("it is recorded for nobody")
	}
	r.Interject("PUBLISH")
	r.Ask()
	if r.Report().History != 0 {
		t.Error("a command for nobody")
	}
}

func TestPassThatFailsDropsThoseThatWait(t *testing.T) {
	r := newRig(t)
	r.fails = errors.New("the disk is full")
	p := r.peer()
	p.Sync("?", -1, false)
	if r.run(); p.dropped != "the disk is full" || len(r.logged) == 0 {
		t.Errorf("%q, %q", p.dropped, r.logged)
	}
	r.fails = persistence.ErrIntake // of an export
	p = r.peer()
	p.Sync("?", -1, false)
	if r.run(); p.dropped != "" {
		t.Errorf("dropped: %q", p.dropped)
	}
	r.fails, r.now = nil, r.now.Add(retry)
	r.Tick()
	if r.run(); !strings.Contains(p.take(1000).got.String(), "keys") {
		t.Errorf("got %q", p.got.String())
	}
}

// Whoever has read all that there is hears of more once, and of the end of the stream.
func TestConsumerHearsOfMoreAndOfTheEnd(t *testing.T) {
	r := newRig(t)
	at, err := r.Newest()
	if err != nil || r.feeding == nil {
		t.Fatal(at, err)
	}
	r.record(0, "A")
	if r.grown != 0 {
		t.Error("nobody has read to the end")
	}
	read, err := r.Changes(at, &Query{})
	if err != nil || len(read.Changes) != 1 || string(read.Changes[0].Args[0]) != "A" || read.Behind != 0 {
		t.Fatalf("got %+v, %v", read, err)
	}
	r.record(0, "B", "C")
	r.record(0, "D")
	if r.grown != 1 {
		t.Errorf("heard %d times of more, want 1", r.grown)
	}
	if read, err = r.Changes(read.Next, &Query{Count: 1}); err != nil || len(read.Changes) != 2 || read.Behind == 0 {
		t.Errorf("a transaction: %+v, %v", read, err)
	}
	if read, err = r.Changes(read.Next, &Query{}); err != nil || len(read.Changes) != 1 {
		t.Errorf("behind it: %+v, %v", read, err)
	}
	r.feeding.Lost("a test")
	if _, err := r.Changes(read.Next, &Query{}); r.grown != 2 || !errors.Is(err, ErrGone) {
		t.Errorf("heard %d times, %v", r.grown, err)
	}
}

// A consumer keeps the stream without replicas for as long as it reads, and repl-backlog-ttl longer.
func TestConsumerKeepsTheStream(t *testing.T) {
	r := newRig(t)
	at, err := r.Newest()
	for range 5 {
		r.now = r.now.Add(r.set.BacklogTTL - 1)
		r.Tick()
		if _, err := r.Changes(at, &Query{}); err != nil {
			t.Fatal(err)
		}
	}
	r.now = r.now.Add(r.set.BacklogTTL)
	r.Tick()
	if _, gone := r.Changes(at, &Query{}); err != nil || !errors.Is(gone, ErrGone) || r.feeding != nil {
		t.Errorf("got %v, %v", err, gone)
	}
}

// The words of a position are read back, and nothing else is one.
func TestPositionsAreReadBack(t *testing.T) {
	at := Position{strings.Repeat("a", 40), 12, 3}
	if got, err := ParsePosition(at.String()); got != at || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

// In a group replicas get a record when that is committed, and what was put between records not before those that it stands behind.
func TestReplicasOfAGroupGetWhatIsCommitted(t *testing.T) {
	r := newRig(t)
	r.o.Commits, r.committed = true, make(chan uint64)
	woken := make(chan struct{}, 1)
	p := &peer{Replica: r.NewReplica("10.0.0.1", func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	}, func(string) {})}
	p.Sync("?", -1, false)
	pass := r.passes[0]
	r.passes = nil
	pass()
	ended := make(chan struct{})
	confirm := r.passes[0]
	go func() {
		confirm()
		close(ended)
	}()
	r.committed <- r.lsn // the record that comes with the cut
	p.take(1 << 20).got.Reset()
	r.Interject("PUBLISH", []byte("A"), []byte("M"))
	p.take(100)
	for !strings.Contains(p.got.String(), "PUBLISH") {
		<-woken
		p.take(100)
	}
	p.got.Reset()

	at, err := r.Newest()
	if err != nil {
		t.Fatal(err)
	}
	r.record(0, "A", "B")
	r.Interject("PUBLISH", []byte("C"), []byte("M"))
	p.take(100).want(t, "")
	if read, err := r.Changes(at, &Query{}); err != nil || len(read.Changes) > 0 || read.Behind != 0 {
		t.Errorf("a consumer gets %+v, %v", read, err)
	}
	other := r.peer()
	if other.Sync(r.Report().ID, r.Offset()+1, false); other.state == online {
		t.Error("a replica goes on behind what is not committed")
	}
	other.Leave()
	select {
	case <-woken: // by what was before
	default:
	}
	grown := r.grown
	r.committed <- r.lsn
	<-woken
	p.take(100).want(t, "| SELECT 0| MULTI| A| B| EXEC| PUBLISH C M")
	if read, err := r.Changes(at, &Query{}); err != nil || len(read.Changes) != 2 || r.grown != grown+1 {
		t.Errorf("a consumer gets %+v, %v, and was told %d times", read, err, r.grown-grown)
	}
	r.record(0, "LOST")
	close(r.committed) // it is given up
	<-ended
	r.feeding.Lost("another one leads")
	if p.take(100).want(t, ""); !p.over {
		t.Error("the replica is kept")
	}
}

// Between the length of a file and the file comes no sign of life.
func TestNothingStandsBetweenALengthAndItsFile(t *testing.T) {
	r := newRig(t)
	p := r.peer()
	r.closing = func() { // the length was sent, and the pass is not over
		r.now = r.now.Add(time.Second)
		r.Tick()
		p.take(100)
	}
	p.Sync("?", -1, true)
	r.run()
	p.take(100).want(t, "$13\r\nkeys behind 1")
}
