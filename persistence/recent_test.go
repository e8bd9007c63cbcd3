package persistence

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures/hash"
)

// recentStore is a store with values of some kilobytes in one shard, where about two
// at a time are objects.
type recentStore struct {
	*Store
	t    *testing.T
	fs   vfs.FS
	keys []string
}

func newRecentStore(t *testing.T) *recentStore {
	r := &recentStore{t: t, fs: vfs.NewMem()}
	r.open()
	for i := 0; len(r.keys) < 8; i++ {
		if key := fmt.Sprint("key", i); format.ShardOf(r.Hash([]byte(key))) == 0 {
			r.keys = append(r.keys, key)
		}
	}
	for i := range r.keys {
		r.change(i, 70) // more fields than a small hash has
	}
	return r
}

func (r *recentStore) open() {
	r.Store = openMemory(r.t, Options{FS: r.fs, Databases: 2, IdleAfter: -1, RecentBytes: 9 << 10})
}

// change gives fields to the hash at a key.
func (r *recentStore) change(i, fields int) {
	all(r.Store, 1, func(tx *Tx) {
		h, ch, _, err := Edit(tx, []byte(r.keys[i]), func() *hash.Hash { return hash.New(tx.HashKeys()) })
		if err != nil {
			r.t.Fatal(err)
		}
		for f := range fields {
			h.Set(ch, fmt.Append(nil, "field", f), bytes.Repeat([]byte{byte(i)}, 30))
		}
	})
}

// check looks that a key has its fields, and everything its account.
func (r *recentStore) check(key string, i, fields int) {
	r.t.Helper()
	all(r.Store, 2, func(tx *Tx) {
		h, ok, err := View[*hash.Hash](tx, []byte(key))
		if !ok || err != nil || h.Len() != fields {
			r.t.Fatalf("%s: %v, %v", key, ok, err)
		}
		for f := range fields {
			if v, _ := h.Get(fmt.Append(nil, "field", f), 2); !bytes.Equal(v, bytes.Repeat([]byte{byte(i)}, 30)) {
				r.t.Fatalf("%s, field %d: %q", key, f, v)
			}
		}
	})
	checkAccounts(r.t, r.Store)
}

func (r *recentStore) packed() (n int) {
	for _, key := range r.keys {
		if rests(r.t, r.Store, key) {
			n++
		}
	}
	return n
}

func TestValuesOfKilobytesArePackedWhenOthersWereChanged(t *testing.T) {
	r := newRecentStore(t)
	defer func() { closeStore(t, r.Store) }()
	if n := r.packed(); n < 5 || n > 7 || rests(t, r.Store, r.keys[7]) {
		t.Errorf("%d of 8 are packed", n)
	}
	for i, key := range r.keys { // reading leaves a packed one packed
		r.check(key, i, 70)
	}
	if n := r.packed(); n < 5 || n > 7 {
		t.Errorf("%d of 8 are packed after they were read", n)
	}
	r.change(0, 75)
	if rests(t, r.Store, r.keys[0]) || !rests(t, r.Store, r.keys[5]) {
		t.Error("the one that was changed is no object, or no other one has become a record")
	}
	r.check(r.keys[0], 0, 75)
	// On disk and back, both forms.
	materialise(t, r.Store)
	closeStore(t, r.Store)
	r.open()
	r.check(r.keys[0], 0, 75)
	for i, key := range r.keys[1:] {
		r.check(key, i+1, 70)
	}
	if n := r.packed(); n != 8 {
		t.Errorf("%d of 8 are packed that were read from the disk", n)
	}
}

func TestValuesThatWaitToBePackedMayChangeInAnyWay(t *testing.T) {
	for name, change := range map[string]func(tx *Tx, key []byte){
		"deleted": func(tx *Tx, key []byte) { tx.Delete(key) },
		"renamed": func(tx *Tx, key []byte) { tx.Transfers().Rename(key, []byte("other")) },
		"moved":   func(tx *Tx, key []byte) { tx.Transfers().Move(key, 1) },
		"flushed": func(tx *Tx, _ []byte) { tx.Databases().FlushAll() },
		"a string": func(tx *Tx, key []byte) {
			tx.SetString(key, []byte("string"), NoExpiry)
		},
		"timed": func(tx *Tx, key []byte) {
			h, ch, _, _ := Edit[*hash.Hash](tx, key, nil)
			h.ExpireAt(ch, []byte("field1"), 1e12)
		},
		"large": func(tx *Tx, key []byte) {
			h, ch, _, _ := Edit[*hash.Hash](tx, key, nil)
			h.Set(ch, []byte("large"), make([]byte, 2*keyspace.MaxRecent))
		},
		"made anew": func(tx *Tx, key []byte) {
			tx.Delete(key)
			h, ch, _, _ := Edit(tx, key, func() *hash.Hash { return hash.New(tx.HashKeys()) })
			h.Set(ch, []byte("field"), make([]byte, keyspace.MaxRecent/2))
		},
	} {
		r := newRecentStore(t)
		all(r.Store, 2, func(tx *Tx) { change(tx, []byte(r.keys[7])) })
		checkAccounts(t, r.Store)
		for i := range r.keys[:7] { // all that waited are out of the queue now
			r.change(i, 72)
			r.change(i, 73)
		}
		for i, key := range r.keys[:7] {
			r.check(key, i, 73)
		}
		if objects, bytes := r.keyspace.Shard[0].Waiting(); bytes > r.opts.RecentBytes || objects > 16 {
			t.Errorf("%s: %d objects of %d bytes wait", name, objects, bytes)
		}
		closeStore(t, r.Store)
	}
}
