package topk

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/cells"
)

// On disk a list is
//
//	head: k | width | depth (uvarints) | decay (8, bits of the float64) | entries (uvarint)
//	    | heap: 0: all of it, 1: in pages | entries of it, if it is 0 | the array of buckets, as package cells has it
//	entry: place, less that of the one before, less 1 | count (uvarints) | fingerprint (4) | length of the item
//	    (uvarint) | the item
//	page 2^63 | i: entries of places from 32*i on, which count from there
//
// with those that are not empty only, and `entries` of these in all. Pages of the heap are always in memory. A list
// that was never given a shape has zeros, and no array. These numbers are on disk and never change.

const (
	heapInHead  = 0
	heapInPages = 1
	heapPage    = 1 << 63

	// inlineHeap is the most bytes of memory of a heap that stands in the head.
	inlineHeap = 4096
)

// Operations of a list. These numbers are on disk and never change.
const (
	opInit = 16 // k, width, depth, decay (bits of the float64)
	opAdd  = 17 // seed, { item, increment }...
)

// itemBytes are the longest items that are taken from a damaged page.
const itemBytes = 1 << 32

// heapPaged reports that the heap is in pages. That stays so.
func (l *List) heapPaged() bool { return l.heap.memory > inlineHeap || l.heap.paged }

func (h *heap) appendEntries(dst []byte, sheets []*sheet) []byte {
	next := uint64(0)
	for n, s := range sheets {
		if s == nil {
			continue
		}
		for i := range s.entries {
			e := &s.entries[i]
			if !e.used {
				continue
			}
			at := uint64(n)<<sheetShift | uint64(i)
			dst = binary.AppendUvarint(dst, at-next)
			dst = binary.AppendUvarint(dst, uint64(e.count))
			dst = binary.LittleEndian.AppendUint32(dst, e.print)
			dst = binary.AppendUvarint(dst, uint64(len(e.item)))
			dst = structures.Append(dst, e.item)
			next = at + 1
		}
	}
	return dst
}

// loadEntries reads n entries of places from base up to most.
func (h *heap) loadEntries(r *structures.Reader, n, base, most uint64) {
	next := base
	for ; n > 0 && !r.Bad; n-- {
		at := next + r.Uint(most)
		e := entry{count: uint32(r.Uint(math.MaxUint32))}
		if b := r.Bytes(4); b != nil {
			e.print = binary.LittleEndian.Uint32(b)
		}
		item := r.Bytes(int(r.Uint(itemBytes)))
		if at >= most || r.Bad {
			r.Bad = true
			return
		}
		e.item = append(h.at(at).item[:0], item...)
		h.put(at, e)
		next = at + 1
		h.next = next
	}
}

// Kind is KindTopK.
func (l *List) Kind() structures.Kind { return structures.KindTopK }

// forkEntries is the most that a heap has that is copied.
const forkEntries = 1 << 16

// Fork returns a copy. It reports false also if the list has very many items, which would take long to copy.
func (l *List) Fork() (structures.Value, bool) {
	if l.heap.used > forkEntries {
		return nil, false
	}
	m := &List{shape: l.shape, chances: l.chances, heap: l.heap.fork()}
	return m, l.ForkTo(&m.Stack)
}

// Become makes the list what a fork of it became by Add, which recorded what it did. The list has not changed since the fork,
// which must not be used any more.
func (l *List) Become(ch *structures.Change, fork *List, recorded *structures.Change) {
	l.TakeOver(&fork.Stack)
	l.heap.takeOver(&fork.heap)
	ch.Append(recorded.Encoded())
}

// Empty returns false: a list without items is still a list.
func (l *List) Empty() bool { return false }

// Size estimates the memory held.
func (l *List) Size() int {
	const own = 360
	size := own + l.Memory() + l.heap.size()
	if l.chances != nil && l.chances != standardChances() {
		size += len(l.chances) * 8
	}
	return size
}

// AppendHead appends the head.
func (l *List) AppendHead(dst []byte) []byte {
	for _, v := range [...]uint64{l.shape.K, l.shape.Width, l.shape.Depth} {
		dst = binary.AppendUvarint(dst, v)
	}
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(l.shape.Decay))
	dst = binary.AppendUvarint(dst, uint64(l.heap.used))
	if l.heapPaged() {
		dst = append(dst, heapInPages)
	} else {
		dst = l.heap.appendEntries(append(dst, heapInHead), l.heap.sheets)
	}
	return l.AppendArrays(dst)
}

// Decode makes a list from its head. SetPage must be called for every stored page before the list is used, or
// SetPager.
func Decode(head []byte) (*List, error) {
	l := New()
	if err := l.decode(head); err != nil {
		return nil, fmt.Errorf("head of top list: %w", err)
	}
	return l, nil
}

