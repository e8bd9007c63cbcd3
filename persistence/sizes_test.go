package persistence

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/list"
)

// More keys than are looked at for one hold of a lock, in two databases; some are gone again, and some are large.
func TestSizesAreThoseOfTheValuesThatAreThere(t *testing.T) {
	const keys = 30_000
	s, random := openMemory(t, Options{}), rand.New(rand.NewPCG(3, 4))
	defer closeStore(t, s)
	want := map[string]int64{}
	count := func(db int, kind structures.Kind, size int) {
		want[fmt.Sprint(db, kind, bits.Len(uint(size)))]++
	}
	all(s, 1, func(tx *Tx) {
		for i := range keys {
			tx.Select(i % 2)
			size := random.IntN(1 << random.IntN(11))
			tx.SetString(fmt.Appendf(nil, "s%d", i), make([]byte, size), NoExpiry)
			if i%5 == 0 {
				tx.Delete(fmt.Appendf(nil, "s%d", i))
			} else {
				count(i%2, structures.KindString, size)
			}
			if i%100 == 0 {
				l, c, _, err := Edit(tx, fmt.Appendf(nil, "l%d", i), list.New)
				if err != nil {
					t.Fatal(err)
				}
				for range size + 1 {
					l.Push(c, list.Tail, []byte("element"))
				}
				count(i%2, structures.KindList, size+1)
			}
		}
	})
	for range 2 {
		got := map[string]int64{}
		for db, sizes := range s.Sizes() {
			for kind := range sizes {
				for i, n := range sizes[kind] {
					if n > 0 {
						got[fmt.Sprint(db, structures.Kind(kind), i)] = n
					}
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
		materialise(t, s)
	}
}
