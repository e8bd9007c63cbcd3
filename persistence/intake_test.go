package persistence

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/check"
	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/intake"
	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/list"
	"github.com/vigildb/vigil/structures/set"
	"github.com/vigildb/vigil/structures/stream"
	"github.com/vigildb/vigil/structures/testscale"
	"github.com/vigildb/vigil/structures/zset"
)

const farAway = 1 << 50

// grow fills a value with n elements and calls grown now and then, as who reads a file does.
func grow(t testing.TB, v structures.Value, n int, grown func(structures.Value) error) {
	t.Helper()
	for i := range n {
		elem := fmt.Appendf(nil, "element:%08d", i*7919%n)
		switch v := v.(type) {
		case *list.List:
			v.Push(nil, list.Tail, elem)
		case *set.Set:
			v.Add(nil, elem)
		case *hash.Hash:
			v.Set(nil, elem, []byte("value"))
		case *zset.Set:
			v.Add(nil, elem, float64(i), 0)
		case *stream.Stream:
			v.Add(nil, stream.ID{Ms: uint64(i + 1)}, [][]byte{[]byte("f"), elem}, stream.PageLimits{Bytes: 4096, Entries: 100})
		}
		if i%50 == 0 {
			if err := grown(v); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// kindsOfValues makes an empty value of each kind that can be larger than memory.
func kindsOfValues(keys *structures.HashKeys) map[string]structures.Value {
	return map[string]structures.Value{"list": list.New(), "set": set.New(keys), "hash": hash.New(keys), "zset": zset.New(keys), "stream": stream.New()}
}

// fill gives an intake keys of every kind, small ones and some that grow beyond what it keeps in memory.
func fill(t testing.TB, in *intake.Intake, seed uint64) {
	t.Helper()
	put := func(v structures.Value, b []byte, expire int64) {
		if err := in.Put(v, b, expire); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 {
		in.Begin(i%3, fmt.Appendf(nil, "key:%d:%d", seed, i))
		put(nil, fmt.Append(nil, i), []int64{0, farAway}[i%2])
	}
	in.Begin(1, []byte("long"))
	put(nil, []byte(strings.Repeat("long", 5000)), 0)
	in.Begin(1, []byte("huge"))
	put(nil, []byte(strings.Repeat("huge", writeback.PartString/2)), farAway)
	for _, n := range []int{3, 3000} {
		for kind, v := range kindsOfValues(in.HashKeys()) {
			in.Begin(2, fmt.Appendf(nil, "%s:%d", kind, n))
			grow(t, v, n, in.Grown)
			put(v, nil, 0)
		}
	}
	if err := in.Finish(); err != nil {
		t.Fatal(err)
	}
}

// findFilled looks for what fill has put.
func findFilled(t testing.TB, s *Store, seed uint64) error {
	t.Helper()
	var errs []error
	fail := func(f string, args ...any) { errs = append(errs, fmt.Errorf(f, args...)) }
	all(s, 1, func(tx *Tx) {
		for db, want := range []int{100, 102, 110, 0} {
			if n := tx.Databases().Size(db); n != want {
				fail("database %d has %d keys, want %d", db, n, want)
			}
		}
		for i := range 300 {
			tx.Select(i % 3)
			key := fmt.Appendf(nil, "key:%d:%d", seed, i)
			b, _, err := tx.String(key)
			if expire, _ := tx.ExpireAt(key); string(b) != fmt.Sprint(i) || expire != []int64{0, farAway}[i%2] && i%2 == 1 || err != nil {
				fail("%s: %q, expires %d, %v", key, b, expire, err)
			}
		}
		tx.Select(1)
		if b, _, _ := tx.String([]byte("long")); string(b) != strings.Repeat("long", 5000) {
			fail("long: %d bytes", len(b))
		}
		if b, _, _ := tx.String([]byte("huge")); string(b) != strings.Repeat("huge", writeback.PartString/2) {
			fail("huge: %d bytes", len(b))
		}
		tx.Select(2)
		for _, n := range []int{3, 3000} {
			for kind, want := range kindsOfValues(tx.HashKeys()) {
				grow(t, want, n, func(structures.Value) error { return nil })
				got, err := tx.Value(fmt.Appendf(nil, "%s:%d", kind, n))
				if err != nil || elements(got) != elements(want) {
					fail("%s of %d: %.100s, want %.100s, %v", kind, n, elements(got), elements(want), err)
				}
			}
		}
		errs = append(errs, tx.Err())
	})
	return errors.Join(errs...)
}

func elements(v structures.Value) string {
	var b []byte
	switch v := v.(type) {
	case *list.List:
		v.Range(0, -1, func(e []byte) { b = fmt.Appendf(b, "%s ", e) })
	case *set.Set:
		found := map[string]bool{}
		v.Each(func(e []byte) bool { found[string(e)] = true; return true })
		b = fmt.Append(b, found)
	case *hash.Hash:
		found := map[string]string{}
		v.Each(0, func(f, e []byte, _ int64) { found[string(f)] = string(e) })
		b = fmt.Append(b, found)
	case *zset.Set:
		v.Range(0, v.Len(), func(e []byte, score float64) bool { b = fmt.Appendf(b, "%s@%v ", e, score); return true })
	case *stream.Stream:
		v.Each(stream.ID{}, stream.MaxID, func(e *stream.Entry) bool {
			b = fmt.Appendf(b, "%v ", e.ID)
			e.Each(func(_, value []byte) { b = fmt.Appendf(b, "%s ", value) })
			return true
		})
	}
	return string(b)
}

func everyDatabase(int) bool { return true }

// smallIntake makes an intake whose runs and values are small, so that there are several tables and paged values.
func smallIntake(t testing.TB, s *Store) *intake.Intake {
	t.Helper()
	in, err := s.newIntake(16<<10, 32<<10)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// What was taken in is there once it is taken over, in place of what was there, and after a restart and a crash.
func TestIntakeReplacesDatabases(t *testing.T) {
	for seed, limit := range []int64{0, 1 << 20} {
		disk := disktest.New()
		o := Options{FS: disk, Databases: 4, Seed: uint64(seed), IdleAfter: -1, MaxMemory: limit}
		s := openMemory(t, o)
		all(s, 1, func(tx *Tx) {
			for db := range 4 {
				tx.Select(db)
				tx.SetString([]byte("old"), []byte("value"), 0)
			}
		})
		materialise(t, s)
		in := smallIntake(t, s)
		if _, err := s.NewIntake(); !errors.Is(err, ErrIntake) {
			t.Errorf("a second one: got %v", err)
		}
		fill(t, in, 7)
		if in.Tables() < 3 {
			t.Errorf("%d tables", in.Tables())
		}
		lsn := all(s, 1, func(tx *Tx) { tx.TakeOver(in, everyDatabase) })
		if err := errors.Join(in.Close(), s.commits.WaitDurable(lsn), findFilled(t, s, 7)); err != nil {
			t.Errorf("limit %d: %v", limit, err)
		}
		// Values go on from there.
		all(s, 1, func(tx *Tx) {
			tx.Select(2)
			if tx.Delete([]byte("set:3000")); !tx.Delete([]byte("list:3")) {
				t.Error("list:3 was not there")
			}
			tx.SetString([]byte("key:7:2"), []byte("new"), 0)
		})
		materialise(t, s)
		crashed := disk.CrashClone(vfs.CrashCloneCfg{})
		closeStore(t, s)
		for _, d := range []*disktest.Disk{disk, crashed} {
			o.FS = d
			s := openMemory(t, o)
			all(s, 1, func(tx *Tx) {
				tx.Select(2)
				b, _, _ := tx.String([]byte("key:7:2"))
				if tx.Databases().Size(2) != 108 || string(b) != "new" || tx.Kind([]byte("zset:3000")) != structures.KindZSet {
					t.Errorf("after a restart: %d keys, %q", tx.Databases().Size(2), b)
				}
			})
			closeStore(t, s)
			if r, err := check.Run(check.Options{Dir: "db", FS: d}, func(string, int64, int64) {}); err != nil || !r.Sound() {
				t.Errorf("check: %v, %+v", err, r)
			}
		}
	}
}

// An intake that nobody took leaves nothing, and keeps nothing from the next.
func TestIntakeThatEndsEarlyLeavesNothing(t *testing.T) {
	disk := disktest.New()
	o := Options{FS: disk, Databases: 4, IdleAfter: -1}
	s := openMemory(t, o)
	all(s, 1, func(tx *Tx) { tx.SetString([]byte("old"), []byte("value"), 0) })
	for range 2 {
		in := smallIntake(t, s)
		fill(t, in, 7)
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.purger.Run(); err != nil {
		t.Error(err)
	}
	in := smallIntake(t, s)
	fill(t, in, 8) // and a crash
	crashed := disk.CrashClone(vfs.CrashCloneCfg{})
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	closeStore(t, s)
	for _, d := range []*disktest.Disk{disk, crashed} {
		o.FS = d
		closeStore(t, openMemory(t, o))
		r, err := check.Run(check.Options{Dir: "db", FS: d}, func(string, int64, int64) {})
		if err != nil || !r.Sound() || r.Pages != 0 || r.Flushed != 0 {
			t.Errorf("check: %v, %+v", err, r)
		}
		if names, err := d.List("db/" + member.Incoming); !errors.Is(err, fs.ErrNotExist) && len(names) > 0 {
			t.Errorf("left: %v, %v", names, err)
		}
	}
}

// A key that comes twice is an error, in one table and in two.
func TestIntakeRefusesKeysTwice(t *testing.T) {
	s := openMemory(t, Options{IdleAfter: -1})
	for _, between := range []int{0, 5000} {
		in := smallIntake(t, s)
		for i := range between + 2 {
			in.Begin(0, []byte("twice"))
			if 0 < i && i <= between {
				in.Begin(0, fmt.Append(nil, i))
			}
			if err := in.Put(nil, []byte("v"), 0); err != nil && !errors.Is(err, intake.ErrTwice) {
				t.Fatal(err)
			}
		}
		if err := in.Finish(); !errors.Is(err, intake.ErrTwice) {
			t.Errorf("with %d keys between: got %v", between, err)
		}
		all(s, 1, func(tx *Tx) {
			tx.TakeOver(in, everyDatabase)
			if !errors.Is(tx.Err(), intake.ErrTwice) {
				t.Errorf("TakeOver: got %v", tx.Err())
			}
		})
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
	closeStore(t, s)
}

// A power failure at any write or sync of an intake and behind it leaves all that was there, or all that was taken in,
// and the latter once that was confirmed.
func TestPowerFailureLeavesTheOldOrTheNew(t *testing.T) {
	found := [3]int{} // of all seeds: how many writes are behind a moment depends on when the background writes
	for seed := range uint64(3) {
		c := &crasher{mem: disktest.New(), r: rand.New(rand.NewPCG(seed, 3)), every: 40 * testscale.By}
		o := Options{FS: errorfs.Wrap(c.mem, c), Databases: 4, Seed: seed, IdleAfter: -1, Sync: SyncPolicy(seed % 3)}
		s := openMemory(t, o)
		old := smallIntake(t, s)
		fill(t, old, 1)
		lsn := all(s, 1, func(tx *Tx) { tx.TakeOver(old, everyDatabase) })
		if err := errors.Join(s.commits.WaitDurable(lsn), old.Close()); err != nil {
			t.Fatal(err)
		}
		c.acked.Store(1)
		in := smallIntake(t, s)
		fill(t, in, 2)
		lsn = all(s, 1, func(tx *Tx) { tx.TakeOver(in, everyDatabase) })
		if err := errors.Join(s.commits.WaitDurable(lsn), in.Close()); err != nil {
			t.Fatal(err)
		}
		c.acked.Store(2)
		materialise(t, s)
		closeStore(t, s)
		for _, cr := range c.crashes {
			if cr.acked == 0 {
				continue
			}
			o.FS = cr.fs
			s, err := Open(withDir(o))
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			first, second := findFilled(t, s, 1), findFilled(t, s, 2)
			switch {
			case second == nil:
				found[2]++
			case first == nil && cr.acked == 1:
				found[1]++
			default:
				t.Errorf("seed %d, %d acknowledged: %v; %v", seed, cr.acked, first, second)
			}
			closeStore(t, s)
		}
	}
	if testscale.By == 1 && (found[1] == 0 || found[2] == 0) {
		t.Errorf("found %v", found)
	}
}

func withDir(o Options) Options {
	o.Dir = "db"
	return o
}

// A disk that fails meanwhile ends an intake, and the store goes on.
func TestIntakeEndsWhenTheDiskFails(t *testing.T) {
	full := errors.New("no space left")
	for at := range 12 / testscale.By {
		n, failing := 0, new(atomic.Bool)
		disk := disktest.New()
		inject := errorfs.InjectorFunc(func(op errorfs.Op) error {
			if failing.Load() && op.Kind == errorfs.OpFileWrite && strings.Contains(op.Path, intakeDir) {
				if n++; n > 5*at {
					return full
				}
			}
			return nil
		})
		o := Options{FS: errorfs.Wrap(disk, inject), Databases: 4, IdleAfter: -1}
		s := openMemory(t, o)
		all(s, 1, func(tx *Tx) { tx.SetString([]byte("old"), []byte("value"), 0) })
		in := smallIntake(t, s)
		failing.Store(true)
		var err error
		for i := 0; err == nil && i < 20_000; i++ {
			in.Begin(0, fmt.Append(nil, i))
			err = in.Put(nil, []byte("value"), 0)
		}
		if finish := in.Finish(); !errors.Is(finish, full) {
			t.Errorf("write %d: Put %v, Finish %v", at, err, finish)
		}
		failing.Store(false)
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		all(s, 1, func(tx *Tx) {
			if b, _, err := tx.String([]byte("old")); string(b) != "value" || tx.Databases().Size(0) != 1 {
				t.Errorf("old is %q, %v, of %d keys", b, err, tx.Databases().Size(0))
			}
			tx.SetString([]byte("new"), []byte("value"), 0)
		})
		closeStore(t, s)
	}
}

// What another store of the same secret has is copied as it is, but for keys that are not to be kept.
func TestIntakeCopiesAStore(t *testing.T) {
	from := openMemory(t, Options{Databases: 4, IdleAfter: -1, MaxMemory: 1 << 20})
	filled := smallIntake(t, from)
	fill(t, filled, 7)
	all(from, 1, func(tx *Tx) {
		tx.TakeOver(filled, everyDatabase)
		tx.Select(3)
		tx.SetString([]byte("left out"), []byte("value"), 5)
	})
	s := openMemory(t, Options{Databases: 4, IdleAfter: -1})
	in := smallIntake(t, s)
	err := from.CopyTo(in, func(_ int, _ []byte, _ structures.Kind, expire int64) bool { return expire == 0 || expire > 10 })
	if err = errors.Join(err, in.Finish()); err != nil {
		t.Fatal(err)
	}
	all(s, 1, func(tx *Tx) { tx.TakeOver(in, everyDatabase) })
	if err := errors.Join(in.Close(), filled.Close(), findFilled(t, s, 7)); err != nil {
		t.Error(err)
	}
	closeStore(t, from)
	closeStore(t, s)
	other := openMemory(t, Options{Databases: 4, IdleAfter: -1, Secret: [16]byte{1}})
	in = smallIntake(t, s2(t))
	if err := other.CopyTo(in, nil); !errors.Is(err, ErrMember) {
		t.Errorf("of another secret: got %v", err)
	}
	closeStore(t, other)
}

func s2(t *testing.T) *Store {
	s := openMemory(t, Options{IdleAfter: -1})
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

// A merge keeps or replaces keys that are there.
func TestIntakeMerges(t *testing.T) {
	for _, replace := range []bool{false, true} {
		s := openMemory(t, Options{Databases: 4, IdleAfter: -1})
		all(s, 1, func(tx *Tx) {
			tx.SetString([]byte("key:7:0"), []byte("old"), 0)
			tx.Select(3)
			tx.SetString([]byte("other"), []byte("old"), 0)
		})
		in := smallIntake(t, s)
		fill(t, in, 7)
		tx := s.NewTx()
		put, kept, err := tx.Merge(in, replace, func(set *Shards) (func() error, error) {
			tx.Lock(set, 1)
			return func() error { tx.Commit(); tx.Unlock(); return nil }, nil
		})
		if err = errors.Join(err, in.Close()); err != nil || put+kept != 312 || kept == 1 == replace {
			t.Errorf("replace %v: put %d, kept %d, %v", replace, put, kept, err)
		}
		all(s, 1, func(tx *Tx) {
			if b, _, _ := tx.String([]byte("key:7:0")); string(b) != map[bool]string{false: "old", true: "0"}[replace] {
				t.Errorf("replace %v: got %q", replace, b)
			}
			tx.Select(3)
			tx.Delete([]byte("other"))
			tx.Select(0)
			tx.SetString([]byte("key:7:0"), []byte("0"), 0)
		})
		if err := findFilled(t, s, 7); err != nil {
			t.Errorf("replace %v: %v", replace, err)
		}
		closeStore(t, s)
	}
}

// A member of a group takes keys into databases of its own, each intake into others, and apart from a state that it may receive.
func TestMemberTakesKeysIntoDatabasesOfItsOwn(t *testing.T) {
	w := newWorld(t, 1, 1<<30)
	leader, _, _ := lead(t, w)
	defer w.close()
	s := leader.s
	taken := func(key string) *intake.Intake {
		in, err := s.NewIntake()
		if err != nil {
			t.Fatal(err)
		}
		in.Begin(0, []byte(key))
		if err := errors.Join(in.Put(nil, []byte("v"), 0), in.Finish()); err != nil {
			t.Fatal(err)
		}
		return in
	}
	first := taken("a")
	if _, err := s.NewIntake(); !errors.Is(err, ErrIntake) {
		t.Errorf("a second intake: %v", err)
	}
	names, err := s.opts.FS.List(s.opts.Dir)
	if err != nil || !slices.Contains(names, intakeDir) || slices.Contains(names, member.Incoming) {
		t.Errorf("the store has %q, %v", names, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := taken("b")
	if first.Phys[0] < ownPhys || second.Phys[0] <= first.Phys[len(first.Phys)-1] {
		t.Errorf("databases %d, then %d", first.Phys, second.Phys)
	}
	if err := s.purger.Run(); err != nil { // of the first
		t.Fatal(err)
	}
	tx := s.NewTx()
	var every Shards
	every.AddAll()
	tx.Lock(&every, w.now)
	tx.TakeOver(second, func(int) bool { return true })
	if !errors.Is(tx.Err(), ErrMember) {
		t.Errorf("keys that no other member has are taken over: %v", tx.Err())
	}
	tx.Unlock()
	put, kept, err := tx.Merge(second, true, func(set *Shards) (func() error, error) {
		tx.Lock(set, w.now)
		return func() error { tx.Commit(); tx.Unlock(); return nil }, nil
	})
	if put != 1 || kept != 0 || err != nil {
		t.Errorf("%d keys are put, %d kept: %v", put, kept, err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}
