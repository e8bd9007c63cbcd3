package types

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/bloom"
	"github.com/vigildb/vigil/structures/countmin"
	"github.com/vigildb/vigil/structures/cuckoo"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/json"
	"github.com/vigildb/vigil/structures/list"
	"github.com/vigildb/vigil/structures/set"
	"github.com/vigildb/vigil/structures/structurestest"
	"github.com/vigildb/vigil/structures/tdigest"
	"github.com/vigildb/vigil/structures/zset"
)

// state is all that a value tells of itself, and for a hash the name of its encoding.
func state(v structures.Value) string {
	out := structurestest.State(v)
	switch v := v.(type) {
	case *hash.Hash:
		next, timed := v.NextExpiry()
		out += fmt.Sprint(v.Len(), v.Encoding(128, 64), v.Encoding(3, 1000), next, timed)
	case *list.List:
		out += fmt.Sprint(v.Len())
	}
	return out
}

// shapedKeys are those of a store, whose hashes share the names of their fields.
var shapedKeys = structurestest.Keys(1)

// compacted are a kind's empty value and a random change of one.
var compacted = map[string]struct {
	empty  func() structures.Compact
	change func(r *rand.Rand, v structures.Compact, ch *structures.Change)
}{
	"hash": {
		func() structures.Compact { return hash.New(&structures.HashKeys{}) },
		func(r *rand.Rand, v structures.Compact, ch *structures.Change) {
			h, field := v.(*hash.Hash), fmt.Append(nil, "field", r.IntN(1+r.IntN(150)))
			switch r.IntN(5) {
			case 0:
				h.Delete(ch, field)
			case 1:
				h.ExpireAt(ch, field, 1+r.Int64N(1000))
			default:
				h.Set(ch, field, bytes.Repeat([]byte{'v'}, r.IntN(r.IntN(300)+1)))
			}
		},
	},
	"hash of a shape": {
		func() structures.Compact { return hash.New(shapedKeys) },
		func(r *rand.Rand, v structures.Compact, ch *structures.Change) {
			h := v.(*hash.Hash)
			fields := [][]byte{[]byte("user"), []byte("address"), {}, []byte("created"), bytes.Repeat([]byte{'f'}, 60+r.IntN(6))}
			field := fields[r.IntN(len(fields))]
			switch r.IntN(20) {
			case 0:
				h.Delete(ch, field)
			case 1:
				h.ExpireAt(ch, field, 1+r.Int64N(1000))
			case 2:
				h.ExpireFields(ch, 500, 2, nil)
			case 3:
				h.SetNew(ch, field, []byte("new"))
			default:
				h.Set(ch, field, bytes.Repeat([]byte{'v'}, r.IntN(r.IntN(300)+1)))
			}
		},
	},
	"set": {
		func() structures.Compact { return set.New(&structures.HashKeys{}) },
		func(r *rand.Rand, v structures.Compact, ch *structures.Change) {
			s := v.(*set.Set)
			member := fmt.Append(nil, r.Uint64()) // of 8 bytes as a number
			if r.IntN(4) == 0 {
				member = fmt.Append(nil, "word", r.IntN(100))
			}
			if r.IntN(6) == 0 {
				s.Remove(ch, member)
			} else {
				s.Add(ch, member)
			}
		},
	},
	"zset": {
		func() structures.Compact { return zset.New(&structures.HashKeys{}) },
		func(r *rand.Rand, v structures.Compact, ch *structures.Change) {
			s, member := v.(*zset.Set), fmt.Append(nil, "a member of the set, number ", r.IntN(300))
			if r.IntN(6) == 0 {
				s.Remove(ch, member)
			} else {
				s.Add(ch, member, float64(r.IntN(100)), 0)
			}
		},
	},
	"list": {
		func() structures.Compact { return list.New() },
		func(r *rand.Rand, v structures.Compact, ch *structures.Change) {
			l, elem := v.(*list.List), bytes.Repeat([]byte{byte(r.Int())}, r.IntN(r.IntN(200)+1))
			switch r.IntN(6) {
			case 0:
				l.Pop(ch, list.End(r.IntN(2)))
			case 1:
				l.Set(ch, r.IntN(l.Len()+1), elem)
			case 2:
				l.Insert(ch, list.Before, elem, []byte("new"))
			default:
				l.Push(ch, list.End(r.IntN(2)), elem)
			}
		},
	},
	"count-min": {
		func() structures.Compact { return countmin.New() },
		func(r *rand.Rand, v structures.Compact, ch *structures.Change) {
			s := v.(*countmin.Sketch)
			if s.Arrays() == 0 {
				if err := s.Init(ch, 1+r.Uint64N(1000), 1+r.Uint64N(5), 1<<20); err != nil {
					panic(err)
				}
			}
			s.Add(ch, fmt.Append(nil, r.IntN(1000)), 1+r.Uint64N(1000))
		},
	},
	"t-digest": {
		func() structures.Compact { return tdigest.New() },
		func(r *rand.Rand, v structures.Compact, ch *structures.Change) {
			d := v.(*tdigest.Digest)
			if d.Arrays() == 0 {
				if err := d.Init(ch, float64(1+r.IntN(100)), 1<<20); err != nil {
					panic(err)
				}
			}
			if err := d.Add(ch, []float64{r.NormFloat64(), float64(r.IntN(5))}); err != nil {
				panic(err)
			}
		},
	},
	"cuckoo": {
		func() structures.Compact { return cuckoo.New() },
		func(r *rand.Rand, v structures.Compact, ch *structures.Change) {
			f := v.(*cuckoo.Filter)
			if f.Arrays() == 0 {
				shape := cuckoo.Shape{Capacity: uint64(4 + r.IntN(2000)), BucketSize: 2, Iterations: 20, Expansion: 2}
				if err := f.Reserve(ch, shape, 1<<20); err != nil {
					panic(err)
				}
			}
			if item := fmt.Append(nil, r.IntN(1000)); r.IntN(4) > 0 || !f.Delete(ch, item) {
				f.Insert(ch, [][]byte{item}, cuckoo.Every, 1<<20, func(cuckoo.Result) {})
			}
		},
	},
	"json": {
		func() structures.Compact { return json.New(&structures.HashKeys{}) },
		func(r *rand.Rand, v structures.Compact, ch *structures.Change) {
			d := v.(*json.Document)
			if d.Empty() {
				b := json.NewBuilder(nil)
				b.Begin(true)
				b.End()
				d.SetRoot(ch, b.Bytes())
			}
			path := []json.Step{json.Named(fmt.Append(nil, "name", r.IntN(1+r.IntN(100))))}
			switch r.IntN(5) {
			case 0:
				d.Remove(ch, path)
			case 1:
				d.AppendString(ch, path, bytes.Repeat([]byte{'x'}, r.IntN(r.IntN(9000)+1)))
			default:
				d.Put(ch, path, json.AppendString(nil, bytes.Repeat([]byte{'v'}, r.IntN(r.IntN(200)+1))))
			}
		},
	},
	"bloom": {
		func() structures.Compact { return bloom.New() },
		func(r *rand.Rand, v structures.Compact, ch *structures.Change) {
			f := v.(*bloom.Filter)
			if f.Info().Layers == 0 {
				shape := bloom.Shape{Error: 0.01, Capacity: uint64(1 + r.IntN(1000)), Expansion: 2}
				if err := f.Reserve(ch, shape, 1<<20); err != nil {
					panic(err)
				}
			}
			if _, err := f.Add(ch, fmt.Append(nil, r.IntN(1000)), 1<<20); err != nil {
				panic(err)
			}
		},
	},
}

