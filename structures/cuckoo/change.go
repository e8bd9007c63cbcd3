package cuckoo

import (
	"fmt"
	"math"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/cells"
)

// Operations of a filter. These numbers are on disk and never change.
const (
	opReserve = 16 // capacity, bucket size, iterations, expansion
	opInsert  = 17 // items
	opDelete  = 18 // item
	opCompact = 19
	opHeader  = 20 // header of a dump
	opChunk   = 21 // position, bytes
)

// Result is what became of an item.
type Result uint8

const (
	Added  Result = iota
	There         // it may be there already, and was to be added only if it is not
	Full          // the filter is full and does not grow
	Memory        // the filter is full and may not grow any more
)

// Mode says which items Insert adds.
type Mode uint8

const (
	Every   Mode = iota // those that are there too, again
	Missing             // those that are surely not there
)

// Insert adds items, and visits what becomes of each. The slots stay within limit bytes. If a page
// cannot be read it reports false, and nothing is added.
func (f *Filter) Insert(ch *structures.Change, items [][]byte, m Mode, limit uint64, visit func(Result)) bool {
	filters, count := f.Arrays(), f.items
	f.Begin()
	f.added, f.moves = f.added[:0], maxMoves
	n := 0
	for _, item := range items {
		r := f.insert(hashOf(item), m, limit)
		if f.added = append(f.added, r == Added); r == Added {
			n++
		}
		visit(r)
	}
	if !f.End() {
		for f.Arrays() > filters {
			f.Drop()
		}
		f.items = count
		return false
	}
	if n > 0 {
		ch.Op(opInsert, n)
		for i, item := range items {
			if f.added[i] {
				ch.Bytes(item)
			}
		}
	}
	return true
}

// maxMoves bounds the moves that one call may make for nothing: an item for which a full filter has no room
// costs as many as the iterations allow, 65535, and a call may have a million items. Beyond it an item that finds
// no empty slot finds no room. Replay does the same, as only items that were added are recorded, and those that
// were moved for cost nothing here: the number is a part of the format.
const maxMoves = 1 << 19

func (f *Filter) insert(h hash, m Mode, limit uint64) Result {
	if m == Missing && f.has(h) {
		return There
	}
	for {
		if f.place(h) {
			f.items++
			return Added
		}
		if f.expansion == 0 {
			return Full
		}
		if !f.grow(limit) {
			return Memory
		}
	}
}

// place finds a slot for a fingerprint, the newest sub-filter first. Those of others are moved for it
// in the newest one only.
func (f *Filter) place(h hash) bool {
	for k := f.Arrays() - 1; k >= 0; k-- {
		if slot, ok := f.find(f.Array(k), h.first, h.second, 0); ok {
			f.Array(k).Set(slot, h.print)
			return true
		}
	}
	return f.kick(f.Array(f.Arrays()-1), h)
}

// kick puts a fingerprint of a sub-filter in the place of another one, this in the place of a third, and so on, until
// one of them finds an empty slot. If none does within the iterations all are put back.
func (f *Filter) kick(a *cells.Array, h hash) bool {
	if f.moves <= 0 {
		return false
	}
	n, hand, victim := f.bucketsOf(a), h.print, uint64(0)
	f.path = f.path[:0]
	for bucket := h.first % n; uint64(len(f.path)) < f.iterations; victim = (victim + 1) % f.bucketSize {
		slot := bucket*f.bucketSize + victim
		hand = swap(a, slot, hand)
		f.path = append(f.path, slot)
		bucket = other(bucket, hand) % n
		if i := a.Index(bucket*f.bucketSize, int(f.bucketSize), 0); i >= 0 {
			a.Set(bucket*f.bucketSize+uint64(i), hand)
			return true
		}
	}
	for i := len(f.path) - 1; i >= 0; i-- {
		hand = swap(a, f.path[i], hand)
	}
	f.moves -= len(f.path)
	return false
}

// swap sets a slot and returns what was there.
func swap(a *cells.Array, slot uint64, print byte) (was byte) {
	was = a.Get(slot)
	a.Set(slot, print)
	return was
}

// grow puts a sub-filter on top, if that is allowed.
func (f *Filter) grow(limit uint64) bool {
	if f.Arrays() == 0 {
		return false
	}
	top := f.Array(f.Arrays() - 1).Size()
	limit = min(limit, cells.MaxBytes)
	if top > limit/f.expansion || f.Bytes() > limit-top*f.expansion || f.Arrays() == MaxFilters {
		return false
	}
	f.Push(top * f.expansion)
	return true
}

// Delete takes a fingerprint of item away and reports whether there was one. If many were deleted,
// those of the newest sub-filters are moved to older ones.
func (f *Filter) Delete(ch *structures.Change, item []byte) bool {
	h := hashOf(item)
	for k := f.Arrays() - 1; k >= 0; k-- {
		slot, ok := f.find(f.Array(k), h.first, h.second, h.print)
		if !ok {
			continue
		}
		compacts := f.Crowded()
		if f.Unread() || compacts && !f.LoadAll() {
			return false
		}
		f.Array(k).Set(slot, 0)
		f.items--
		f.deletes++
		if compacts {
			f.compact(untilOneStays)
		}
		ch.Op(opDelete, 1)
		ch.Bytes(item)
		return true
	}
	return false
}

