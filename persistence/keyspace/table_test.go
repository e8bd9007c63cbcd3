package keyspace

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/persistence/slab"
)

// TestTableStaysInOrder inserts and removes keys with evenly spread, equal, and
// extreme hashes and checks the order, the homes, and that every key is found.
func TestTableStaysInOrder(t *testing.T) {
	const seed = 2
	r := rand.New(rand.NewPCG(seed, 0))
	hashes := map[string]func() uint64{
		"spread": r.Uint64,
		"equal":  func() uint64 { return 7 << 50 },
		"low":    func() uint64 { return r.Uint64N(1000) },
		"high":   func() uint64 { return 1<<56 - 1 - r.Uint64N(3) },
	}
	for name, hash := range hashes {
		var p slab.Pool
		var mem int64
		tb := NewTable(0, &p, &mem, 0)
		keys := map[string]uint64{}
		for i := range 3000 {
			key := binary.BigEndian.AppendUint32(nil, uint32(i))
			h := hash() &^ (0xff << 56)
			tb.AddInline(h, key, key, int64(i%2), Dirty)
			keys[string(key)] = h
			if i%3 == 2 {
				for k, h := range keys { // any
					tb.Erase(tb.Find(h, []byte(k)))
					delete(keys, k)
					break
				}
			}
		}
		last := uint64(0)
		for i, s := range tb.slots {
			if s.meta == 0 {
				continue
			}
			home := tb.home(s.hash)
			if s.hash < last || home > i || tb.slots[home].meta == 0 {
				t.Fatalf("%s, seed %d: slot %d with home %d breaks the order", name, seed, i, home)
			}
			last = s.hash
		}
		for k, h := range keys {
			i := tb.Find(h, []byte(k))
			if i < 0 {
				t.Fatalf("%s, seed %d: key %x is not found", name, seed, k)
			}
			if key, value, _ := tb.Parts(tb.slots[i].meta); string(key) != k || string(value) != k {
				t.Fatalf("%s, seed %d: key %x holds %x", name, seed, k, value)
			}
		}
		if tb.Size() != len(keys) || tb.Dirty != len(keys) || tb.Used != len(keys) {
			t.Errorf("%s, seed %d: size %d, dirty %d, used %d, want %d", name, seed, tb.Size(), tb.Dirty, tb.Used, len(keys))
		}
		tb.Drop()
		if mem != 0 {
			t.Errorf("%s, seed %d: %d bytes left after drop", name, seed, mem)
		}
		p.Close()
	}
}

// A table that was expected to grow has room for that at once, and gives back what did not come.
func TestTableGivesBackWhatWasExpected(t *testing.T) {
	var p slab.Pool
	var mem int64
	tb := NewTable(0, &p, &mem, 0)
	key := make([]byte, 4)
	add := func(from, to int) {
		for i := from; i < to; i++ {
			binary.BigEndian.PutUint32(key, uint32(i))
			tb.AddInline(uint64(i)*0x9e3779b97f4a7c15&^(0xff<<56), key, key, 0, Dirty)
		}
	}
	add(0, 1000)
	tb.Expect(0.001)
	before := tb.capacity
	add(1000, 2000)
	if tb.capacity < 3*before || tb.capacity > MostExpected*before {
		t.Errorf("%d homes became %d, though 1000000 slots are expected", before, tb.capacity)
	}
	tb.Unexpect()
	if tb.capacity > 2600 || mem < int64(len(tb.slots))*SlotBytes || mem > int64(len(tb.slots))*SlotBytes+2000*64 {
		t.Errorf("%d homes and %d bytes are left for 2000 slots", tb.capacity, mem)
	}
	for i := range 2000 {
		binary.BigEndian.PutUint32(key, uint32(i))
		if tb.Find(uint64(i)*0x9e3779b97f4a7c15&^(0xff<<56), key) < 0 {
			t.Fatalf("key %d is gone", i)
		}
	}
	tb.Drop()
}
