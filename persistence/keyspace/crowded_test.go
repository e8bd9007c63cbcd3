//go:build unix

package keyspace

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence/slab"
	"github.com/vigildb/vigil/structures/testscale"
)

// crowds are hashes that lie at one home, as no key of ours would let them.
var crowds = map[string]func(r *rand.Rand) uint64{
	"one hash":   func(*rand.Rand) uint64 { return 7 << 40 },
	"neighbours": func(r *rand.Rand) uint64 { return 7<<40 + r.Uint64N(1<<24) },
	"the end":    func(r *rand.Rand) uint64 { return 1<<56 - 1 - r.Uint64N(1<<20) },
	"few hashes": func(r *rand.Rand) uint64 { return 7<<40 + r.Uint64N(5) },
}

// TestCrowdedTableStaysQuick puts 200,000 keys of one hash, and fewer of others, at
// one home. In a run those would take more than a minute.
func TestCrowdedTableStaysQuick(t *testing.T) {
	const seed = 6
	for name, hash := range crowds {
		keys := 40_000
		if name == "one hash" {
			keys = testscale.Rounds(200_000)
		}
		r := rand.New(rand.NewPCG(seed, 0))
		var p slab.Pool
		var mem int64
		tb := NewTable(0, &p, &mem, 0)
		hashes := make([]uint64, keys)
		began := processorTime(t)
		for i := range hashes {
			hashes[i] = hash(r)
			key := binary.BigEndian.AppendUint64(nil, r.Uint64()<<32|uint64(i))
			hashes[i], key = hashes[i]&^(0xff<<56), key[4:]
			tb.AddInline(hashes[i], key, nil, 0, 0)
		}
		for i, h := range hashes {
			key := binary.BigEndian.AppendUint32(nil, uint32(i))
			if at := tb.Find(h, key); at < 0 || string(tb.Key(tb.slots[at].meta)) != string(key) {
				t.Fatalf("%s, seed %d: key %d is not found", name, seed, i)
			}
		}
		if !tb.crowded() || len(tb.slots) > 4*keys+2*blockSlots {
			t.Errorf("%s: crowded %v with %d slots", name, tb.crowded(), len(tb.slots))
		}
		for i, h := range hashes {
			tb.Erase(tb.Find(h, binary.BigEndian.AppendUint32(nil, uint32(i))))
		}
		if took := processorTime(t) - began; took > 30*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		tb.AddInline(1, []byte("k"), nil, 0, 0)
		if tb.crowded() || tb.Size() != 1 || tb.Find(1, []byte("k")) < 0 {
			t.Errorf("%s: not as usual after all is gone: crowded %v, size %d", name, tb.crowded(), tb.Size())
		}
		tb.Drop()
		p.Close()
		if mem != 0 {
			t.Errorf("%s: %d bytes left after drop", name, mem)
		}
	}
}

// processorTime is what the process has used, which other programs do not make longer.
func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestCrowdedTableFollowsTheModel inserts and removes in waves, crosses from one
// layout to the other, and compares order, seeks and counts with a sorted list.
func TestCrowdedTableFollowsTheModel(t *testing.T) {
	const seed = 7
	for name, hash := range crowds {
		r := rand.New(rand.NewPCG(seed, 0))
		var p slab.Pool
		var mem int64
		tb := NewTable(0, &p, &mem, 0)
		var keys []uint64 // hash and number of each, as the model
		hashes := map[uint64]uint64{}
		next := uint64(0)
		for wave, target := range []int{18_000, 300, 11_000, 9_000, 40, 0, 100} {
			for len(keys) < target {
				h := hash(r)
				if r.IntN(3) == 0 {
					h = r.Uint64N(1 << 56)
				}
				tb.AddInline(h, binary.BigEndian.AppendUint64(nil, next), nil, 0, Dirty)
				hashes[next] = h
				keys = append(keys, next)
				next++
			}
			for len(keys) > target {
				n := r.IntN(len(keys))
				k := keys[n]
				tb.Erase(tb.Find(hashes[k], binary.BigEndian.AppendUint64(nil, k)))
				delete(hashes, k)
				keys[n] = keys[len(keys)-1]
				keys = keys[:len(keys)-1]
			}
			checkOrder(t, name, tb, hashes)
			if crowded := tb.crowded(); wave == 0 && !crowded || wave > 4 && crowded {
				t.Errorf("%s, seed %d, wave %d: crowded %v", name, seed, wave, crowded)
			}
		}
		tb.Drop()
		p.Close()
	}
}

func checkOrder(t *testing.T, name string, tb *Table, hashes map[uint64]uint64) {
	t.Helper()
	var want, got []uint64
	for k, h := range hashes {
		want = append(want, h)
		if tb.Find(h, binary.BigEndian.AppendUint64(nil, k)) < 0 {
			t.Fatalf("%s: key %d is not found", name, k)
		}
	}
	slices.Sort(want)
	for _, s := range tb.slots {
		if s.meta != 0 {
			got = append(got, s.hash)
		}
	}
	if !slices.Equal(got, want) || tb.Used != len(want) || tb.Dirty != len(want) {
		t.Fatalf("%s: %d slots in another order than %d hashes; used %d, dirty %d", name, len(got), len(want), tb.Used, tb.Dirty)
	}
	for i, h := range want {
		for _, from := range []uint64{h, h + 1} {
			n, _ := slices.BinarySearch(want[i:], from)
			at := tb.Seek(from)
			if n += i; n == len(want) && at != len(tb.slots) || n < len(want) && tb.slots[at].hash != want[n] {
				t.Fatalf("%s: seek %d stands at %d", name, from, at)
			}
		}
		if i > 0 && want[i-1] == h {
			continue
		}
		if tb.Find(h, []byte("another")) >= 0 {
			t.Fatalf("%s: a key that is not there is found at %d", name, h)
		}
	}
}
