package rdb

import (
	"encoding/binary"
	"math"

	"github.com/vigildb/vigil/structures/topk"
)

// A top list is written as RedisBloom writes it:
//
//	module and version | k, width, depth, decay | buckets | heap | k strings: item and a zero byte, or a zero byte for none | 0
//	heap: k entries of fingerprint (4) | length of the item (4) | a pointer (8) | count (4) | 4 of padding

const (
	topKModule = 0x4e8a4af9360f1000 // the name TopK-TYPE and version 0

	heapEntry, heapLength, heapCount = 24, 4, 16
)

func appendTopK(dst []byte, l *topk.List) []byte {
	s := l.Shape()
	dst = appendLength(dst, topKModule)
	for _, v := range [...]uint64{s.K, s.Width, s.Depth} {
		dst = appendUnsigned(dst, v)
	}
	dst = binary.LittleEndian.AppendUint64(append(dst, moduleDouble), math.Float64bits(s.Decay))
	dst = appendArray(dst, l.Array(0))
	dst = appendLength(append(dst, moduleString), s.K*heapEntry)
	l.Places(func(p topk.Place) {
		var e [heapEntry]byte
		binary.LittleEndian.PutUint32(e[:], p.Print)
		binary.LittleEndian.PutUint32(e[heapLength:], uint32(len(p.Item)))
		binary.LittleEndian.PutUint32(e[heapCount:], p.Count)
		dst = append(dst, e[:]...)
	})
	l.Places(func(p topk.Place) {
		dst = appendLength(append(dst, moduleString), uint64(len(p.Item))+1)
		dst = append(append(dst, p.Item...), 0)
	})
	return append(dst, moduleEnd)
}

func (d *decoder) topK() *topk.List {
	s := topk.Shape{K: d.unsigned(math.MaxUint32), Width: d.unsigned(math.MaxUint32), Depth: d.unsigned(math.MaxUint32), Decay: math.Float64frombits(d.double())}
	l := topk.New()
	if d.err == nil && !d.has(s.K) {
		d.fail("%d items in fewer bytes", s.K)
	}
	if d.err != nil {
		return l
	}
	if err := l.Init(nil, s, d.options.MaxBloom); err != nil {
		d.fail("top list %+v: %v", s, err)
		return l
	}
	d.fill(l.Array(0), d.array(l.Array(0).Size()))
	heap := d.array(s.K * heapEntry)
	entries := heap.b
	if heap.lzf && d.err == nil {
		entries, d.err = expandLZF(nil, heap.b, heap.size)
	}
	d.max = d.options.MaxString
	for i := uint64(0); i < s.K && d.err == nil; i++ {
		d.place(l, i, entries[i*heapEntry:])
	}
	if d.tag(moduleEnd); d.err == nil && !l.EndLoad() {
		d.fail("top list with an item twice")
	}
	return l
}

// place reads the item of an entry of the heap. The module takes an item from the stream up to its first
// zero byte; one that is empty, with a count, is the empty item.
func (d *decoder) place(l *topk.List, i uint64, entry []byte) {
	d.tag(moduleString)
	item := d.string(&d.room)
	if d.err != nil {
		return
	}
	if len(item) == 0 || item[len(item)-1] != 0 {
		d.fail("item of a top list without its end")
		return
	}
	p := topk.Place{Print: binary.LittleEndian.Uint32(entry), Count: binary.LittleEndian.Uint32(entry[heapCount:]), Item: item[:len(item)-1], Used: true}
	if len(p.Item) > 0 || p.Count > 0 {
		l.SetPlace(i, p)
	}
}
