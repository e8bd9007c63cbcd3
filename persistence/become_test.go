package persistence

import (
	"errors"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/check"
	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/structures/testscale"
)

// mute is an engine that proposes nothing.
type mute struct{}

func (mute) Propose(uint64, []byte) error { return errors.New("nobody leads") }

// commitAll takes for committed what the log has.
func commitAll(m *member.Member) error {
	state := m.Log().State()
	_, last := m.Log().Bounds()
	state.Commit = last
	if err := m.Append(nil, &state); err != nil || last == m.Applied() {
		return err
	}
	entries, err := m.Log().Entries(m.Applied()+1, last+1, 1<<30)
	if err != nil {
		return err
	}
	return m.Commit(entries)
}

// becomes are the options of a store of the model that is turned.
func becomes(fs vfs.FS, seed uint64) Options {
	return Options{FS: fs, Dir: "db", Databases: modelDBs, Seed: seed, LargeBytes: pagedLarge(seed), MaxMemory: pagedLimit(seed), RecentBytes: 1,
		BatchBytes: 64 << 10, SegmentBytes: 16 << 10}
}

func becomeAlone(fs vfs.FS, seed uint64) error {
	o := becomes(fs, seed)
	o.Replicator = mute{}
	return BecomeAlone(o, commitAll, func(_, _ map[string]string) error { return nil })
}

// aloneModel makes a store that is alone, with random keys, some of which are in its log only, and with texts.
func aloneModel(t *testing.T, fs vfs.FS, seed uint64) *model {
	t.Helper()
	r, m := rand.New(rand.NewPCG(seed, 126)), newModel()
	o := becomes(fs, seed)
	o.IdleAfter = -1
	s := openMemory(t, o)
	stageParts(s)
	rounds := testscale.Rounds(200)
	for i := range rounds {
		m.now += int64(r.IntN(3))
		m.expire()
		all(s, m.now, func(tx *Tx) {
			for range 1 + r.IntN(4) {
				m.step(t, r, tx)
			}
		})
		if i == rounds/2 {
			materialise(t, s)
		}
	}
	m.check(t, s)
	closeStore(t, s)
	return m
}

// founds gives the log of a store that was alone entries, and the member an identity.
func founds(t *testing.T, fs vfs.FS, seed uint64) {
	t.Helper()
	o := becomes(fs, seed)
	o.Replicator = mute{}
	s := openMemory(t, o)
	m := s.Member()
	_, last := m.Log().Bounds()
	entries := []grouplog.Entry{{Index: last + 1, Term: 1, Type: 2}, {Index: last + 2, Term: 1, Type: 2}}
	if err := errors.Join(m.Append(entries, &grouplog.HardState{Term: 1, Commit: last + 1}), m.Log().SetIdentity([]byte("member 1"))); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
}

