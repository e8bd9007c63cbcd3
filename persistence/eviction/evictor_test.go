package eviction

import (
	"fmt"
	"testing"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/slots"
	"github.com/vigildb/vigil/persistence/writeback"
)

// now is the time in ms.
const now = 10_000_000

// rig is an evictor of a keyspace without a disk, and its host.
type rig struct {
	Evictor
	keyspace keyspace.Keyspace
	writer   writeback.Writer
	uses     slots.Uses
	keys     format.Keys
	placer   slots.Placer
	defers   bool
	evicted  map[string]bool
}

func (r *rig) Defers() bool { return r.defers }

func (r *rig) Evict(t *keyspace.Table, _, i int) {
	r.evicted[string(t.Key(t.Meta(i)))] = true
	t.Detach(i)
	t.Erase(i)
}

// writerHost is the store as the writer sees it, which asks for the bound only.
type writerHost struct {
	writeback.Host
	r *rig
}

func (h writerHost) Bound() int64 { return h.r.SpillBound() }

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{keys: format.DeriveKeys([16]byte{1}), evicted: map[string]bool{}}
	r.keyspace.Init(&r.keys.Values, keyspace.RecentBytes)
	r.keyspace.Phys = []uint32{1}
	for i := range r.keyspace.Shard {
		r.keyspace.Shard[i].Tables = make([]*keyspace.Table, 1)
	}
	t.Cleanup(r.keyspace.Pool.Close)
	r.writer.Init(writeback.Config{Host: writerHost{r: r}, Keyspace: &r.keyspace, Keys: &r.keys})
	r.placer = slots.New(&r.keyspace, &r.writer, &r.uses, func(error) {}, 1)
	r.Config = Config{Host: r, Keyspace: &r.keyspace, Writer: &r.writer, Uses: &r.uses,
		Now: func() int64 { return now }, Seed: func() uint64 { return 7 }}
	return r
}

// put sets a key that was used some seconds ago.
func (r *rig) put(key string, expire, ago int64) {
	hash := r.keys.Hash.Sum([]byte(key))
	sh := format.ShardOf(hash)
	var set keyspace.Shards
	set.Add(hash)
	r.keyspace.Lock(&set, true)
	t := r.keyspace.Table(sh, 0)
	r.placer.Clock = r.uses.ClockAt(now - 1000*ago)
	r.placer.SetString(t, t.Find(hash, []byte(key)), hash, []byte(key), make([]byte, 100), expire)
	r.keyspace.Unlock(&set)
}

// Each policy removes what it may, until memory is within the bound.
func TestPoliciesRemoveWhatTheyMay(t *testing.T) {
	for _, c := range []struct {
		policy   Policy
		defers   bool
		evicts   bool
		volatile bool
	}{
		{None, false, false, false}, {AllKeysLRU, false, true, false}, {AllKeysLRU, true, false, false}, {AllKeysLFU, false, true, false},
		{AllKeysRandom, false, true, false}, {AllKeysLRM, false, true, false}, {VolatileLRU, false, true, true}, {VolatileLFU, false, true, true},
		{VolatileRandom, false, true, true}, {VolatileTTL, false, true, true}, {VolatileLRM, false, true, true},
	} {
		r := newRig(t)
		r.defers = c.defers
		for i := range 1000 {
			r.put(fmt.Sprint(i), int64(i%2*1e9), 10)
		}
		r.Set(r.keyspace.Memory.Load()-10_000, c.policy, 5)
		r.MakeRoom()
		if r.Over() == c.evicts || (len(r.evicted) > 0) != c.evicts || len(r.evicted) > 500 {
			t.Errorf("policy %d, defers %v: %d keys evicted, over the bound: %v", c.policy, c.defers, len(r.evicted), r.Over())
		}
		for key := range r.evicted {
			if c.volatile && key[len(key)-1]%2 == 0 {
				t.Errorf("policy %d: %s has no expiry, and was evicted", c.policy, key)
			}
		}
	}
}

// Of keys in the same shard the one that was not used for longest goes first under LRU and LFU, and the one that expires first under
// TTL.
func TestTheBestOfTheSampleGoes(t *testing.T) {
	for policy, want := range map[Policy]string{AllKeysLRU: "old", AllKeysLFU: "old", VolatileTTL: "soon"} {
		r := newRig(t)
		r.Set(0, policy, 5) // says what counts as a use
		shard := -1
		for i, n := 0, 0; n < 3; i++ { // three keys of one shard
			key := fmt.Sprint([]string{"old", "soon", "other"}[n], i)
			sh := format.ShardOf(r.keys.Hash.Sum([]byte(key)))
			if shard >= 0 && sh != shard {
				continue
			}
			shard = sh
			r.put(key, []int64{3e9, 1e9, 2e9}[n], []int64{200, 10, 20}[n])
			n++
		}
		r.Set(r.keyspace.Memory.Load()-1, policy, 5)
		r.MakeRoom()
		for key := range r.evicted {
			if len(r.evicted) != 1 || key[:len(want)] != want {
				t.Errorf("policy %d: evicted %v, want %s", policy, r.evicted, want)
			}
		}
		if len(r.evicted) == 0 {
			t.Errorf("policy %d: nothing was evicted", policy)
		}
	}
}

// The only key that may go is found, in whichever shard it is.
func TestOnlyKeyWithAnExpiryIsEvicted(t *testing.T) {
	r := newRig(t)
	r.put("stays", 0, 10)
	for i := range 200 {
		r.put(fmt.Sprint(i), 1e9, 10)
		r.Set(r.keyspace.Memory.Load()-1, VolatileRandom, 5)
		if r.MakeRoom(); r.Over() {
			t.Fatalf("key %d of those with an expiry is still there", i)
		}
	}
}

// The derived bound limits what spills, and refuses no command under other policies. Under Spill a bound below the floor holds nothing.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		policy                Policy
		bytes, derived, spill int64
		over                  bool
	}{
		{Spill, 0, 0, 0, false}, {Spill, 1, 0, 1, true}, {Spill, writeback.Floor - 1, 0, writeback.Floor - 1, true},
		{Spill, writeback.Floor, 0, writeback.Floor, false}, {Spill, 0, writeback.Floor, writeback.Floor, false},
		{None, 1, 0, 0, true}, {None, 0, 1, 0, false},
	} {
		r := newRig(t)
		r.Derived = c.derived
		r.put("k", 0, 0)
		if r.Set(c.bytes, c.policy, 5); r.SpillBound() != c.spill || r.Bound() != max(c.bytes, c.derived) || r.Over() != c.over {
			t.Errorf("%+v: bounds %d and %d, over %v", c, r.SpillBound(), r.Bound(), r.Over())
		}
	}
}
