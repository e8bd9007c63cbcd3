package persistence

import (
	"fmt"
	"testing"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures/structurestest"
	"github.com/vigildb/vigil/structures/testscale"
)

func TestStringsAreWhatWasSet(t *testing.T) {
	const keys = 20_000 / testscale.By
	s := openMemory(t, Options{})
	defer closeStore(t, s)
	all(s, 1, func(tx *Tx) {
		for i := range keys {
			k := fmt.Appendf(nil, "key:%d", i)
			tx.SetString(k, fmt.Appendf(nil, "value:%0*d", i%5000, i), NoExpiry)
		}
	})
	all(s, 1, func(tx *Tx) {
		for i := range keys {
			k := fmt.Appendf(nil, "key:%d", i)
			b, ok, err := tx.String(k)
			if want := fmt.Sprintf("value:%0*d", i%5000, i); !ok || err != nil || string(b) != want {
				t.Fatalf("String %s: got %.40q, %v, %v, want %.40q", k, b, ok, err, want)
			}
		}
		if n := tx.Databases().Size(0); n != keys {
			t.Fatalf("DBSize: got %d, want %d", n, keys)
		}
		seen := map[string]bool{}
		structurestest.Scan(t, func(cursor uint64) uint64 {
			return tx.Databases().Scan(cursor, 10, func(key []byte, _ kindOf) { seen[string(key)] = true })
		})
		if len(seen) != keys {
			t.Fatalf("Scan: got %d keys, want %d", len(seen), keys)
		}
		clear(seen)
		visits := 0
		for shard := range uint64(format.ShardCount) {
			for from, first := shard<<56, true; first || from != 0; first = false {
				from = tx.Databases().ScanShard(from, 10, func(key []byte) { seen[string(key)] = true; visits++ })
			}
		}
		if len(seen) != keys || visits != keys {
			t.Fatalf("ScanShard: got %d keys in %d visits, want %d", len(seen), visits, keys)
		}
		for i := range keys {
			if !tx.Delete(fmt.Appendf(nil, "key:%d", i)) {
				t.Fatalf("Delete key:%d: absent", i)
			}
		}
		if n := tx.Databases().Size(0); n != 0 {
			t.Fatalf("DBSize: got %d, want 0", n)
		}
	})
}
