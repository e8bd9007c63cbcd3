package persistence

import (
	"fmt"
	"testing"
)

// TestExpectedHashesAreThoseOfTheirKeys looks keys up in many orders, with others
// in between, and after their bytes were used for other keys.
func TestExpectedHashesAreThoseOfTheirKeys(t *testing.T) {
	s := openMemory(t, Options{IdleAfter: -1})
	defer closeStore(t, s)
	tx := s.NewTx()
	buf := make([]byte, 0, 2000)
	for round, n := range []int{1, 2, 3, 5, 64, 65, 100} {
		var keys [][]byte
		var set Shards
		buf = buf[:0]
		for i := range n { // as in a read buffer: the same places in each round
			from := len(buf)
			buf = fmt.Appendf(buf, "key-%d-%04d", round, i)
			keys = append(keys, buf[from:])
			set.Add(tx.Expect(keys[i]))
		}
		set.AddAll()
		tx.Lock(&set, 1)
		check := func(key []byte) {
			if got, want := tx.hash(key), s.Hash(key); got != want {
				t.Fatalf("round %d: hash of %q: got %#x, want %#x", round, key, got, want)
			}
		}
		for i, key := range keys {
			check(key)
			check(key)
			check(keys[n-1-i])
			check(keys[i*7919%n])
			check(key[:4])
			check(key[1:])
			check(nil)
			check([]byte("another"))
		}
		tx.SetString(keys[n-1], []byte("v"), NoExpiry)
		tx.Commit()
		tx.Unlock()
	}
}