func (l *List) decode(head []byte) error {
	r := structures.Reader{B: head}
	s := Shape{K: r.Uint(math.MaxUint32), Width: r.Uint(math.MaxUint32), Depth: r.Uint(math.MaxUint32)}
	if b := r.Bytes(8); b != nil {
		s.Decay = math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	used, form := r.Uint(s.K), r.Uint(heapInPages)
	if r.Bad {
		return fmt.Errorf("%d bytes: %w", len(head), structures.ErrCorrupt)
	}
	if s != (Shape{}) {
		if err := l.Init(nil, s, cells.MaxBytes); err != nil {
			return fmt.Errorf("%+v: %w: %w", s, err, structures.ErrCorrupt)
		}
	}
	if l.heap.declared = int(used); form == heapInPages {
		l.heap.paged = true
	} else if l.heap.loadEntries(&r, used, 0, s.K); r.Bad {
		return fmt.Errorf("%d entries: %w", used, structures.ErrCorrupt)
	}
	return l.LoadArrays(r.B)
}

// ResidentFrom is the number from which on pages are not evicted: those of the heap.
func (l *List) ResidentFrom() uint64 { return heapPage }

// SetPage hands in a stored page of a list that was just decoded.
func (l *List) SetPage(id uint64, page []byte) error {
	if id < heapPage {
		return l.Stack.SetPage(id, page)
	}
	base := (id &^ heapPage) << sheetShift
	if !l.heap.paged || id&^heapPage > l.heap.k>>sheetShift || l.heap.stored(id&^heapPage) {
		return fmt.Errorf("page %x of a top list: %w", id, structures.ErrCorrupt)
	}
	r := structures.Reader{B: page}
	for len(r.B) > 0 && !r.Bad {
		l.heap.loadEntries(&r, 1, base, min(base+sheetEntries, l.heap.k))
		base = l.heap.next
	}
	if r.Bad || len(page) == 0 {
		return fmt.Errorf("page %x of a top list: %w", id, structures.ErrCorrupt)
	}
	l.heap.sheets[id&^heapPage].stored = true
	return nil
}

func (h *heap) stored(n uint64) bool {
	return n < uint64(len(h.sheets)) && h.sheets[n] != nil
}

// Complete reports an error if pages are missing. It is to be asked once, after the last SetPage.
func (l *List) Complete() error {
	if l.heap.used != l.heap.declared {
		return fmt.Errorf("top list of %d items has %d: %w", l.heap.declared, l.heap.used, structures.ErrCorrupt)
	}
	return l.Stack.Complete()
}

// Pages visits changed or all pages.
func (l *List) Pages(all bool, visit func(id uint64, page []byte)) {
	l.Stack.Pages(all, visit)
	if !l.heapPaged() {
		return
	}
	var buf []byte
	for n, s := range l.heap.sheets {
		if s == nil || !all && !s.dirty {
			continue
		}
		buf = l.heap.appendEntries(buf[:0], []*sheet{s})
		switch {
		case len(buf) > 0:
			visit(heapPage|uint64(n), buf)
		case s.stored && !all:
			visit(heapPage|uint64(n), nil)
		}
	}
}

// Clean marks every page as stored.
func (l *List) Clean() {
	l.Stack.Clean()
	if l.heap.declared = l.heap.used; !l.heapPaged() {
		return
	}
	l.heap.paged = true
	for _, s := range l.heap.sheets {
		if s != nil {
			s.dirty, s.stored = false, !s.isEmpty()
		}
	}
}

func (s *sheet) isEmpty() bool {
	for i := range s.entries {
		if s.entries[i].used {
			return false
		}
	}
	return true
}

// MarkAllDirty marks every page as changed.
func (l *List) MarkAllDirty() {
	l.Stack.MarkAllDirty()
	for _, s := range l.heap.sheets {
		if s != nil {
			s.dirty = true
		}
	}
}

// Apply replays an operation.
func (l *List) Apply(op byte, args *structures.Args) error {
	switch op {
	case opInit:
		s := Shape{K: args.Uint(), Width: args.Uint(), Depth: args.Uint(), Decay: math.Float64frombits(args.Uint())}
		err := args.Done()
		if err == nil && l.Arrays() > 0 {
			err = structures.ErrCorrupt
		}
		if err == nil {
			err = l.Init(nil, s, cells.MaxBytes)
		}
		if err != nil {
			return fmt.Errorf("make top list: %w: %w", err, structures.ErrCorrupt)
		}
		return nil
	case opAdd:
		seed := args.Uint()
		pairs := make([]Pair, 0, 1)
		for args.Left() > 0 && args.Err() == nil {
			item, n := args.Bytes(), args.Uint()
			if n > MaxIncrement {
				return fmt.Errorf("increment %d of a top list: %w", n, structures.ErrCorrupt)
			}
			pairs = append(pairs, Pair{item, uint32(n)})
		}
		if err := args.Done(); err != nil {
			return err
		}
		if l.Arrays() == 0 {
			return fmt.Errorf("add to a top list without buckets: %w", structures.ErrCorrupt)
		}
		l.Add(nil, seed, pairs, func([]byte, bool) {})
		return nil
	}
	return fmt.Errorf("operation %d of a top list: %w", op, structures.ErrUnknownChange)
}
