package persistence

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures/hash"
)

// change runs f with a key locked, and commits.
func changeKey(s *Store, key string, f func(tx *Tx, key []byte)) {
	tx := s.NewTx()
	var set Shards
	set.AddAll()
	tx.Lock(&set, 1000)
	defer tx.Unlock()
	f(tx, []byte(key))
	tx.Commit()
}

// Whatever changes a key is noted, once until it is taken, and what only reads it is not.
func TestTrackerNotesKeysThatChange(t *testing.T) {
	s := openMemory(t, Options{Databases: 2})
	set := func(tx *Tx, key []byte) { tx.SetString(key, []byte("1"), NoExpiry) }
	for _, key := range []string{"a", "renamed", "deleted", "expires", "persists", "patched"} {
		changeKey(s, key, set)
	}
	changeKey(s, "persists", func(tx *Tx, key []byte) { tx.SetExpire(key, 5000) })
	tracker := s.Track(func(key []byte) bool { return !strings.HasPrefix(string(key), "other") })
	if s.Track(func([]byte) bool { return true }) != nil {
		t.Error("there are two trackers")
	}
	changeKey(s, "a", func(tx *Tx, key []byte) {
		if _, ok, err := tx.String(key); !ok || err != nil {
			t.Error(ok, err)
		}
	})
	changeKey(s, "other", set)
	if n := tracker.Len(); n != 0 {
		t.Errorf("%d keys are noted before any has changed: %v", n, tracker.Take(n))
	}
	changeKey(s, "set", set)
	changeKey(s, "set", set)
	changeKey(s, "renamed", func(tx *Tx, key []byte) { tx.Transfers().Rename(key, []byte("to")) })
	changeKey(s, "deleted", func(tx *Tx, key []byte) { tx.Delete(key) })
	changeKey(s, "expires", func(tx *Tx, key []byte) { tx.SetExpire(key, 5000) })
	changeKey(s, "persists", func(tx *Tx, key []byte) { tx.Persist(key) })
	changeKey(s, "patched", func(tx *Tx, key []byte) { _ = tx.PatchString(key, 3, []byte("x")) })
	edit := func(tx *Tx, key []byte) {
		v, ch, _, err := Edit(tx, key, func() *hash.Hash { return hash.New(tx.HashKeys()) })
		if err != nil {
			t.Error(err)
		}
		v.Set(ch, []byte("f"), []byte(fmt.Sprint(tx.Now(), v.Len())))
	}
	changeKey(s, "hash", edit)
	changeKey(s, "set", func(tx *Tx, key []byte) {
		tx.Select(1)
		set(tx, key)
	})
	changeKey(s, "moved", func(tx *Tx, key []byte) {
		set(tx, key)
		tx.Transfers().Move(key, 1)
	})
	var all []string
	for _, key := range append(tracker.Take(4), tracker.Take(100)...) {
		all = append(all, fmt.Sprint(key.DB, key.Name))
	}
	slices.Sort(all)
	if got, want := strings.Join(all, " "), "0deleted 0expires 0hash 0moved 0patched 0persists 0renamed 0set 0to 1moved 1set"; got != want {
		t.Errorf("noted are %s, want %s", got, want)
	}
	changeKey(s, "hash", func(tx *Tx, key []byte) { tx.Delete(key) })
	changeKey(s, "hash", edit)
	if got := tracker.Take(9); len(got) != 1 || got[0] != (KeyIn{0, "hash"}) || tracker.Lost() {
		t.Errorf("a key that changes again: %v, lost: %v", got, tracker.Lost())
	}
	tracker.Stop()
	changeKey(s, "set", set)
	if tracker.Len() != 0 {
		t.Error("a tracker that was stopped notes keys")
	}
	if s.Track(func([]byte) bool { return true }) == nil {
		t.Error("there is no other tracker after Stop")
	}
}

// What cannot be noted is said to be lost: a database that is flushed or exchanged, and too many keys.
func TestTrackerSaysThatItLacksKeys(t *testing.T) {
	s := openMemory(t, Options{Databases: 2})
	for what, do := range map[string]func(tx *Tx, key []byte){
		"FLUSHDB":  func(tx *Tx, _ []byte) { tx.Databases().Flush(0) },
		"FLUSHALL": func(tx *Tx, _ []byte) { tx.Databases().FlushAll() },
		"SWAPDB":   func(tx *Tx, _ []byte) { tx.Databases().Swap(0, 1) },
		"large keys": func(tx *Tx, _ []byte) {
			for i := range 65 {
				tx.SetString([]byte(fmt.Sprintf("%d%s", i, strings.Repeat("x", 1<<20))), nil, NoExpiry)
			}
		},
	} {
		changeKey(s, "k", func(tx *Tx, key []byte) { tx.SetString(key, nil, NoExpiry) })
		tracker := s.Track(func([]byte) bool { return true })
		changeKey(s, "k", func(tx *Tx, key []byte) { tx.SetString(key, nil, NoExpiry) })
		if tracker.Lost() {
			t.Fatal("lost before anything was")
		}
		changeKey(s, "k", do)
		if !tracker.Lost() || tracker.Len() != 0 {
			t.Errorf("%s: lost: %v, %d keys", what, tracker.Lost(), tracker.Len())
		}
		tracker.Stop()
	}
}
