package backup

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/peers"
	"github.com/vigildb/vigil/structures/slots"
)

func TestSnapshotNamesAreFileNames(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "2026-01-02_a.b": true, strings.Repeat("a", 128): true,
		"": false, ".": false, "..": false, "../a": false, "a/b": false, "/a": false, `a\b`: false, ".a": false, "-a": false,
		"a.part": false, "a.": false, "a b": false, "a\x00b": false, "a\nb": false, "a:b": false, "ä": false, strings.Repeat("a", 129): false,
	} {
		if got := valid(name); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}

// disk is a store whose snapshots are names.
type disk struct {
	now   func() time.Time
	lsn   uint64
	full  bool
	made  []snapshot.Info
	swept int
}

func (d *disk) Snapshot(dir string, origin *snapshot.Origin) error {
	name := filepath.Base(dir)
	switch {
	case d.full:
		return errors.New("no space left")
	case slices.ContainsFunc(d.made, func(s snapshot.Info) bool { return s.Name == name }):
		return fs.ErrExist
	}
	d.made = append(d.made, snapshot.Info{Name: name, Made: d.now(), Origin: origin})
	return nil
}

func (d *disk) List(string) ([]snapshot.Info, error) {
	return slices.Clone(d.made), nil
}

func (d *disk) Remove(dir string) error {
	n := len(d.made)
	d.made = slices.DeleteFunc(d.made, func(s snapshot.Info) bool { return s.Name == filepath.Base(dir) })
	if len(d.made) == n {
		return fs.ErrNotExist
	}
	return nil
}

func (d *disk) Sweep(string) error {
	d.swept++
	return nil
}

func (d *disk) Stats() persistence.Stats { return persistence.Stats{LSN: d.lsn} }

