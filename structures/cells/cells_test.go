package cells

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

// stackOf is a stack of arrays as a value of the store has it.
type stackOf struct {
	Stack
	sizes []uint64
}

func newStack(sizes ...uint64) *stackOf {
	s := &stackOf{sizes: sizes}
	for _, size := range sizes {
		s.Push(size)
	}
	return s
}

// disk is a pager over a shelf.
type disk struct {
	shelf  structurestest.Shelf
	broken bool
	failed bool
	tight  bool
}

func (d *disk) ReadPage(id uint64, use func([]byte) error) bool {
	page, ok := d.shelf[id]
	if d.broken || !ok || use([]byte(page)) != nil {
		d.failed = true
	}
	return !d.failed
}
func (d *disk) Failed() bool     { return d.failed }
func (d *disk) Room() bool       { return !d.tight }
func (d *disk) Held(uint64) bool { return false }
func (d *disk) Tight() bool      { return d.tight }

// store brings the shelf up to date with what changed.
func (d *disk) store(t *testing.T, s *stackOf) (head []byte) {
	t.Helper()
	s.Pages(false, func(id uint64, page []byte) {
		if page == nil {
			delete(d.shelf, id)
		} else {
			d.shelf[id] = string(page)
		}
	})
	head = s.AppendArrays(nil)
	s.Clean()
	return head
}

// Arrays hold what a slice of bytes would, whatever of them leaves memory or is stored and read
// again.
func TestArraysAreTheBytesThatWereSet(t *testing.T) {
	r := structurestest.Seeded(t)
	for range 20 {
		sizes := []uint64{uint64(1 + r.IntN(100)), uint64(8 + r.IntN(100<<10)), 1 << 20}[:1+r.IntN(3)]
		s, d, model := newStack(sizes...), &disk{shelf: structurestest.Shelf{}}, [][]byte{}
		s.SetPager(d)
		for _, size := range sizes {
			model = append(model, make([]byte, size))
		}
		for range 2000 {
			k := r.IntN(len(s.arrays))
			a, m := s.Array(k), model[k]
			d.tight = r.IntN(3) == 0
			switch off := r.Uint64N(a.Size()); r.IntN(14) {
			case 0:
				if off &^= 7; off+8 <= a.Size() {
					v := r.Uint64() >> r.IntN(64)
					a.PutUint64(off, v)
					for i := range 8 {
						m[off+uint64(i)] = byte(v >> (8 * i))
					}
				}
			case 1:
				if off &^= 3; off+4 <= a.Size() {
					n := uint32(r.Uint64() >> (32 + r.IntN(32)))
					want := uint32(min(uint64(binary.LittleEndian.Uint32(m[off:]))+uint64(n), math.MaxUint32))
					if got := a.AddUint32(off, n); got != want {
						t.Fatalf("integer at %d of array %d: got %d, want %d", off, k, got, want)
					}
					binary.LittleEndian.PutUint32(m[off:], want)
				}
			case 2:
				data := make([]byte, r.Uint64N(min(a.Size()-off, 10_000)+1))
				for i := range data {
					data[i] = byte(r.IntN(2) * r.IntN(256))
				}
				if r.IntN(3) == 0 {
					clear(data)
				}
				a.Write(off, data)
				copy(m[off:], data)
			case 3:
				n := r.Uint64N(min(a.Size()-off, 10_000) + 1)
				if got, ok := a.Append([]byte("x"), off, n); !ok || !bytes.Equal(got[1:], m[off:off+n]) {
					t.Fatalf("%d bytes from %d of array %d differ", n, off, k)
				}
			case 4:
				head := d.store(t, s)
				if r.IntN(4) == 0 {
					s = newStack(sizes...)
					if err := s.LoadArrays(head); err != nil {
						t.Fatal(err)
					}
					s.SetPager(d)
					s.Clean()
				}
			case 5:
				s.Evict(r.IntN(1 << 20))
			case 6:
				if r.IntN(8) == 0 && !s.LoadAll() {
					t.Fatal("not gathered")
				}
			case 7:
				undoIsExact(t, s, d, a)
				if off := r.Uint64N(a.Size()); r.IntN(6) == 0 && s.LoadAll() {
					a.Truncate(off)
					clear(m[off:])
				}
			case 8:
				if got, want := a.Get(off), m[off]; got != want {
					t.Fatalf("byte %d of array %d: got %d, want %d", off, k, got, want)
				}
			default:
				a.Set(off, byte(off%7))
				m[off] = byte(off % 7)
			}
			if d.failed {
				t.Fatal("a page is missing")
			}
		}
		for k, m := range model {
			if got, ok := s.Array(k).Append(nil, 0, s.Array(k).Size()); !ok || !bytes.Equal(got, m) {
				t.Fatalf("array %d differs", k)
			}
		}
	}
}

