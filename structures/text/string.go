package text

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/vigildb/vigil/structures"
)

// String is a string that is too long for a record of the keyspace.
//
// Its bytes are contiguous in memory, because every command on strings wants
// them so. On disk they are pages, so that a SETBIT in a bitmap of 100 MB
// writes 64 KiB:
//
//	head: length (uvarint) | the bytes, if the length is at most 4096
//	page i: bytes [65536*i, 65536*(i+1)) of a longer string; the last is short
//
// A page of zeros that is not the last is not stored: bitmaps and SETRANGE far
// after the end leave many of them. These numbers are on disk and never change.
type String struct {
	b []byte
	// want is the length in the head. It differs from len(b) only while the
	// pages of a decoded string are still coming in.
	want int
	// dirty has a bit for each page that changed since Clean.
	dirty []uint64
	// stored is the number of pages that Clean last left on disk.
	stored int
	// lent is set while another goroutine reads the bytes.
	lent *Loan
}

// Loan is the time for which the bytes of strings are read by a goroutine besides
// their strings, which copy them meanwhile before they change. The zero value has
// begun. Loans to one reader end in the order in which they began.
type Loan struct{ over atomic.Bool }

// End says that the bytes are not read any more. Any goroutine may call it.
func (l *Loan) End() { l.over.Store(true) }

// shared is the loan of strings that have their bytes in common: it has no end.
var shared = new(Loan)

// Lend returns the bytes, which stay as they are until l ends.
func (s *String) Lend(l *Loan) []byte {
	if s.lent != shared {
		s.lent = l
	}
	return s.b[:len(s.b):len(s.b)]
}

// Share returns a string of the same bytes, as one that is not stored. The first
// to change copies them.
func (s *String) Share() *String {
	s.b = s.b[:len(s.b):len(s.b)]
	s.lent = shared
	c := New(s.b)
	c.lent = shared
	return c
}

// own gives the string bytes that no other goroutine reads, with room for n.
func (s *String) own(n int) {
	if !s.lent.over.Load() {
		s.b = structures.GrowTo(s.b[:len(s.b):len(s.b)], max(len(s.b)+1, n))
	}
	s.lent = nil
}

// MaxStringLen bounds what a damaged head or record can make us allocate. A
// longer string cannot be read back: proto-max-bulk-len (512 MiB by default)
// must not be allowed to exceed it.
const MaxStringLen = min(math.MaxInt, 1<<32)

const (
	stringPageShift = 16
	stringPage      = 1 << stringPageShift
	stringInline    = 4096
	// stringEager is the length up to which a decoded string is allocated at
	// once, on the word of its head alone.
	stringEager = 1 << 20
)

// Operations of a String. These numbers are on disk and never change.
const (
	opStringPatch    = 16 // offset, bytes: write there, zeros in a gap
	opStringTruncate = 17 // length
)

// New returns a string that holds b, which it keeps. Nothing of it is
// stored yet.
func New(b []byte) *String {
	s := &String{b: b, want: len(b)}
	s.touch(0, len(b))
	return s
}

// Decode makes a string from its head. If the head does not hold the
// bytes, SetPage must be called for every stored page before they are read.
func Decode(head []byte) (*String, error) {
	n, w := binary.Uvarint(head)
	if w <= 0 || n > MaxStringLen {
		return nil, fmt.Errorf("length of string: %w", structures.ErrCorrupt)
	}
	s := &String{want: int(n)}
	if n <= stringInline {
		if uint64(len(head)-w) != n {
			return nil, fmt.Errorf("string of %d bytes with %d: %w", n, len(head)-w, structures.ErrCorrupt)
		}
		s.b = slices.Clone(head[w:])
		return s, nil
	}
	if len(head) != w {
		return nil, fmt.Errorf("%d bytes behind head of string: %w", len(head)-w, structures.ErrCorrupt)
	}
	if n <= stringEager {
		s.b = make([]byte, 0, n)
	}
	s.stored = pagesFor(int(n))
	return s, nil
}

// Kind is KindString.
func (s *String) Kind() structures.Kind { return structures.KindString }

// Empty returns false: a key may hold a string of no bytes.
func (s *String) Empty() bool { return false }

// Size estimates the memory held.
func (s *String) Size() int { return cap(s.b) + 8*cap(s.dirty) + 96 }

// Len is the number of bytes.
func (s *String) Len() int { return len(s.b) }

// Bytes returns the string itself. It is valid until the next change and must
// not be written to, except by a caller that hands the very bytes it wrote to
// Patch before anything else happens.
func (s *String) Bytes() []byte { return s.b }

// Patch writes b at offset off, which must not be negative. A gap after the end
// is filled with zeros. No bytes at an offset after the end lengthen the string
// to off. b may be a part of the string itself.
func (s *String) Patch(ch *structures.Change, off int, b []byte) {
	ch.Op(opStringPatch, 2)
	ch.Uint(uint64(off))
	ch.Bytes(b)
	s.patch(off, b)
}

func (s *String) patch(off int, b []byte) {
	old, end := len(s.b), off+len(b)
	if s.lent != nil {
		s.own(end)
	}
	if end > old {
		// b may alias the memory that grows; append leaves the old memory as
		// it is, so that b stays readable.
		s.b = structures.Grow(s.b, end-old)[:end]
		structures.Clear(s.b[old:max(off, old)])
	}
	structures.Copy(s.b[off:], b)
	s.want = len(s.b)
	s.touch(min(off, old), end)
}

