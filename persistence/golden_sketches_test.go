package persistence

import (
	"fmt"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/countmin"
	"github.com/vigildb/vigil/structures/cuckoo"
	"github.com/vigildb/vigil/structures/tdigest"
	"github.com/vigildb/vigil/structures/topk"
)

// The store in testdata/format3-sketches is as that in format3, and has cuckoo filters, count-min sketches, top lists
// and t-digests: small ones, and some in pages. It is written anew, which a new format alone may ask for, by
//
//	go test ./persistence -run TestGoldenSketches -golden
const goldenSketches = "testdata/format3-sketches"

// goldenSizes are the slots, cells or centroids of each key.
var goldenSizes = map[string]uint64{"small": 20, "paged": 6000}

// goldenTop are the most frequent items, as the numbers drawn from the seeds of changes made them.
var goldenTop = map[string]int{"small": 193, "paged": goldenItems - 1}

func goldenItem(i int) []byte { return fmt.Append(nil, "item-", i) }

const goldenItems = 200

func makeGoldenSketches(t *testing.T, tx *Tx, prefix string) {
	t.Helper()
	const room = 1 << 30
	for name, size := range goldenSizes {
		filter, counts, top, digest := cuckoo.New(), countmin.New(), topk.New(), tdigest.New()
		for _, err := range []error{
			filter.Reserve(nil, cuckoo.Shape{Capacity: size, BucketSize: 2, Iterations: 20, Expansion: 2}, room),
			counts.Init(nil, size, 3, room), top.Init(nil, topk.Shape{K: size, Width: size, Depth: 3, Decay: 0.9}, room), digest.Init(nil, float64(size), room),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		Replace(tx, []byte(prefix+name+"-cuckoo"), filter, NoExpiry)
		Replace(tx, []byte(prefix+name+"-counts"), counts, NoExpiry)
		Replace(tx, []byte(prefix+name+"-top"), top, NoExpiry)
		Replace(tx, []byte(prefix+name+"-digest"), digest, NoExpiry)
		filter, fch, _, err := Edit[*cuckoo.Filter](tx, []byte(prefix+name+"-cuckoo"), nil)
		counts, cch, _, err2 := Edit[*countmin.Sketch](tx, []byte(prefix+name+"-counts"), nil)
		top, tch, _, err3 := Edit[*topk.List](tx, []byte(prefix+name+"-top"), nil)
		digest, dch, _, err4 := Edit[*tdigest.Digest](tx, []byte(prefix+name+"-digest"), nil)
		if err != nil || err2 != nil || err3 != nil || err4 != nil {
			t.Fatal(err, err2, err3, err4)
		}
		for i := range goldenItems {
			filter.Insert(fch, [][]byte{goldenItem(i)}, cuckoo.Every, room, func(cuckoo.Result) {})
			counts.Add(cch, goldenItem(i), uint64(i))
			top.Add(tch, uint64(i), []topk.Pair{{Item: goldenItem(i), N: uint32(i) + 1}}, func([]byte, bool) {})
			if err := digest.Add(dch, []float64{float64(i)}); err != nil {
				t.Fatal(err)
			}
		}
		filter.Delete(fch, goldenItem(goldenItems-1))
	}
}

func TestGoldenSketches(t *testing.T) {
	testGolden(t, goldenSketches, makeGoldenSketches, checkGoldenSketches)
}

func checkGoldenSketches(t *testing.T, tx *Tx, prefix string) {
	t.Helper()
	for name := range goldenSizes {
		filter, _, err := View[*cuckoo.Filter](tx, []byte(prefix+name+"-cuckoo"))
		counts, _, err2 := View[*countmin.Sketch](tx, []byte(prefix+name+"-counts"))
		top, _, err3 := View[*topk.List](tx, []byte(prefix+name+"-top"))
		digest, _, err4 := View[*tdigest.Digest](tx, []byte(prefix+name+"-digest"))
		if err != nil || err2 != nil || err3 != nil || err4 != nil {
			t.Fatal(err, err2, err3, err4)
		}
		for i := range goldenItems - 1 {
			if !filter.Exists(goldenItem(i)) || counts.Estimate(goldenItem(i)) < uint32(i) {
				t.Fatalf("%s%s: item %d is missing, or counted %d times", prefix, name, i, counts.Estimate(goldenItem(i)))
			}
		}
		s, ok := digest.Look()
		if entries := top.Entries(); !ok || filter.Items() != goldenItems-1 || len(entries) == 0 || string(entries[0].Item) != string(goldenItem(goldenTop[name])) ||
			s.Quantile(0) != 0 || s.Quantile(1) != goldenItems-1 || tx.Kind([]byte(prefix+name+"-top")) != structures.KindTopK {
			t.Errorf("%s%s: %d items, list %v", prefix, name, filter.Items(), entries)
		}
	}
}