// undoIsExact sets bytes while no page can be read: then all are as before.
func undoIsExact(t *testing.T, s *stackOf, d *disk, a *Array) {
	t.Helper()
	if s.evicted == 0 {
		return
	}
	s.Begin()
	d.broken = true
	for off := uint64(0); off < a.Size(); off += 777 {
		a.Set(off, a.Get(off)+1)
	}
	failed := d.failed
	if s.End() == failed {
		t.Fatalf("a page could not be read: %v, End: %v", failed, !failed)
	}
	d.broken, d.failed = false, false
	if !failed {
		for off := uint64(0); off < a.Size(); off += 777 {
			a.Set(off, a.Get(off)-1)
		}
	}
}

// What the disk has is what changed since Clean makes of it, also of arrays that were dropped and came
// back.
func TestStoredPagesFollowArraysThatComeAndGo(t *testing.T) {
	r := structurestest.Seeded(t)
	s, d := newStack(5000), &disk{shelf: structurestest.Shelf{}}
	for step := range 3000 {
		switch n := r.IntN(10); {
		case n == 0 && s.Arrays() < 6:
			s.Push(5000 << s.Arrays())
		case n == 1 && s.Arrays() > 1:
			s.Drop()
		case n == 2:
			d.store(t, s)
			all := structurestest.Shelf{}
			s.Pages(true, func(id uint64, page []byte) { all[id] = string(page) })
			if len(all) != len(d.shelf) {
				t.Fatalf("step %d: %d pages of the value, %d on the disk", step, len(all), len(d.shelf))
			}
			for id, page := range all {
				if d.shelf[id] != page {
					t.Fatalf("step %d: page %x differs", step, id)
				}
			}
			if s.changed != 0 {
				t.Fatalf("%d changed pages behind Clean", s.changed)
			}
		case n == 3:
			for s.Flush(1+r.IntN(4), func(id uint64, page []byte) {
				if page == nil {
					delete(d.shelf, id)
				} else {
					d.shelf[id] = string(page)
				}
			}) {
			}
		default:
			a := s.Array(r.IntN(s.Arrays()))
			a.Set(r.Uint64N(a.Size()), byte(1+r.IntN(255)))
		}
	}
}

func TestFewBytesStandInTheHead(t *testing.T) {
	s := newStack(1<<30, 100)
	s.Array(0).Set(1<<30-1000, 7)
	s.Array(1).Set(3, 9)
	if s.paged || s.Memory() < 3000 {
		t.Fatalf("one byte at the end of a page: paged %v, %d bytes", s.paged, s.Memory())
	}
	head := s.AppendArrays(nil)
	if len(head) < 3000 || head[0] != inHead {
		t.Fatalf("head of %d bytes, form %d", len(head), head[0])
	}
	again := newStack(1<<30, 100)
	if err := again.LoadArrays(head); err != nil || again.Array(0).Get(1<<30-1000) != 7 || again.Array(1).Get(3) != 9 {
		t.Fatalf("read back: %v", err)
	}
	s.Array(0).Set(4000, 1)
	if head = s.AppendArrays(nil); !s.paged || len(head) > 50_000 || head[0] != inPages {
		t.Errorf("two pages: paged %v, head of %d bytes", s.paged, len(head))
	}
}