// sound checks a store that is not open.
func sound(t *testing.T, fs vfs.FS) *check.Report {
	t.Helper()
	r, err := check.Run(check.Options{FS: fs, Dir: "db"}, func(string, int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Sound() {
		t.Fatalf("damaged: %q", r.Damage)
	}
	return r
}

// holdsModel opens a store that is alone again and compares it, but for texts that only a group has.
func holdsModel(t *testing.T, fs vfs.FS, seed uint64, m *model) {
	t.Helper()
	o := becomes(fs, seed)
	o.IdleAfter = -1
	s := openMemory(t, o)
	m = m.clone()
	for _, of := range []TextKind{Users, Directives, Moves} {
		m.texts[byte(of)] = map[string]string{}
	}
	if diff := m.diff(s); diff != "" {
		t.Fatalf("seed %d: %s", seed, diff)
	}
	closeStore(t, s)
}

// A store that was alone leads a group with all its keys, which others get as a state; after crashes it still does, and alone again it has
// what was committed and what was not.
func TestStoreThatWasAloneLeadsAGroupAndIsAloneAgain(t *testing.T) {
	indexPages(t)
	for seed := range testscale.Rounds(uint64(4)) {
		disk := disktest.New()
		m := aloneModel(t, disk, seed)
		sound(t, disk)
		if err := BecomeMember(becomes(disk, seed)); err != nil {
			t.Fatal(err)
		}
		sound(t, disk)
		if names, _ := disk.List("db/log"); len(names) > 0 {
			t.Errorf("segments are left: %q", names)
		}
		w := newWorld(t, seed, 1<<30)
		w.states, w.now = nil, m.now
		w.nodes[0].stop()
		w.nodes[0].fs = disk
		w.nodes[0].open()
		leader, other, third := lead(t, w)
		for _, n := range w.nodes {
			if diff := m.clone().weakDiff(n.s); diff != "" {
				t.Fatalf("seed %d: member %d: %s", seed, n.id, diff)
			}
		}
		m.effects = w.effects
		leader.m, w.states = m, map[recordAt]state{{lsn: leader.s.commits.Journal.Newest()}: {m.clone(), false}}
		for range 30 {
			leader.transact()
			leader.propose()
			leader.send(other)
			leader.count()
		}
		other.crash(50)
		leader.send(other)
		leader.send(third)
		leader.transact()
		leader.propose() // nobody else gets it
		left := leader.fs.DeathClone("db/log", vfs.CrashCloneCfg{UnsyncedDataPercent: 0, RNG: w.r})
		w.close()
		sound(t, left)
		if err := becomeAlone(left, seed); err != nil {
			t.Fatal(err)
		}
		sound(t, left)
		holdsModel(t, left, seed, m)
		holdsModel(t, left, seed, m)
		if err := BecomeMember(becomes(left, seed)); err != nil { // and so on
			t.Fatal(err)
		}
		if err := becomeAlone(left, seed); err != nil {
			t.Fatal(err)
		}
		sound(t, left)
		holdsModel(t, left, seed, m)
	}
}

// What is left of a flushed database is no damage, although a pass has left it in part: seed 7 has such.
func TestFlushedDatabaseIsNoDamage(t *testing.T) {
	indexPages(t)
	for seed := range testscale.Rounds(uint64(4)) {
		disk := disktest.New()
		aloneModel(t, disk, 7*seed)
		sound(t, disk)
	}
}

// A power failure at any write leaves a sound store of one kind or the other, with all keys, which can be turned again.
func TestStoreThatIsTurnedIsOneOrTheOther(t *testing.T) {
	for seed := range testscale.Rounds(uint64(2)) {
		disk := disktest.New()
		m := aloneModel(t, disk, seed)
		toMember := func(fs vfs.FS) error { return BecomeMember(becomes(fs, seed)) }
		toAlone := func(fs vfs.FS) error { return becomeAlone(fs, seed) }
		disk = turnWithCrashes(t, disk, toMember, toAlone, func(fs vfs.FS) { holdsModel(t, fs, seed, m) })
		founds(t, disk, seed)
		turnWithCrashes(t, disk, toAlone, toMember, func(fs vfs.FS) {
			if err := toAlone(fs); err != nil && !errors.Is(err, ErrMember) {
				t.Fatal(err)
			}
			holdsModel(t, fs, seed, m)
		})
	}
}

// turnWithCrashes turns a store, and looks at what many moments would have left. compare is called with a store that is alone.
func turnWithCrashes(t *testing.T, disk *disktest.Disk, turn, back func(vfs.FS) error, compare func(vfs.FS)) *disktest.Disk {
	t.Helper()
	c := &crasher{mem: disk, r: rand.New(rand.NewPCG(1, 126)), every: 2}
	if err := turn(errorfs.Wrap(disk, c)); err != nil {
		t.Fatal(err)
	}
	before, after := 0, 0
	for _, crash := range c.crashes {
		sound(t, crash.fs)
		switch err := turn(crash.fs); {
		case err == nil:
			before++
		case errors.Is(err, ErrMember):
			after++
		default:
			t.Fatal(err)
		}
		sound(t, crash.fs)
		if err := back(crash.fs); err != nil {
			t.Fatal(err)
		}
		sound(t, crash.fs)
		compare(crash.fs)
	}
	if before == 0 || after == 0 {
		t.Errorf("%d crashes before the step that counts, %d behind it", before, after)
	}
	return disk
}

// An operation of the disk that fails ends the turn with an error, unless nothing depends on it, and a second attempt goes on from there.
func TestStoreIsTurnedAgainAfterAFailureOfTheDisk(t *testing.T) {
	disk := disktest.New()
	m := aloneModel(t, disk, 1)
	failed := 0
	for k := 1; ; k += 1 + 2*testscale.By {
		clone := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
		faulty := newFailingDisk(clone, faultFull, k, false)
		err := BecomeMember(becomes(faulty, 1))
		ops, _ := faulty.count()
		if err == nil && ops < k {
			break
		}
		if err != nil {
			failed++
		}
		if err := BecomeMember(becomes(clone, 1)); err != nil && !errors.Is(err, ErrMember) {
			t.Fatalf("after operation %d failed: %v", k, err)
		}
		sound(t, clone)
		if err := becomeAlone(clone, 1); err != nil {
			t.Fatal(err)
		}
		holdsModel(t, clone, 1, m)
	}
	if failed < 3 {
		t.Errorf("%d operations failed", failed)
	}
}

// Once a store that is alone again has cut its log, the segment that this begins in has to be there.
func TestLogOfAStoreThatIsAloneAgainIsMissed(t *testing.T) {
	disk := disktest.New()
	closeStore(t, openMemory(t, becomes(disk, 1)))
	if err := errors.Join(BecomeMember(becomes(disk, 1)), becomeAlone(disk, 1)); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		s := openMemory(t, becomes(disk, 1))
		if s.files.Meta.Unmade != (round == 0) {
			t.Errorf("round %d: the first segment may be missing: %v", round, s.files.Meta.Unmade)
		}
		all(s, 1, func(tx *Tx) { tx.SetString([]byte("k"), []byte("v"), NoExpiry) })
		materialise(t, s)
		closeStore(t, s)
	}
	if err := disk.RemoveAll("db/log"); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(becomes(disk, 1)); err == nil {
		closeStore(t, s)
		t.Error("a store without its log is opened")
	}
}

// What cannot be turned stays as it is.
func TestStoreThatCannotBeTurnedIsRefused(t *testing.T) {
	disk := disktest.New()
	if err := BecomeMember(becomes(disk, 1)); err == nil {
		t.Error("a directory that is missing: no error")
	}
	if err := disk.MkdirAll("db", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := BecomeMember(becomes(disk, 1)); !errors.Is(err, check.ErrNoStore) {
		t.Errorf("a directory without a store: %v", err)
	}
	s := openMemory(t, becomes(disk, 1))
	all(s, 1, func(tx *Tx) { tx.SetReplicated(Replicated{Follows: true, ID: "of a master", Offset: 7}) })
	if err := BecomeMember(becomes(disk, 1)); !errors.Is(err, ErrLocked) {
		t.Errorf("a store that is open: %v", err)
	}
	closeStore(t, s)
	if err := BecomeMember(becomes(disk, 1)); !errors.Is(err, ErrFollows) {
		t.Errorf("a store that follows a master: %v", err)
	}
	if err := becomeAlone(disk, 1); !errors.Is(err, ErrMember) {
		t.Errorf("a store that is alone: %v", err)
	}
	s = openMemory(t, becomes(disk, 1))
	if !s.Replicated().Follows {
		t.Error("the store has forgotten its master")
	}
	all(s, 1, func(tx *Tx) { tx.SetReplicated(Replicated{ID: "of a master", Offset: 7}) })
	closeStore(t, s)
	if err := BecomeMember(becomes(disk, 1)); err != nil {
		t.Fatal(err)
	}
	if err := BecomeMember(becomes(disk, 1)); !errors.Is(err, ErrMember) {
		t.Errorf("a store that is a member: %v", err)
	}
	if _, err := Open(becomes(disk, 1)); !errors.Is(err, ErrMember) {
		t.Errorf("a member is opened alone: %v", err)
	}
	wrong := errors.New("no room for users")
	o := becomes(disk, 1)
	o.Replicator = mute{}
	if err := BecomeAlone(o, commitAll, func(_, _ map[string]string) error { return wrong }); !errors.Is(err, wrong) {
		t.Errorf("the users cannot be kept: %v", err)
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
}

// A store that is alone again has the functions of its group. Users and directives are handed over, and moves of slots are gone: none
// of them is there in the group that it founds next. Nor is it a snapshot any more.
func TestStoreThatIsAloneAgainHasNoUsersOfItsGroup(t *testing.T) {
	w := newWorld(t, 1, 1<<30)
	leader, other, _ := lead(t, w)
	leader.texts(func(tx *Tx) {
		tx.Texts(Libraries).Set("lib", "code")
		tx.Texts(Users).Set("robin", "on nopass")
		tx.Texts(Directives).Set("maxmemory", "1")
		tx.Texts(Moves).Set("1", "slots")
	})
	leader.propose()
	leader.send(other)
	leader.count()
	leader.must(leader.log().SetIdentity([]byte("member 1")))
	disk := leader.fs
	w.close()
	if err := snapshot.WriteOrigin(disk, "db", &snapshot.Origin{Group: "g"}); err != nil {
		t.Fatal(err)
	}
	o := becomes(disk, 1)
	o.Replicator = mute{}
	err := BecomeAlone(o, commitAll, func(users, directives map[string]string) error {
		if !maps.Equal(users, map[string]string{"robin": "on nopass"}) || !maps.Equal(directives, map[string]string{"maxmemory": "1"}) {
			t.Errorf("users %q, directives %q", users, directives)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if r := sound(t, disk); r.Libraries != 1 || r.Users+r.Directives+r.Moves != 0 || r.Origin != nil {
		t.Errorf("%d libraries, %d users, %d directives, %d moves, origin %v", r.Libraries, r.Users, r.Directives, r.Moves, r.Origin)
	}
	if err := BecomeMember(becomes(disk, 1)); err != nil {
		t.Fatal(err)
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	wantTexts(t, "libraries", s.Texts(Libraries), map[string]string{"lib": "code"})
	wantTexts(t, "users", s.Texts(Users), map[string]string{})
	log := s.Member().Log()
	if first, last := log.Bounds(); first != foundedBehind+1 || last != foundedBehind || log.State() != (grouplog.HardState{Commit: foundedBehind}) ||
		log.Identity() != nil || log.Membership().Members != nil && len(log.Membership().Members) > 0 {
		t.Errorf("the log has entries %d to %d, state %+v, identity %x, members %+v", first, last, log.State(), log.Identity(), log.Membership())
	}
}

// Entries that came with the state of another member, and precede the log, go with it.
func TestStoreThatIsAloneAgainHasNoEntries(t *testing.T) {
	w, leader, lags := ahead(t)
	leader.give(lags)
	it, err := lags.s.files.Disk.DB.NewIter(&pebble.IterOptions{LowerBound: format.AppendGroup(nil, format.PrefixJournal), UpperBound: format.AppendGroupEnd(nil, format.PrefixJournal)})
	if err != nil {
		t.Fatal(err)
	}
	if !it.First() {
		t.Fatal("no entries came with the state")
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	disk := lags.fs
	w.close()
	if err := becomeAlone(disk, 1); err != nil {
		t.Fatal(err)
	}
	sound(t, disk)
}

// Followers know at once whose data a group has, and a part of a master's data stays within its group.
func TestAPartOfAMastersDataIsNoStoreThatIsAlone(t *testing.T) {
	w := newWorld(t, 1, 1<<30)
	leader, other, _ := lead(t, w)
	all(leader.s, w.now, func(tx *Tx) { tx.SetReplicated(Incomplete()) })
	leader.propose()
	leader.send(other)
	leader.count()
	leader.send(other)
	if !leader.s.Incomplete() || !other.s.Incomplete() {
		t.Errorf("the leader and a follower have a part: %v, %v", leader.s.Incomplete(), other.s.Incomplete())
	}
	left := leader.fs.DeathClone("db/log", vfs.CrashCloneCfg{UnsyncedDataPercent: 0, RNG: w.r})
	whole := Replicated{Follows: true, ID: "of a master", Offset: 7}
	all(leader.s, w.now, func(tx *Tx) { tx.SetReplicated(whole) })
	leader.propose()
	leader.send(other)
	leader.count()
	leader.send(other)
	if now := other.s.Replicated(); now != whole || other.s.Incomplete() {
		t.Errorf("a follower has the data of %+v", now)
	}
	w.close()
	if err := becomeAlone(left, 1); !errors.Is(err, ErrIncomplete) {
		t.Errorf("a part of a master's data: %v", err)
	}
}
