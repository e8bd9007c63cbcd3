package bloom

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/vigildb/vigil/structures/structurestest"
)

// A head of the first form has no more than the header, and with the pages it is the filter.
func TestHeadOfTheFirstFormIsTheFilter(t *testing.T) {
	for _, capacity := range []uint64{10, 100_000} {
		f := New()
		if err := f.Reserve(nil, Shape{Error: 0.01, Capacity: capacity, Expansion: 2}, 1<<20); err != nil {
			t.Fatal(err)
		}
		for i := range 300 {
			if _, err := f.Add(nil, fmt.Append(nil, i), 1<<20); err != nil {
				t.Fatal(err)
			}
		}
		first, now := f.AppendHeadAs(nil, 0), f.AppendHead(nil)
		_, header := f.DumpChunk(nil, 0)
		if paged := capacity > 10; paged != !bytes.Equal(first, now) || paged && !bytes.Equal(first, header) {
			t.Errorf("capacity %d: heads of %d and %d bytes, the header has %d", capacity, len(first), len(now), len(header))
		}
		g, err := Decode(first)
		if err != nil {
			t.Fatal(err)
		}
		f.Pages(true, func(id uint64, page []byte) {
			if err := g.SetPage(id, page); err != nil {
				t.Error(err)
			}
		})
		if got, want := structurestest.State(g), structurestest.State(f); got != want || g.Form() != 0 {
			t.Errorf("capacity %d: form %d,\n%s, want\n%s", capacity, g.Form(), got, want)
		}
	}
}

// Filters whose bits do not fill their bytes are not read by versions of the first form.
func TestFiltersOfEarlyPayloadsHaveALaterForm(t *testing.T) {
	f := New()
	if err := f.Reserve(nil, Shape{Error: 0.01, Capacity: 100, Expansion: 2}, 1<<20); err != nil {
		t.Fatal(err)
	}
	_, header := f.DumpChunk(nil, 0)
	bits := header[headerLen+8:]
	binary.LittleEndian.PutUint64(bits, binary.LittleEndian.Uint64(bits)-3)
	g := New()
	if err := g.LoadOld(header, 1<<20); err != nil || g.Form() != 1 {
		t.Errorf("form %d, %v", g.Form(), err)
	}
}