func (d *disk) names() string {
	var names []string
	for _, s := range d.made {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

// testClock goes when it is told to. What is to be called later is called at once, as nothing here waits for more than one thing.
type testClock struct{ now time.Time }

func (c *testClock) Now() time.Time { return c.now }

func (c *testClock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// server is a server of a cluster.
type server struct {
	disk
	testClock
	settings Settings
	peers    peers.Peers
	snaps    Snapshots
	cluster  *Cluster
	member   *commands.Membership
	index    uint64 // of the entry that says which slots the group has
	moving   int    // so many times slots are being moved when it is asked
	others   map[string]*server
	waiting  []func() // what runs in the background
	logs     []string
}

func (s *server) AfterFunc(d time.Duration, f func()) (stop func()) {
	if d == pause {
		s.testClock.now = s.testClock.now.Add(d)
		f()
	}
	return func() {}
}

func (s *server) HoldStill(time.Duration) (uint64, *slots.Set, error) {
	if s.moving > 0 {
		s.moving--
		return 0, nil, errors.New("slots are on their way")
	}
	return s.index, s.member.Slots, nil
}

func (s *server) AskServer(ctx context.Context, address string, request []byte) ([]byte, error) {
	if o := s.others[address]; o != nil {
		return o.peers.Respond(ctx, request), nil
	}
	return nil, errors.New("connection refused")
}

// open opens the snapshots of a server.
func (s *server) open() *server {
	s.testClock.now = time.Unix(1_000_000, 0)
	s.disk.now = s.testClock.Now
	s.settings.Dir = "snapshots"
	membership := func() *commands.Membership { return s.member }
	s.peers.Open(peers.Options{Network: s, Membership: membership, Go: func(f func()) { go f() }})
	s.snaps.Open(Options{Store: &s.disk, Copies: &s.disk, Group: s, Peers: &s.peers, Clock: s,
		Settings:   func() Settings { return s.settings },
		Membership: membership,
		Go:         func(f func()) { s.waiting = append(s.waiting, f) },
		ID:         func() uint64 { return 7 },
		Logf:       func(_ bool, format string, _ ...any) { s.logs = append(s.logs, format) }})
	s.cluster = ClusterOf(&s.snaps)
	return s
}

// finish runs what was to run in the background.
func (s *server) finish() {
	for _, f := range s.waiting {
		f()
	}
	s.waiting = nil
}

func TestSnapshotsAreMadeOneAtATime(t *testing.T) {
	s := new(server).open()
	if s.swept != 1 {
		t.Error("what a former run has left is still there")
	}
	s.lsn = 5
	if err := s.snaps.Save(true); err != nil {
		t.Fatal(err)
	}
	s.testClock.now = s.testClock.now.Add(3 * time.Second)
	if st := s.snaps.Status(); !st.Running || st.Made != 0 || st.Took != -1 {
		t.Errorf("while it is made: %+v", st)
	}
	_, err := s.snaps.Create("a")
	for _, err := range []error{err, s.snaps.Save(true), s.snaps.Save(false)} {
		if err != error(commands.ErrSaveInProgress) {
			t.Errorf("while one is made: %v", err)
		}
	}
	s.finish()
	if st := s.snaps.Status(); st.Running || st.Made != 1 || st.LSN != 5 || st.Last != s.testClock.now.Unix() || st.UnderWay != -1 {
		t.Errorf("when it is made: %+v", st)
	}
	if _, err := s.snaps.Create("a"); err != nil {
		t.Error(err)
	}
	if _, err := s.snaps.Create("a"); err != error(commands.ErrSnapshotExists) {
		t.Errorf("a second one of a name: %v", err)
	}
	if _, err := s.snaps.Create("auto-1"); err != error(commands.ErrSnapshotName) {
		t.Errorf("a name of automatic ones: %v", err)
	}
	if err := errors.Join(s.snaps.Delete("a")); err != nil {
		t.Error(err)
	}
	if err := s.snaps.Delete("a"); err != error(commands.ErrNoSnapshot) {
		t.Errorf("one that is gone: %v", err)
	}
}

func TestSavePointsMakeSnapshotsAndKeepSome(t *testing.T) {
	s := new(server).open()
	s.settings = Settings{Points: []conf.SavePoint{{Seconds: 10, Changes: 2}}, Keep: 2}
	if _, err := s.snaps.Create("mine"); err != nil {
		t.Fatal(err)
	}
	due := func(changes uint64, after time.Duration) bool {
		s.lsn += changes
		s.testClock.now = s.testClock.now.Add(after)
		s.snaps.Autosave(s.testClock.now)
		due := len(s.waiting) > 0
		s.finish()
		return due
	}
	if due(1, time.Minute) || due(1, 0) != true || due(9, 9*time.Second) {
		t.Error("a save point made a snapshot too early, or none")
	}
	for range 3 {
		if !due(2, 10*time.Second) {
			t.Error("no snapshot is made")
		}
	}
	if names := s.names(); strings.Count(names, "auto-") != 2 || !strings.HasPrefix(names, "mine ") {
		t.Errorf("there are %s", names)
	}
	s.full = true
	if !due(2, 10*time.Second) || due(0, 4*time.Second) || !due(0, time.Second) {
		t.Error("after a failure it is not tried again after 5 s")
	}
	if st := s.snaps.Status(); !st.Failed {
		t.Errorf("after failures: %+v", st)
	}
}

const addressA = "10.0.0.1:7000"

// newCluster returns the leaders of two groups.
func newCluster(t *testing.T) (a, b *server) {
	t.Helper()
	low, err := slots.Parse("0-8191")
	if err != nil {
		t.Fatal(err)
	}
	high := slots.All().Without(low)
	node := func(id, host string) []commands.Member {
		return []commands.Member{{ID: strings.Repeat(id, 40), Host: host, Port: 7000, Active: true}}
	}
	a, b = new(server).open(), new(server).open()
	ids := [2]string{strings.Repeat("a", 40), strings.Repeat("b", 40)}
	a.member = &commands.Membership{ID: ids[0], Led: true, Leads: true, Slots: low, Covered: true, Members: node("1", "10.0.0.1"),
		OtherShards: []commands.Shard{{ID: ids[1], Slots: high, Members: node("2", "10.0.0.2"), Up: true}}}
	b.member = &commands.Membership{ID: ids[1], Led: true, Leads: true, Slots: high, Covered: true, Members: node("2", "10.0.0.2"),
		OtherShards: []commands.Shard{{ID: ids[0], Slots: low, Members: node("1", "10.0.0.1"), Up: true}}}
	a.others, b.others = map[string]*server{"10.0.0.2:7000": b}, map[string]*server{addressA: a}
	return a, b
}

func TestSnapshotOfAClusterHasAPartOfEachGroup(t *testing.T) {
	a, b := newCluster(t)
	b.moving = 2 // which is waited for
	s, err := a.cluster.Create(t.Context(), "whole")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Parts) != 2 || s.Parts[1].Slots != "8192-16383" || !s.Complete() || a.names() != "whole" || b.names() != "whole" {
		t.Errorf("got %+v; there are %q and %q", s, a.names(), b.names())
	}
	all, silent, err := b.cluster.List(t.Context())
	if err != nil || len(all) != 1 || len(silent) > 0 || !all[0].Complete() || all[0].ID != s.ID {
		t.Errorf("the other server lists %+v, and %q are silent, %v", all, silent, err)
	}
	if n, err := b.cluster.Delete(t.Context(), "whole"); n != 2 || err != nil || a.names()+b.names() != "" {
		t.Errorf("%d parts are removed, %v; there are %q and %q", n, err, a.names(), b.names())
	}
	if _, err := b.cluster.Delete(t.Context(), "whole"); err != error(commands.ErrNoSnapshot) {
		t.Errorf("removed twice: %v", err)
	}
}

func TestSnapshotOfAClusterLeavesNoParts(t *testing.T) {
	for want, spoil := range map[string]func(a, b *server){
		"no space left":        func(_, b *server) { b.full = true },
		"exists":               func(_, b *server) { b.made = []snapshot.Info{{Name: "whole"}} },
		"on their way":         func(_, b *server) { b.moving = 1 << 30 },
		"connection refused":   func(a, _ *server) { a.others = nil },
		"have no group":        func(_, b *server) { b.member.Slots = new(slots.Set) },
		"of two groups":        func(_, b *server) { b.member.Slots = slots.All() },
		"not a member":         func(a, _ *server) { a.member = nil },
		"invalid snapshot nam": nil,
	} {
		a, b := newCluster(t)
		name := "whole"
		if spoil == nil {
			name = "../whole"
		} else {
			spoil(a, b)
		}
		s, err := a.cluster.Create(t.Context(), name)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %+v and %v, want an error with %q", s, err, want)
		}
		if a.names() != "" || strings.HasPrefix(b.names(), "whole ") {
			t.Errorf("%s: %q and %q are left", want, a.names(), b.names())
		}
	}
}

func TestPartIsOfTheSlotsThatWereAgreedOn(t *testing.T) {
	a, _ := newCluster(t)
	a.index = 7
	w := &snapshot.Whole{Name: "w", ID: "1", Parts: []snapshot.Part{{Group: a.member.ID, Slots: "0-8191"}}}
	if _, err := MakePart.Ask(t.Context(), &a.peers, addressA, &PartOrder{Index: 6, Whole: w}); !peers.IsTransient(err) || a.names() != "" {
		t.Errorf("of an earlier entry: %v", err)
	}
	if r, err := MakePart.Ask(t.Context(), &a.peers, addressA, &PartOrder{Index: 7, Whole: w}); err != nil || len(r.Parts) != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
	remove := func(w *snapshot.Whole) (*Removed, error) {
		return RemovePart.Ask(t.Context(), &a.peers, addressA, &PartOrder{Whole: w})
	}
	if r, err := remove(&snapshot.Whole{Name: "w", ID: "2"}); err != nil || r.Removed != 0 || a.names() != "w" {
		t.Errorf("a part of another snapshot was removed: %+v, %v", r, err)
	}
	for _, w := range []*snapshot.Whole{nil, {Name: "../w"}} {
		if _, err := remove(w); err == nil || err.Error() != peers.Text(commands.ErrSnapshotName) {
			t.Errorf("a name that is none: %v", err)
		}
	}
}