// A value that was compacted and loaded again, into one that was something else
// before, is the value: it says the same of itself, and the same changes have the
// same results.
func TestCompactValueIsTheValue(t *testing.T) {
	for name, kind := range compacted {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 0))
			other := kind.empty() // loaded again and again
			small, large := 0, 0
			for range 300 {
				v := kind.empty()
				var ch structures.Change
				for range 1 + r.IntN(60) {
					kind.change(r, v, &ch)
					if !v.IsCompact(1024) {
						large++
						continue
					}
					small++
					b := v.AppendCompact([]byte("x"))
					if b[0] != 'x' || len(b) > 1024+32 {
						t.Fatalf("appended %d bytes", len(b))
					}
					other.LoadCompact(b[1:])
					if got, want := state(other), state(v); got != want {
						t.Fatalf("loaded\n%s, want\n%s", got, want)
					}
					// The same change of both.
					seed := r.Uint64()
					kind.change(rand.New(rand.NewPCG(seed, 1)), v, &ch)
					kind.change(rand.New(rand.NewPCG(seed, 1)), other, &ch)
					if got, want := state(other), state(v); got != want {
						t.Fatalf("after a change\n%s, want\n%s", got, want)
					}
				}
			}
			if small == 0 || large == 0 {
				t.Errorf("%d were small and %d large", small, large)
			}
		})
	}
}

