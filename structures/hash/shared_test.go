package hash

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

// Hashes of very different sizes have pages of very different depths.
func TestSharedFieldsAreThoseThatAllHave(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	shared := 0
	for round := 0; round < 60 || shared < 10_000; round++ { // fewer would be no trial
		hashes := make([]*Hash, 2+r.IntN(2))
		for i := range hashes {
			hashes[i] = New(structurestest.Keys(seed))
			size := []int{10, 100, 3000, 30_000}[r.IntN(4)]
			for range size {
				hashes[i].Set(nil, fmt.Append(nil, "f", r.IntN(2*size)), nil)
			}
		}
		want := map[string]bool{}
		for f := range fieldsOf(hashes[0]) {
			all := true
			for _, h := range hashes[1:] {
				_, has := h.Get([]byte(f), 0)
				all = all && has
			}
			if all {
				want[f] = true
			}
		}
		shared += len(want)
		alone := 0
		hashes[0].EachMissing(hashes[1:], func(field []byte) bool {
			for _, h := range hashes[1:] {
				if _, has := h.Get(field, 0); has {
					t.Fatalf("%q is in another", field)
				}
			}
			alone++
			return true
		})
		for f := range fieldsOf(hashes[0]) {
			for i, h := range hashes[1:] {
				if _, has := h.Get([]byte(f), 0); has {
					break
				} else if i == len(hashes)-2 {
					alone--
				}
			}
		}
		if alone != 0 {
			t.Fatalf("%d fields too many that are in no other", alone)
		}
		limit, n := len(want)/2, 0
		hashes[0].EachShared(hashes[1:], func([]byte) bool { n++; return n < limit })
		if limit > 0 && n != limit {
			t.Fatalf("stopped after %d, want %d", n, limit)
		}
		n = len(want)
		hashes[0].EachShared(hashes[1:], func(field []byte) bool {
			if !want[string(field)] {
				t.Fatalf("%q is not in all, or was visited before", field)
			}
			delete(want, string(field))
			return true
		})
		if len(want) > 0 {
			t.Fatalf("%d of %d shared fields were missed", len(want), n)
		}
	}
}

func TestOnlyNewFieldsAreSetByExactlyThat(t *testing.T) {
	for _, fields := range []int{3, 500} {
		h, copied := New(structurestest.Keys(1)), New(structurestest.Keys(1))
		var ch structures.Change
		for i := range fields {
			if !h.SetNew(&ch, fmt.Append(nil, i), []byte("old")) {
				t.Fatalf("field %d is not new", i)
			}
		}
		h.ExpireAt(&ch, []byte("1"), 1000)
		before := ch.Len()
		h.Clean()
		for i := range fields {
			if h.SetNew(&ch, fmt.Append(nil, i), []byte("another value")) {
				t.Fatalf("field %d is new again", i)
			}
		}
		if ms, _, _ := h.ExpiryOf([]byte("1")); ms != 1000 || ch.Len() != before {
			t.Errorf("expiry %d, %d bytes recorded", ms, ch.Len()-before)
		}
		h.Pages(false, func(id uint64, _ []byte) { t.Errorf("page %x counts as changed", id) })
		checkTable(t, h)
		if structurestest.Replay(t, copied, ch.Encoded()); structurestest.State(copied) != structurestest.State(h) {
			t.Error("the record gives another hash")
		}
	}
}
