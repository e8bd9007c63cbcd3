package cells

import (
	"github.com/vigildb/vigil/structures"
)

// MaxBytes bounds the bytes of all arrays of a value whatever limit a caller gives, and
// so what a damaged record or head can ask for.
const MaxBytes = 1 << 35

// MaxArrays keeps the numbers of pages apart.
const MaxArrays = 1 << 16

// inlineBytes is the most bytes that stand in the head of a value.
const inlineBytes = 4096

// Stack is the arrays of a value, the oldest first. Its zero value has none.
type Stack struct {
	arrays []*Array
	// gone are arrays that were dropped since Clean, the last one first: the disk may have
	// pages of them.
	gone []*Array
	// spare are arrays of zeros that Recycle left, to be used again.
	spare []*Array
	size  uint64 // of all arrays

	held   int // bytes of memory that pages take
	filled int // bytes of pages
	tables int // bytes of memory that tables take
	// paged says that the bytes are in pages, not in the head. It stays so when they become
	// fewer.
	paged bool

	changed int // pages that changed since Clean
	evicted int // pages that are on disk only
	pager   structures.Pager
	hand    cursor // where Evict goes on
	part    cursor // where Flush goes on

	undoing bool
	undo    []undo
}

// cursor is a group of an array.
type cursor struct{ array, group int }

// undo is a byte that was changed.
type undo struct {
	a   *Array
	off uint64
	old byte
}

// Arrays is the number of arrays.
func (s *Stack) Arrays() int { return len(s.arrays) }

// Array returns array k from the bottom. It is valid until the stack has fewer.
func (s *Stack) Array(k int) *Array { return s.arrays[k] }

// Bytes is the size of all arrays.
func (s *Stack) Bytes() uint64 { return s.size }

// Push puts an array on top.
func (s *Stack) Push(size uint64) *Array {
	k := len(s.arrays)
	s.size += size
	if k < len(s.spare) && s.spare[k].size == size {
		s.arrays = append(s.arrays, s.spare[k])
		return s.spare[k]
	}
	for len(s.spare) > k {
		s.forget(s.spare[len(s.spare)-1])
		s.spare = s.spare[:len(s.spare)-1]
	}
	a := &Array{s: s, place: k, size: size}
	if n := len(s.gone); n > 0 {
		// The disk may still have pages of the array that was here.
		was := s.gone[n-1]
		s.gone = s.gone[:n-1]
		a.inherit(was)
	}
	s.arrays = append(s.arrays, a)
	s.tables += arrayBytes
	return a
}

// Recycle takes all arrays away, of a value that becomes another one. Its memory is used again by
// arrays of the same sizes. By the name Reset every value with a stack would be a structures.Reusable,
// though its counters stay as they are.
func (s *Stack) Recycle() {
	for _, a := range s.arrays {
		for _, g := range a.groups {
			if g == nil {
				continue
			}
			for i := range g.data {
				if g.shared>>i&1 != 0 {
					s.held -= cap(g.data[i])
					g.data[i] = nil
					continue
				}
				g.data[i] = g.data[i][:0]
			}
			*g = group{data: g.data}
		}
	}
	if len(s.arrays) >= len(s.spare) {
		s.arrays, s.spare = s.spare, s.arrays
	} // else they are the first ones of spare
	s.arrays = s.arrays[:0]
	s.size, s.filled, s.paged, s.changed, s.evicted = 0, 0, false, 0, 0
	s.gone, s.hand, s.part = nil, cursor{}, cursor{}
}

// arrayBytes is the memory of an array without groups.
const arrayBytes = 64

// inherit marks pages that the disk has of an array that was in the same place: they are
// to go unless they are written again.
func (a *Array) inherit(was *Array) {
	for n, g := range was.groups {
		if g != nil && g.stored != 0 && uint64(n) < (a.pageCount()+groupMask)>>groupShift {
			h := a.group(uint64(n))
			h.stored = g.stored
			h.dirty = g.stored
			a.s.changed += ones(h.dirty)
		}
	}
}

// Drop takes the array on top away.
func (s *Stack) Drop() {
	a := s.arrays[len(s.arrays)-1]
	s.arrays = s.arrays[:len(s.arrays)-1]
	s.size -= a.size
	s.forget(a)
	s.hand, s.part = cursor{}, cursor{}
	s.gone = append(s.gone, a)
}

// forget takes an array out of the accounts, and its bytes from it.
func (s *Stack) forget(a *Array) {
	s.tables -= arrayBytes + 8*len(a.groups)
	for _, g := range a.groups {
		if g == nil {
			continue
		}
		s.tables -= groupBytes + 24*len(g.data)
		s.changed -= ones(g.dirty)
		s.evicted -= ones(g.evicted)
		for i := range g.data {
			s.held -= cap(g.data[i])
			s.filled -= len(g.data[i])
		}
		*g = group{stored: g.stored}
	}
}

// Unread reports that a page could not be read for the command under way.
func (s *Stack) Unread() bool { return s.pager != nil && s.pager.Failed() }

// Begin notes from now on which bytes are changed by Set, if that may be for nothing because a page
// cannot be read.
func (s *Stack) Begin() { s.undoing = s.evicted > 0 }

// End ends what Begin began. It reports false if a page could not be read: bytes that were set
// are as before then.
func (s *Stack) End() bool {
	failed := s.undoing && s.Unread()
	for i := len(s.undo) - 1; failed && i >= 0; i-- {
		u := s.undo[i]
		u.a.load(u.off >> pageShift)[u.off&pageMask] = u.old
	}
	s.undoing = false
	if cap(s.undo) > keptUndo {
		s.undo = nil
	}
	s.undo = s.undo[:0]
	return !failed
}

// keptUndo is how many notes of changes there is room for between commands.
const keptUndo = 1024

// Memory is the number of bytes that the stack takes.
func (s *Stack) Memory() int { return s.held + s.tables }

// leaveHead gives the bytes pages of their own. All are new on disk.
func (s *Stack) leaveHead() {
	s.paged = true
	s.MarkAllDirty()
}
