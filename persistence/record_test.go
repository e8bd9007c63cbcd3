package persistence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/slots"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures/testscale"
)

// Of the big values that a transaction gives a key the record holds the last.
func TestRecordHoldsTheLastBigValueOfAKey(t *testing.T) {
	s := openMemory(t, Options{})
	defer closeStore(t, s)
	all(s, 1, func(tx *Tx) {
		for i := range 50 {
			tx.GiveString([]byte("k"), bytes.Repeat([]byte{byte(i)}, 1<<20), NoExpiry)
			tx.PatchString([]byte("k"), 5, []byte("x"))
			tx.Transfers().Rename([]byte("k"), []byte("l"))
			tx.Transfers().Rename([]byte("l"), []byte("k"))
		}
		if n := tx.RecordBytes(); n > 2<<20 {
			t.Errorf("50 values of 1 MiB under one key: a record of %d bytes", n)
		}
	})
}

// However big values are set, patched, copied, renamed and removed, a replay leaves
// what there was.
func TestReplayOfBigValuesLeavesWhatThereWas(t *testing.T) {
	for seed := uint64(0); seed < 6; seed += testscale.By {
		r := rand.New(rand.NewPCG(seed, 7))
		fs := disktest.New()
		o := Options{FS: fs, Dir: "db", IdleAfter: -1, Sync: SyncPolicy(seed % 3)}
		s := openMemory(t, o)
		want := map[string][]byte{}
		for range 40 {
			all(s, 1, func(tx *Tx) {
				for range 1 + r.IntN(8) {
					stepBig(t, r, tx, want)
				}
			})
		}
		if seed%2 == 0 {
			if err := s.passes.Materialise(context.Background()); err != nil {
				t.Fatal(err)
			}
			all(s, 1, func(tx *Tx) { stepBig(t, r, tx, want) })
		}
		o.FS = onDevice(t, s, fs)
		closeStore(t, s)
		s = openMemory(t, o)
		all(s, 1, func(tx *Tx) {
			for i := range bigKeys {
				key := fmt.Sprint("k", i)
				got, ok, err := tx.String([]byte(key))
				if w, there := want[key]; err != nil || ok != there || !bytes.Equal(got, w) {
					t.Errorf("seed %d: %s after the replay: %d bytes, want %d (%v)", seed, key, len(got), len(w), err)
				}
			}
		})
		closeStore(t, s)
	}
}

// A big string is written in parts. What changes it meanwhile, or takes its place, is
// what a later life finds, on disk and in the journal.
func TestBigStringThatChangesWhileItIsWrittenIsFoundAgain(t *testing.T) {
	for seed := range testscale.Rounds(uint64(2)) {
		r := rand.New(rand.NewPCG(seed, 8))
		o := Options{FS: vfs.NewMem(), IdleAfter: -1}
		s := openMemory(t, o)
		if resize(s, func(z *writeback.Sizes) { z.Part = 1 }); seed%2 == 0 {
			stageParts(s)
		}
		want := make([]byte, writeback.PartString+writeback.PartString/8)
		for i := range want {
			want[i] = byte(r.Uint32())
		}
		key := []byte("k")
		all(s, 1, func(tx *Tx) { tx.SetString(key, want, NoExpiry) })
		written := make(chan error, 1) // what the passes answered
		go func() {
			err := s.passes.Materialise(context.Background())
			written <- errors.Join(err, s.passes.Materialise(context.Background()))
		}()
		var pace pace
		for done := false; !done; {
			select {
			case err := <-written:
				if done = true; err != nil {
					t.Fatal(err)
				}
			default:
			}
			all(s, 1, func(tx *Tx) {
				if pace.due(tx, key) {
					want = stepLong(t, r, tx, key, want)
				}
			})
			runtime.Gosched()
		}
		if seed%2 == 0 {
			materialise(t, s)
		}
		closeStore(t, s)
		s = openMemory(t, o)
		all(s, 1, func(tx *Tx) {
			if got, _, err := tx.String(key); err != nil || !bytes.Equal(got, want) {
				t.Errorf("seed %d: %d bytes, want %d (%v)", seed, len(got), len(want), err)
			}
		})
		closeStore(t, s)
	}
}

// pace has four changes of a value follow each of its parts that a pass encodes: more
// than there are pages in a part. With as many as there is time for, the passes of a slow
// machine do not get their lock, and the changes of a pass take a minute.
type pace struct {
	part    uint16
	changes int
}

func (p *pace) due(tx *Tx, key []byte) bool {
	part := uint16(0)
	if t, i, ok := tx.find(tx.s.Hash(key), key); ok {
		part = t.Object(t.Meta(i)).Parts
	}
	if part != p.part {
		p.part, p.changes = part, 0
	}
	p.changes++
	return p.changes <= 4
}

