package persistence

import (
	"fmt"
	"testing"
)

func TestStringsAreWhatWasSet(t *testing.T) {
	s := openMemory(t, Options{})
	defer closeStore(t, s)
	all(s, 1, func(tx *Tx) {
		for i := range 20000 {
			k := fmt.Appendf(nil, "key:%d", i)
			tx.SetString(k, fmt.Appendf(nil, "value:%0*d", i%5000, i), NoExpiry)
		}
	})
	all(s, 1, func(tx *Tx) {
		for i := range 20000 {
			k := fmt.Appendf(nil, "key:%d", i)
			b, ok, err := tx.String(k)
			if want := fmt.Sprintf("value:%0*d", i%5000, i); !ok || err != nil || string(b) != want {
				t.Fatalf("String %s: got %.40q, %v, %v, want %.40q", k, b, ok, err, want)
			}
		}
		if n := tx.DBSize(0); n != 20000 {
			t.Fatalf("DBSize: got %d, want 20000", n)
		}
		seen, cursor := map[string]bool{}, uint64(0)
		for {
			cursor = tx.Scan(cursor, 10, func(key []byte, _ kindOf) { seen[string(key)] = true })
			if cursor == 0 {
				break
			}
		}
		if len(seen) != 20000 {
			t.Fatalf("Scan: got %d keys, want 20000", len(seen))
		}
		clear(seen)
		visits := 0
		for shard := range uint64(shardCount) {
			for from, first := shard<<56, true; first || from != 0; first = false {
				from = tx.ScanShard(from, 10, func(key []byte) { seen[string(key)] = true; visits++ })
			}
		}
		if len(seen) != 20000 || visits != 20000 {
			t.Fatalf("ScanShard: got %d keys in %d visits, want 20000", len(seen), visits)
		}
		for i := range 20000 {
			if !tx.Delete(fmt.Appendf(nil, "key:%d", i)) {
				t.Fatalf("Delete key:%d: absent", i)
			}
		}
		if n := tx.DBSize(0); n != 0 {
			t.Fatalf("DBSize: got %d, want 0", n)
		}
	})
}
