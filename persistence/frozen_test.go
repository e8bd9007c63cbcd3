package persistence

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/structures"
)

// A frozen copy has what was there when it was made, whatever becomes of the store, and values larger than it may have in memory.
func TestFrozenCopyStaysAsItWas(t *testing.T) {
	disk := disktest.New()
	s := openMemory(t, Options{FS: disk, Databases: 4, IdleAfter: -1})
	in := smallIntake(t, s)
	fill(t, in, 7)
	all(s, 1, func(tx *Tx) {
		tx.TakeOver(in, everyDatabase)
		tx.SetString([]byte("expired"), []byte("v"), 5)
	})
	f, err := s.Freeze()
	if err = errors.Join(err, in.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Freeze(); !errors.Is(err, ErrIntake) {
		t.Errorf("a second one: got %v", err)
	}
	f.s.eviction.Set(64<<10, eviction.Spill, 5) // none of the larger values fits
	all(s, 1, func(tx *Tx) { tx.Databases().FlushAll() })
	if err := s.purger.Run(); err != nil {
		t.Error(err)
	}
	for db, want := range []int{100, 102, 110, 0} {
		found := map[string]bool{}
		err := f.Each(context.Background(), db, 10, func(key []byte, v structures.Value, text []byte, expire int64) error {
			found[string(key)] = true
			if v == nil {
				if len(text) == 0 {
					t.Errorf("%s is empty", key)
				}
				return nil
			}
			n := 0
			for name, value := range kindsOfValues(&f.s.keys.Values) {
				if _, err := fmt.Sscanf(string(key), name+":%d", &n); err == nil {
					grow(t, value, n, func(structures.Value) error { return nil })
					if elements(v) != elements(value) {
						t.Errorf("%s is another value", key)
					}
				}
			}
			return nil
		})
		if err != nil || len(found) != want || found["expired"] {
			t.Errorf("database %d: %d keys, want %d, %v", db, len(found), want, err)
		}
	}
	stop := errors.New("stop")
	if err := f.Each(context.Background(), 0, 10, func([]byte, structures.Value, []byte, int64) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if names, err := disk.List("db/" + frozenDir); !errors.Is(err, fs.ErrNotExist) && len(names) > 0 {
		t.Errorf("left: %v, %v", names, err)
	}
	closeStore(t, s)
}