// stepLong changes a string of a MiB and more, now and then into another one, and
// returns what it is then.
func stepLong(t *testing.T, r *rand.Rand, tx *Tx, key, want []byte) []byte {
	t.Helper()
	switch r.IntN(200) {
	case 0:
		want = bytes.Repeat([]byte{byte(r.Uint32())}, 2<<20+r.IntN(100_000))
		tx.SetString(key, want, NoExpiry)
	case 1:
		tx.Delete(key)
		want = bytes.Repeat([]byte("again"), 300_000)
		tx.SetString(key, want, NoExpiry)
	default:
		const page = 64 << 10
		patch, off := make([]byte, page), page*r.IntN(len(want)/page) // zeros have no page
		if r.IntN(2) == 0 {
			patch, off = []byte{1}, r.IntN(len(want)+100)
		}
		if err := tx.PatchString(key, off, patch); err != nil {
			t.Fatal(err)
		}
		want = append(want, make([]byte, max(off+len(patch)-len(want), 0))...)
		copy(want[off:], patch)
	}
	return want
}

// onDevice is what is on the device when all that was changed is.
func onDevice(t *testing.T, s *Store, fs *disktest.Disk) vfs.FS {
	t.Helper()
	if err := s.commits.WaitDurable(s.commits.Journal.Newest()); err != nil {
		t.Fatal(err)
	}
	return fs.CrashClone(vfs.CrashCloneCfg{})
}

const bigKeys = 5

// stepBig changes a key and the model of it.
func stepBig(t *testing.T, r *rand.Rand, tx *Tx, want map[string][]byte) {
	t.Helper()
	k, to := fmt.Sprint("k", r.IntN(bigKeys)), fmt.Sprint("k", r.IntN(bigKeys))
	value := bytes.Repeat([]byte{byte(r.Uint32())}, 1+r.IntN(1<<(1+r.IntN(20))))
	held, there := want[k]
	switch r.IntN(6) {
	case 0, 1:
		tx.SetString([]byte(k), value, NoExpiry)
		want[k] = value
	case 2:
		off := r.IntN(len(held) + 1)
		if err := tx.PatchString([]byte(k), off, value); err != nil {
			t.Fatal(err)
		}
		want[k] = slots.Patched(held, off, value)
	case 3:
		if tx.Delete([]byte(k)) != there {
			t.Fatalf("Delete %s: want %v", k, there)
		}
		delete(want, k)
	case 4:
		if tx.Transfers().Rename([]byte(k), []byte(to)); there && k != to {
			want[to] = held
			delete(want, k)
		}
	case 5:
		if k == to {
			break
		}
		if copied, err := tx.Transfers().Copy([]byte(k), 0, []byte(to), true); err != nil {
			t.Fatal(err)
		} else if copied {
			want[to] = held
		}
	}
}

// A big record is a frame of the log, in a file of its own if it is longer than others, and goes with it
// when the journal is cut.
func TestBigRecordsAreFilesOfTheLog(t *testing.T) {
	fs := disktest.New()
	o := Options{FS: fs, Dir: "db", IdleAfter: -1}
	s := openMemory(t, o)
	value := bytes.Repeat([]byte("0123456789"), 1_800_000)
	lsn := all(s, 1, func(tx *Tx) {
		tx.SetString([]byte("k"), value, NoExpiry)
		tx.SetString([]byte("small"), []byte("v"), NoExpiry)
	})
	all(s, 1, func(tx *Tx) { tx.PatchString([]byte("k"), 3, []byte("later")) })
	if err := s.commits.WaitDurable(lsn + 1); err != nil {
		t.Fatal(err)
	}
	if files, size := s.files.Log.Size(); files != 2 || size < int64(len(value)) {
		t.Errorf("18 MB: got %d files of %d bytes, want one for it and one for what follows", files, size)
	}
	o.FS = onDevice(t, s, fs)
	closeStore(t, s)
	s = openMemory(t, o)
	defer closeStore(t, s)
	copy(value[3:], "later")
	all(s, 1, func(tx *Tx) {
		if got, _, _ := tx.String([]byte("k")); !bytes.Equal(got, value) {
			t.Error("the value is not what it was")
		}
	})
	if err := s.passes.Materialise(context.Background()); err != nil {
		t.Fatal(err)
	}
	if files, size := s.files.Log.Size(); files != 1 || size > 1<<20 {
		t.Errorf("after the journal was cut: %d files of %d bytes are left", files, size)
	}
}
