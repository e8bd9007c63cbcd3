package bloom

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

func FuzzLoadChunk(f *testing.F) {
	good := reserved(f, 0.01, 100, 2)
	addBloom(f, nil, good, "a")
	header, bits := dumpBloom(good)
	f.Add(header, int64(145), bits)
	f.Add(header, int64(9), bits[:9])
	f.Add(reserved(f, 0.001, 100_000, 2).appendHeader(nil), int64(16400), bits)
	f.Fuzz(func(t *testing.T, header []byte, iter int64, chunk []byte) {
		const limit = 1 << 22
		b := New()
		var ch structures.Change
		if b.LoadHeader(&ch, header, limit) != nil {
			if len(b.layers) != 0 || ch.Len() != 0 {
				t.Fatal("a refused header changed the filter")
			}
			return
		}
		_ = b.LoadChunk(&ch, iter, chunk)
		if b.has(b.hash([]byte("x"))) != b.Exists([]byte("x")) {
			t.Fatal("look-ups differ")
		}
		if added, err := b.Add(&ch, []byte("x"), limit); err == nil && (!b.Exists([]byte("x")) || added && b.Card() == 0) {
			t.Fatal("item is lost")
		}
		again := New()
		structurestest.Replay(t, again, ch.Encoded())
		h1, b1 := dumpBloom(b)
		h2, b2 := dumpBloom(again)
		if !bytes.Equal(h1, h2) || !bytes.Equal(b1, b2) {
			t.Fatal("replay differs")
		}
	})
}

func FuzzDecodeBloom(f *testing.F) {
	small := reserved(f, 0.01, 100, 2)
	addBloom(f, nil, small, "a")
	f.Add(small.AppendHead(nil), uint64(0), []byte(nil), []byte("\x11\x01\x01a"))
	big := reserved(f, 0.01, 20_000, 2)
	addBloom(f, nil, big, "a")
	f.Add(big.AppendHead(nil), uint64(1), make([]byte, big.layers[0].pageBytes(1)), []byte("\x13\x02\x01\x05\x02ab"))
	f.Add(New().AppendHead(nil), uint64(0), []byte(nil), []byte("\x10\x04\x08\x00\x00\x00\x00\x00\x00\xe0\x3f\x01\x03\x01\x05\x01\x02"))
	f.Fuzz(func(t *testing.T, head []byte, id uint64, page, record []byte) {
		b, err := Decode(head)
		if err != nil {
			return
		}
		if err := b.SetPage(id, page); err != nil && b.held > len(head) {
			t.Fatal("a refused page took memory")
		}
		for len(record) > 0 {
			op, args, rest, err := structures.NextOp(record)
			if err != nil {
				break
			}
			_ = b.Apply(op, &args)
			record = rest
		}
		b.Exists([]byte("x"))
		if b.bytes > 1<<24 {
			return // the rest would only show that much memory can be visited
		}
		disk := structurestest.Shelf{}
		disk.StoreAll(b)
		again, err := Decode(b.AppendHead(nil))
		if err != nil {
			t.Fatalf("head of a decoded filter: %v", err)
		}
		disk.Load(t, again)
		if !bytes.Equal(again.AppendHead(nil), b.AppendHead(nil)) {
			t.Fatal("stored and read filter differs")
		}
	})
}

// Each round adds or asks for another item: the page that it needs is seldom in
// the processor's cache. Adding includes growing; the pages of the largest filter are
// made before, since each of its 8,400 is made but once.
func BenchmarkBloom(b *testing.B) {
	for _, n := range []uint64{1000, 1_000_000, 100_000_000} {
		f := reserved(b, 0.01, n, 2)
		for i := range f.layers[0].pageCount() {
			f.open(&f.layers[0], i)
		}
		item := []byte("item:--------")
		b.Run(fmt.Sprintf("add/n=%d", n), func(b *testing.B) {
			var ch structures.Change
			b.ReportAllocs()
			for i := uint64(0); b.Loop(); i++ {
				ch.Reset(1 << 20)
				binary.LittleEndian.PutUint64(item[5:], i)
				f.Add(&ch, item, noLimit)
			}
		})
		b.Run(fmt.Sprintf("exists/n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := uint64(0); b.Loop(); i++ {
				binary.LittleEndian.PutUint64(item[5:], i%f.Card())
				f.Exists(item)
			}
		})
	}
}
