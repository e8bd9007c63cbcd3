// Package shapes has the lists of names that small values of a store share, such as the fields of
// sessions, so that a value in memory has the number of its list in place of the names.
package shapes

import (
	"bytes"
	"sync"
	"sync/atomic"
)

// Shapes are the lists of a store. They are never on disk. The zero value is ready, and nil is one
// without lists. All methods may be called concurrently.
//
// No list is ever removed, since nothing counts the values that refer to one. Clients that put
// data into names must not fill the table for the others, so that a list enters it when it is
// met for the second time within some thousand others.
type Shapes struct {
	list atomic.Pointer[[]*Shape] // by number
	met  [metLists]atomic.Uint32  // parts of the hashes of lists that were met once

	mu    sync.RWMutex
	known map[string]*Shape
	size  int // of the lists
}

// Shape is a list of names.
type Shape struct {
	Number uint32
	Len    int    // how many names
	Names  []byte // each behind a byte with its length; not to be changed
}

const (
	// MaxBytes bounds the bytes of a list, the length of each name before it included.
	MaxBytes = 255
	// maxShapes are the lists whose numbers take two bytes, beside a bit; allBytes is what the
	// names of all may take.
	maxShapes = 1 << 13
	allBytes  = 1 << 20
	metLists  = 1 << 12
)

// Find returns the shape of a list of n names, each behind a byte with its length; nil if it has
// none, in particular if it was not met before. sum hashes lists.
func (s *Shapes) Find(names []byte, n int, sum func(names []byte) uint64) *Shape {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	shape, full := s.known[string(names)], s.full(len(names))
	s.mu.RUnlock()
	if shape != nil || full {
		return shape
	}
	hash := sum(names)
	if met := &s.met[hash%metLists]; met.Load() != uint32(hash>>32) {
		met.Store(uint32(hash >> 32))
		return nil
	}
	return s.add(names, n)
}

// full reports that there is no room for a list of so many bytes.
func (s *Shapes) full(size int) bool {
	return len(s.known) >= maxShapes || s.size+size > allBytes
}

func (s *Shapes) add(names []byte, n int) *Shape {
	s.mu.Lock()
	defer s.mu.Unlock()
	if shape := s.known[string(names)]; shape != nil || s.full(len(names)) {
		return shape
	}
	if s.known == nil {
		s.known = map[string]*Shape{}
	}
	shape := &Shape{Number: uint32(len(s.known)), Len: n, Names: bytes.Clone(names)}
	var list []*Shape
	if old := s.list.Load(); old != nil {
		list = *old
	}
	// Readers of the old list look at no number beyond its end, so that its array may grow.
	list = append(list, shape)
	s.list.Store(&list)
	s.known[string(names)] = shape
	s.size += len(names)
	return shape
}

// Number returns the shape with a number that Find gave out.
func (s *Shapes) Number(n uint32) *Shape { return (*s.list.Load())[n] }
