package persistence

import (
	"fmt"
	"math"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/countmin"
	"github.com/vigildb/vigil/structures/cuckoo"
	"github.com/vigildb/vigil/structures/tdigest"
	"github.com/vigildb/vigil/structures/topk"
)

// The operations of the model on cuckoo filters and sketches, each small or with pages. That they do what
// they should is tested in their packages: here the value that the store has must be, to the byte, what it
// was after the operation.

// sketched makes the model remember a value as it is now.
func (o *trial) sketched(v structures.Value) bool {
	o.old.plan = dumpValue(v)
	o.put(o.old)
	return true
}

// shaped gives a value its shape if it is new.
func (o *trial) shaped(shape func(large bool) error) {
	o.Helper()
	if o.exists {
		return
	}
	if err := shape(o.r.IntN(2) == 0); err != nil {
		o.Fatalf("shape of %.20s: %v", o.key, err)
	}
}

func (o *trial) sketchItem() []byte { return fmt.Appendf(nil, "i%d", o.r.IntN(200)) }

func (o *trial) insertCuckoo() bool {
	f, ch, ok := editTrial(o, structures.KindCuckoo, cuckoo.New)
	if !ok {
		return false
	}
	o.shaped(func(large bool) error {
		s := cuckoo.Shape{Capacity: 16, BucketSize: 2, Iterations: 20, Expansion: 1}
		if large {
			s.Capacity = 30_000
		}
		return f.Reserve(ch, s, math.MaxUint64)
	})
	var items [][]byte
	for range 1 + o.r.IntN(6) {
		items = append(items, o.sketchItem())
	}
	if !f.Insert(ch, items, cuckoo.Every, math.MaxUint64, func(r cuckoo.Result) {
		if r != cuckoo.Added {
			o.Fatalf("Insert %.20s: got %d", o.key, r)
		}
	}) {
		o.Fatalf("Insert %.20s: a page could not be read", o.key)
	}
	return o.sketched(f)
}

func (o *trial) deleteCuckoo() bool {
	f, ch, ok := editTrial[*cuckoo.Filter](o, structures.KindCuckoo, nil)
	if !ok {
		return false
	}
	if o.r.IntN(8) == 0 {
		if !f.Compact(ch) {
			o.Fatalf("Compact %.20s: got false", o.key)
		}
		return o.sketched(f)
	}
	deleted := false
	for range 5 {
		item := o.sketchItem()
		there := f.Exists(item)
		if f.Delete(ch, item) != there {
			o.Fatalf("Delete %.20s %s: it is there: %v", o.key, item, there)
		}
		deleted = deleted || there
	}
	return deleted && o.sketched(f)
}

func (o *trial) countInSketch() bool {
	s, ch, ok := editTrial(o, structures.KindCountMin, countmin.New)
	if !ok {
		return false
	}
	o.shaped(func(large bool) error {
		width := uint64(5)
		if large {
			width = 9000
		}
		return s.Init(ch, width, 3, math.MaxUint64)
	})
	item, n := o.sketchItem(), uint64(1+o.r.IntN(5))
	if !s.Ready(item) || uint64(s.Add(ch, item, n)) < n {
		o.Fatalf("Add %.20s %s %d: it is less", o.key, item, n)
	}
	return o.sketched(s)
}

func (o *trial) addToTop() bool {
	l, ch, ok := editTrial(o, structures.KindTopK, topk.New)
	if !ok {
		return false
	}
	o.shaped(func(large bool) error {
		s := topk.DefaultShape(5)
		if large {
			s.Width = 3000
		}
		return l.Init(ch, s, math.MaxUint64)
	})
	var pairs []topk.Pair
	for range 1 + o.r.IntN(6) {
		pairs = append(pairs, topk.Pair{Item: o.sketchItem(), N: uint32(1 + o.r.IntN(5))})
	}
	if !l.Add(ch, o.r.Uint64(), pairs, func([]byte, bool) {}) {
		o.Fatalf("Add %.20s: got false", o.key)
	}
	return o.sketched(l)
}

func (o *trial) addToDigest() bool {
	d, ch, ok := editTrial(o, structures.KindTDigest, tdigest.New)
	if !ok {
		return false
	}
	o.shaped(func(large bool) error {
		compression := 20.0
		if large {
			compression = 2000
		}
		return d.Init(ch, compression, math.MaxUint64)
	})
	if o.r.IntN(10) == 0 {
		if !d.Clear(ch) {
			o.Fatalf("Clear %.20s: got false", o.key)
		}
		return o.sketched(d)
	}
	values := make([]float64, 1+o.r.IntN(300))
	for i := range values {
		values[i] = o.r.NormFloat64()
	}
	if err := d.Add(ch, values); err != nil {
		o.Fatalf("Add %.20s: %v", o.key, err)
	}
	return o.sketched(d)
}