// A value may be loaded from a record, stored, read back, and changed a little: the store
// then writes its head, and the pages that changed.
func TestPagesOfAValueThatRestedAreWhatTheStoreHas(t *testing.T) {
	var keys structures.HashKeys
	for name, kind := range compacted {
		t.Run(name, func(t *testing.T) {
			r := structurestest.Seeded(t)
			decode := Of(kind.empty().Kind()).Decode
			for range 100 {
				v := kind.empty()
				var ch structures.Change
				for range r.IntN(400) {
					kind.change(r, v, &ch)
				}
				if v.IsCompact(8000) {
					b := v.AppendCompact(nil)
					v.LoadCompact(b)
				}
				for range r.IntN(2) * r.IntN(400) {
					kind.change(r, v, &ch)
				}
				again := structurestest.Again(t, structures.Value(v), func(head []byte) (structures.Value, error) { return decode(head, &keys) })
				shelf := structurestest.Shelf{}
				shelf.StoreAll(v)
				again.Clean()
				shelf.Store(t, again)
				kind.change(r, again.(structures.Compact), &ch)
				shelf.Store(t, again)
			}
		})
	}
}

func TestValuesThatDoNotFitAreNotCompacted(t *testing.T) {
	var ch structures.Change
	large, paged := hash.New(&structures.HashKeys{}), hash.New(&structures.HashKeys{})
	large.Set(&ch, []byte("f"), make([]byte, 1025))
	for i := range 1000 {
		paged.Set(&ch, fmt.Append(nil, i), []byte("v"))
	}
	long := list.New()
	for range 10 {
		long.Push(&ch, list.Tail, make([]byte, 1000))
	}
	wide := bloom.New()
	if err := wide.Reserve(&ch, bloom.Shape{Error: 0.01, Capacity: 10_000, Expansion: 2}, 1<<20); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]structures.Compact{"large": large, "paged": paged, "list": long, "no list": list.New(), "filter": wide} {
		if v.IsCompact(1024) {
			t.Errorf("%s is said to be small", name)
		}
	}
}

func TestLoadingACompactValueAllocatesNothing(t *testing.T) {
	for name, kind := range compacted {
		r, v := rand.New(rand.NewPCG(1, 2)), kind.empty()
		var ch structures.Change
		for kind.change(r, v, &ch); v.Empty() || !v.IsCompact(1024); kind.change(r, v, &ch) {
			v = kind.empty()
		}
		b := v.AppendCompact(nil)
		other, dst := kind.empty(), slices.Clone(b)
		other.LoadCompact(b)
		if n := testing.AllocsPerRun(100, func() {
			other.LoadCompact(b)
			dst = other.AppendCompact(dst[:0])
		}); n != 0 {
			t.Errorf("%s: %.0f allocations", name, n)
		}
	}
}

// A value that an embedded type made structures.Reusable by accident would be created with what another one left
// in it.
func TestOnlyEmptyValuesAreReused(t *testing.T) {
	for _, r := range table {
		if r.Compact == nil {
			continue
		}
		v := r.Compact(nil)
		if _, ok := v.(structures.Reusable); ok && !v.Empty() {
			t.Errorf("a new value of kind %d is not empty, and is Reusable", v.Kind())
		}
	}
}