// Crowded reports that the next Delete of an item that is there moves fingerprints.
func (f *Filter) Crowded() bool {
	return f.Arrays() > 1 && float64(f.deletes+1) > float64(f.items-1)*deletedPart
}

// Become makes the filter what a fork of it became by Delete or Compact, which recorded what they did. The filter has not changed
// since the fork, which must not be used any more.
func (f *Filter) Become(ch *structures.Change, fork *Filter, recorded *structures.Change) {
	f.TakeOver(&fork.Stack)
	f.items, f.deletes = fork.items, fork.deletes
	ch.Append(recorded.Encoded())
}

// deletedPart of the items may be deleted before fingerprints are moved.
const deletedPart = 0.10

// effort says how far compact goes.
type effort uint8

const (
	untilOneStays effort = iota // until a sub-filter keeps a fingerprint
	throughAll
)

// Compact moves fingerprints from newer sub-filters to older ones, where there is room, and drops those on
// top that are empty then. If a page cannot be read it reports false and does nothing.
func (f *Filter) Compact(ch *structures.Change) bool {
	if !f.LoadAll() {
		return false
	}
	f.compact(throughAll)
	ch.Op(opCompact, 0)
	return true
}

func (f *Filter) compact(e effort) {
	for k := f.Arrays() - 1; k > 0; k-- {
		if !f.empty(k) && e == untilOneStays {
			break
		}
	}
	f.deletes = 0
}

// empty moves the fingerprints of sub-filter k to older ones, and reports whether all went. It is
// dropped if they did and it is on top.
func (f *Filter) empty(k int) bool {
	all, a := true, f.Array(k)
	for slot := range a.Size() {
		print := a.Get(slot)
		if print != 0 && f.moveDown(k, slot/f.bucketSize, print) {
			a.Set(slot, 0)
		} else if print != 0 {
			all = false
		}
	}
	if all && k == f.Arrays()-1 {
		f.Drop()
	}
	return all
}

// moveDown puts a fingerprint of a bucket into a sub-filter below k, the oldest with room.
func (f *Filter) moveDown(k int, bucket uint64, print byte) bool {
	for older := range k {
		if slot, ok := f.find(f.Array(older), bucket, other(bucket, print), 0); ok {
			f.Array(older).Set(slot, print)
			return true
		}
	}
	return false
}

// Apply replays an operation. The limits that it was made under do not hold here: what was done once
// must be done again.
func (f *Filter) Apply(op byte, args *structures.Args) error {
	switch op {
	case opReserve:
		s := Shape{Capacity: args.Uint(), BucketSize: args.Uint(), Iterations: args.Uint(), Expansion: args.Uint()}
		return f.applyNew(args, "reserve", func() error { return f.Reserve(nil, s, cells.MaxBytes) })
	case opHeader:
		header := args.Bytes()
		return f.applyNew(args, "load", func() error { return f.LoadHeader(nil, header, cells.MaxBytes) })
	case opInsert:
		return f.applyInsert(args)
	case opDelete:
		item := args.Bytes()
		if err := args.Done(); err != nil {
			return err
		}
		if !f.Delete(nil, item) && !f.Unread() {
			return fmt.Errorf("delete from a cuckoo filter what is not there: %w", structures.ErrCorrupt)
		}
		return nil
	case opCompact:
		if err := args.Done(); err != nil {
			return err
		}
		f.Compact(nil)
		return nil
	case opChunk:
		pos, data := args.Uint(), args.Bytes()
		if err := args.Done(); err != nil {
			return err
		}
		if err := f.load(min(pos, math.MaxInt64), data); err != nil && !f.Unread() {
			return fmt.Errorf("load chunk of a cuckoo filter: %w: %w", err, structures.ErrCorrupt)
		}
		return nil
	}
	return fmt.Errorf("operation %d of a cuckoo filter: %w", op, structures.ErrUnknownChange)
}

// applyNew replays what makes a filter of one that is new.
func (f *Filter) applyNew(args *structures.Args, what string, reserve func() error) error {
	err := args.Done()
	if err == nil && f.Arrays() > 0 {
		err = structures.ErrCorrupt
	}
	if err == nil {
		err = reserve()
	}
	if err != nil {
		return fmt.Errorf("%s a cuckoo filter: %w: %w", what, err, structures.ErrCorrupt)
	}
	return nil
}

func (f *Filter) applyInsert(args *structures.Args) error {
	items := make([][]byte, 0, 1)
	for args.Left() > 0 && args.Err() == nil {
		items = append(items, args.Bytes())
	}
	if err := args.Done(); err != nil {
		return err
	}
	refused := f.Arrays() == 0
	f.Insert(nil, items, Every, cells.MaxBytes, func(r Result) { refused = refused || r != Added })
	if refused && !f.Unread() {
		return fmt.Errorf("add to a cuckoo filter without room: %w", structures.ErrCorrupt)
	}
	return nil
}
