package topk

import (
	"bytes"
	"maps"
	"math/bits"
)

// entry is a place in the heap. One that is not used is empty, and its count is 0.
type entry struct {
	print, count uint32
	used         bool
	item         []byte
}

// sheet is entries side by side, which are written to disk together.
type sheet struct {
	entries [sheetEntries]entry
	dirty   bool // changed since Clean
	stored  bool // the disk has it
}

const (
	sheetShift   = 5
	sheetEntries = 1 << sheetShift
)

// heap is k entries, hardly any of them with a greater count than the two below it: one whose count is
// corrected downwards stays where it is, as in RedisBloom. Sheets of empty entries are not
// made, so that a list of millions takes what it holds.
type heap struct {
	k         uint64
	sheets    []*sheet
	memory    int // bytes that sheets and items take
	used      int // entries that are used, and the bytes of their items
	itemBytes int
	places    map[string]uint64

	paged    bool   // it is in pages on disk; it stays so
	declared int    // entries with an item that the head has
	next     uint64 // place behind the one that loadEntries read last
}

// mapped is the number of entries from which on a map says where an item is.
const mapped = 64

const (
	entryBytes = 32
	sheetBytes = sheetEntries*entryBytes + 16
	placeBytes = 64 // of an entry in the map
)

// reset makes an empty heap. Its memory is used again.
func (h *heap) reset(k uint64) {
	*h = heap{k: k, sheets: h.sheets, memory: h.memory}
	if n := mapped/sheetEntries + 1; len(h.sheets) > n {
		h.sheets, h.memory = nil, 0
	}
	for _, s := range h.sheets {
		if s == nil {
			continue
		}
		for i := range s.entries {
			s.entries[i] = entry{item: s.entries[i].item[:0]}
		}
		s.dirty, s.stored = false, false
	}
	if k > mapped {
		h.places = map[string]uint64{}
	}
}

// fork returns a copy, whose sheets have not changed.
func (h *heap) fork() heap {
	g := *h
	g.sheets, g.places = make([]*sheet, len(h.sheets)), maps.Clone(h.places)
	for n, s := range h.sheets {
		if s == nil {
			continue
		}
		t := &sheet{entries: s.entries}
		for i := range t.entries {
			t.entries[i].item = bytes.Clone(t.entries[i].item)
		}
		g.sheets[n] = t
	}
	return g
}

// takeOver makes the heap what a fork of it has become.
func (h *heap) takeOver(fork *heap) {
	for n, s := range h.sheets {
		if s != nil {
			t := fork.sheets[n]
			t.dirty, t.stored = t.dirty || s.dirty, s.stored
		}
	}
	fork.paged = fork.paged || h.paged
	*h = *fork
}

// empty is what is in a sheet that is not made. It is never written to.
var empty entry

// at returns entry i to be read.
func (h *heap) at(i uint64) *entry {
	if n := i >> sheetShift; n < uint64(len(h.sheets)) && h.sheets[n] != nil {
		return &h.sheets[n].entries[i&(sheetEntries-1)]
	}
	return &empty
}

// open returns entry i to be written.
func (h *heap) open(i uint64) *entry {
	n := i >> sheetShift
	for uint64(len(h.sheets)) <= n {
		h.sheets = append(h.sheets, nil)
		h.memory += 8
	}
	if h.sheets[n] == nil {
		h.sheets[n] = &sheet{}
		h.memory += sheetBytes
	}
	h.sheets[n].dirty = true
	return &h.sheets[n].entries[i&(sheetEntries-1)]
}

// put sets entry i.
func (h *heap) put(i uint64, e entry) {
	was := h.open(i)
	if was.used {
		h.used--
		h.itemBytes -= len(was.item)
	}
	h.memory += cap(e.item) - cap(was.item)
	e.used = true
	*was = e
	h.used++
	h.itemBytes += len(e.item)
	if h.places != nil {
		h.places[string(e.item)] = i
	}
}

// find returns where an item is, -1 if it is nowhere.
func (h *heap) find(item []byte, print uint32) int {
	if h.places != nil {
		if i, ok := h.places[string(item)]; ok {
			return int(i)
		}
		return -1
	}
	for n, s := range h.sheets {
		if s == nil {
			continue
		}
		for i := range s.entries {
			if e := &s.entries[i]; e.print == print && e.used && bytes.Equal(e.item, item) {
				return n<<sheetShift | i
			}
		}
	}
	return -1
}

// offer puts an item into the heap if its count is not below the least, and returns the item that has to go
// for it, if one has to.
func (h *heap) offer(item []byte, print, count uint32) (dropped []byte, ok bool) {
	root := h.at(0)
	if count < root.count {
		return nil, false
	}
	if i := h.find(item, print); i >= 0 {
		h.open(uint64(i)).count = count
		h.sink(uint64(i))
		return nil, false
	}
	dropped, ok = root.item, root.used
	if ok && h.places != nil {
		delete(h.places, string(dropped))
	}
	h.put(0, entry{print: print, count: count, item: bytes.Clone(item)})
	h.sink(0)
	return dropped, ok
}

// sink moves an entry down until none below it has a smaller count. Of two below it the right one is
// looked at only if its count is smaller, and the first step changes places also where counts are equal:
// so does RedisBloom, on which it depends who of those of equal counts has to go.
func (h *heap) sink(i uint64) {
	for first := true; ; first = false {
		child := 2*i + 1
		if child >= h.k {
			return
		}
		if child+1 < h.k && h.at(child+1).count < h.at(child).count {
			child++
		}
		above, below := *h.at(i), *h.at(child)
		if below.count > above.count || below.count == above.count && !first {
			return
		}
		h.swap(i, child, above, below)
		i = child
	}
}

func (h *heap) swap(i, j uint64, above, below entry) {
	*h.open(i), *h.open(j) = below, above
	if h.places == nil {
		return
	}
	if below.used {
		h.places[string(below.item)] = i
	}
	if above.used {
		h.places[string(above.item)] = j
	}
}

// each visits the entries of sheets that are made.
func (h *heap) each(visit func(i uint64, e *entry)) {
	for n, s := range h.sheets {
		if s == nil {
			continue
		}
		for i := range s.entries {
			if at := uint64(n)<<sheetShift | uint64(i); at < h.k {
				visit(at, &s.entries[i])
			}
		}
	}
}

// size is the memory held.
func (h *heap) size() int {
	if h.places == nil {
		return h.memory
	}
	return h.memory + placeBytes*(1<<bits.Len(uint(len(h.places))))
}