// Truncate shortens the string to n bytes. It does nothing if the string is
// not longer than that.
func (s *String) Truncate(ch *structures.Change, n int) {
	if n >= len(s.b) {
		return
	}
	ch.Op(opStringTruncate, 1)
	ch.Uint(uint64(n))
	s.truncate(n)
}

func (s *String) truncate(n int) {
	if n >= len(s.b) {
		return
	}
	s.b, s.want = s.b[:n], n
	if cap(s.b) > 4*n+stringInline {
		s.b = structures.Clone(s.b)
	}
	// The last page is shorter now. It may be one that was left out as zeros
	// before, and the last page is always stored.
	s.touch(max(n-1, 0), n)
}

// touch marks the pages of bytes [from, to) as changed. A string that was in
// its head until now has no stored page: all its pages are new.
func (s *String) touch(from, to int) {
	if len(s.b) <= stringInline {
		return
	}
	if s.stored == 0 && len(s.dirty) == 0 {
		from, to = 0, len(s.b)
	}
	for id := from >> stringPageShift; id < pagesFor(to); id++ {
		for id>>6 >= len(s.dirty) {
			s.dirty = append(s.dirty, 0)
		}
		s.dirty[id>>6] |= 1 << (id & 63)
	}
}

func pagesFor(n int) int { return (n + stringPage - 1) >> stringPageShift }

// pages is the number of pages that the string takes on disk.
func (s *String) pages() int {
	if s.want <= stringInline {
		return 0
	}
	return pagesFor(s.want)
}

// AppendHead appends the head, with the bytes of a small string.
func (s *String) AppendHead(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(s.want))
	if s.want <= stringInline {
		dst = append(dst, s.b...)
	}
	return dst
}

// Pages visits changed or all pages.
func (s *String) Pages(all bool, visit func(id uint64, page []byte)) {
	n := s.pages()
	if all {
		for id := range n {
			if page := s.page(id, n); page != nil {
				visit(uint64(id), page)
			}
		}
		return
	}
	for i, word := range s.dirty {
		for ; word != 0; word &= word - 1 {
			id := i<<6 + bits.TrailingZeros64(word)
			if id >= n {
				break
			}
			page := s.page(id, n)
			if page == nil && id >= s.stored {
				continue
			}
			visit(uint64(id), page)
		}
	}
	for id := n; id < s.stored; id++ {
		visit(uint64(id), nil)
	}
}

// MarkAllDirty marks every page as changed.
func (s *String) MarkAllDirty() {
	s.stored, s.dirty = 0, s.dirty[:0]
	s.touch(0, len(s.b))
}

// partShare is by how much a page is larger than those that Flush is told the
// number of.
const partShare = 8

// Flush visits some of the changed pages as Pages does, about as many bytes as n pages
// of 8 KiB have, and marks them as stored. It reports whether others are left.
func (s *String) Flush(n int, visit func(id uint64, page []byte)) (more bool) {
	pages := s.pages()
	n = max(n/partShare, 1)
	for i := range s.dirty {
		for ; s.dirty[i] != 0; s.dirty[i] &= s.dirty[i] - 1 {
			id := i<<6 + bits.TrailingZeros64(s.dirty[i])
			if id >= pages {
				break
			}
			page := s.page(id, pages)
			if page == nil && id >= s.stored {
				continue
			}
			if n == 0 {
				return true
			}
			n--
			visit(uint64(id), page)
			s.stored = max(s.stored, id+1)
		}
	}
	return false
}

// page returns page id of n, or nil for one that is not stored.
func (s *String) page(id, n int) []byte {
	from := id << stringPageShift
	if id == n-1 {
		return s.b[min(from, len(s.b)):]
	}
	page := s.b[min(from, len(s.b)):min(from+stringPage, len(s.b))]
	if structures.Zeros(page) {
		return nil
	}
	return page
}

// Clean marks every page as stored.
func (s *String) Clean() {
	s.stored = s.pages()
	s.dirty = s.dirty[:0]
}

// SetPage hands in a stored page of a string that was just decoded.
func (s *String) SetPage(id uint64, page []byte) error {
	n := s.pages()
	if id >= uint64(n) {
		return fmt.Errorf("page %d of a string of %d: %w", id, n, structures.ErrCorrupt)
	}
	from := int(id) << stringPageShift
	if want := min(stringPage, s.want-from); len(page) != want {
		return fmt.Errorf("page %d of a string: %d bytes for %d: %w", id, len(page), want, structures.ErrCorrupt)
	}
	if end := from + len(page); end > len(s.b) {
		old := len(s.b)
		s.b = structures.Grow(s.b, end-old)[:end]
		structures.Clear(s.b[old:from])
	}
	copy(s.b[from:], page)
	return nil
}

// Apply replays a Patch or a Truncate.
func (s *String) Apply(op byte, args *structures.Args) error {
	switch op {
	case opStringPatch:
		off, b := args.Uint(), args.Bytes()
		if err := args.Done(); err != nil {
			return fmt.Errorf("patch string: %w", err)
		}
		if off > MaxStringLen || uint64(len(b)) > MaxStringLen-off {
			return fmt.Errorf("patch string at %d: %w", off, structures.ErrCorrupt)
		}
		s.patch(int(off), b)
		return nil
	case opStringTruncate:
		n := args.Uint()
		if err := args.Done(); err != nil {
			return fmt.Errorf("truncate string: %w", err)
		}
		if n < uint64(len(s.b)) {
			s.truncate(int(n))
		}
		return nil
	}
	return fmt.Errorf("string operation %d: %w", op, structures.ErrUnknownChange)
}