// Memory that a value leaves is used by the next one, and none of its bytes.
func TestResetLeavesNoBytes(t *testing.T) {
	r := structurestest.Seeded(t)
	s := newStack()
	for range 300 {
		s.Recycle()
		n := 1 + r.IntN(3)
		for k := range n {
			s.Push(uint64(100 * (k + 1 + r.IntN(2))))
		}
		for k := range n {
			if b, _ := s.Array(k).Append(nil, 0, s.Array(k).Size()); !structures.Zeros(b) {
				t.Fatal("bytes of the value before")
			}
			for range 10 {
				s.Array(k).Set(r.Uint64N(s.Array(k).Size()), 255)
			}
		}
	}
	held := 0
	for _, a := range s.arrays {
		for _, g := range a.groups {
			for _, p := range g.data {
				held += cap(p)
			}
		}
	}
	for _, a := range s.spare[min(len(s.arrays), len(s.spare)):] {
		for _, g := range a.groups {
			for _, p := range g.data {
				held += cap(p)
			}
		}
	}
	if held != s.held {
		t.Errorf("%d bytes accounted for, %d held", s.held, held)
	}
}

func TestEncodingOfArraysIsFrozen(t *testing.T) {
	s := newStack(10, 8200)
	s.Array(0).Set(2, 5)
	s.Array(1).Set(8199, 1)
	s.Array(1).Set(8192, 6)
	if got, want := s.AppendArrays(nil), []byte("\x00\x01\x00\x03\x00\x00\x05\x01\x02\x08\x06\x00\x00\x00\x00\x00\x00\x01"); !bytes.Equal(got, want) {
		t.Errorf("in the head: got %x, want %x", got, want)
	}
	s.Array(1).Set(4095, 1)
	if got, want := s.AppendArrays(nil), []byte("\x01\x01\x01\x01\x02\x05\x00\x00\x00\x00\x00\x00\x00"); !bytes.Equal(got, want) {
		t.Errorf("in pages: got %x, want %x", got, want)
	}
	ids := ""
	s.Pages(true, func(id uint64, page []byte) {
		ids += string(rune('0'+id>>32)) + string(rune('0'+id&0xff)) + string(rune('0'+len(page)%10))
	})
	if ids != "003106128" {
		t.Errorf("pages: got %s", ids)
	}
}

func FuzzLoadArrays(f *testing.F) {
	f.Add([]byte("\x00\x01\x00\x03\x00\x00\x05\x01\x02\x08\x06\x00\x00\x00\x00\x00\x00\x01"), []byte{})
	f.Add([]byte("\x01\x01\x01\x01\x02\x05\x00\x00\x00\x00\x00\x00\x00"), append(make([]byte, 8), 1, 1))
	f.Fuzz(func(t *testing.T, head, pages []byte) {
		s := newStack(10, 8200, 1<<30)
		if err := s.LoadArrays(head); err != nil {
			if !errors.Is(err, structures.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		for len(pages) > 9 {
			id := uint64(pages[0]&3)<<32 | uint64(pages[7])
			n := min(int(pages[8]), len(pages)-9)
			if s.SetPage(id, pages[9:9+n]) != nil {
				break
			}
			pages = pages[9+n:]
		}
		if s.Memory() > 1<<20+100*len(head)+8192*len(pages) {
			t.Fatalf("%d bytes for a head of %d", s.Memory(), len(head))
		}
		if s.Complete() != nil {
			return
		}
		again := newStack(10, 8200, 1<<30)
		if err := again.LoadArrays(s.AppendArrays(nil)); err != nil {
			t.Fatal(err)
		}
	})
}
