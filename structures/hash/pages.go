package hash

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// Bytes on disk. These numbers are on disk and never change. An entry is
// drawn in entry.go.
//
//	head   0 | entry ...                          a small hash
//	head   2 | fields (uvarint) | pages (uvarint)
//	         | next expiry (uvarint, 0 for none)  a hash with pages
//	head   3 | as 2 | for each page, in the order of their numbers:
//	         number - the one before | fields | bytes
//	         | fields with an expiry [| if there are any: a time before
//	         which none expires] (uvarints)       a hash with many pages
//	page   entry ...                              at least one
//
// Form 1 was that of format 1, with a seed. A page holds the fields whose hash,
// by the store's key for fields, begins with some bits, in the order of the 32 bits that follow. Its number is these bits, a bit that
// is set, and 0 for the rest of 64. No page's bits begin with those of another.
const (
	hashInHead = 0
	hashPaged  = 2
	hashIndex  = 3
)

// Operations in the journal. These numbers are on disk and never change.
const (
	opHashSet      = 16 // field, value: takes the expiry away
	opHashSetKeep  = 17 // field, value: leaves the expiry
	opHashDelete   = 18 // field ...
	opHashExpireAt = 19 // field, absolute milliseconds
	opHashPersist  = 20 // field
)

// AppendHead appends the encoding of the head to dst.
func (h *Hash) AppendHead(dst []byte) []byte {
	if h.table == nil {
		h.pack.dress()
		return append(append(dst, hashInHead), h.pack.buf...)
	}
	form := byte(hashPaged)
	if h.table.segments > structures.IndexedPages() || !h.pages.Whole() {
		form = hashIndex
	}
	return h.appendPaged(dst, form)
}

// AppendIndexedHead is AppendHead with an index of the pages, if there are any, however
// few: a set has one of all of its pages or of none.
func (h *Hash) AppendIndexedHead(dst []byte) []byte {
	if h.table == nil {
		return h.AppendHead(dst)
	}
	return h.appendPaged(dst, hashIndex)
}

// PageCount is the number of pages, 0 if all is in the head.
func (h *Hash) PageCount() int {
	if h.table == nil {
		return 0
	}
	return h.table.segments
}

func (h *Hash) appendPaged(dst []byte, form byte) []byte {
	dst = append(dst, form)
	dst = binary.AppendUvarint(dst, uint64(h.count))
	dst = binary.AppendUvarint(dst, uint64(h.table.segments))
	nextExpiry := h.nextExpiry
	if nextExpiry == math.MaxInt64 {
		nextExpiry = 0
	}
	dst = binary.AppendUvarint(dst, uint64(nextExpiry))
	if form == hashIndex {
		dst = h.table.appendIndex(dst)
	}
	return dst
}

// Decode makes a hash from its head. If it has pages, SetPage must follow
// for each of them, with the keys that it was stored with; NextExpiry is right
// without them. Bytes are copied. A bad head gives structures.ErrCorrupt.
func Decode(head []byte, keys *structures.HashKeys) (*Hash, error) {
	h := New(keys)
	if len(head) == 0 {
		return nil, fmt.Errorf("hash head of 0 bytes: %w", structures.ErrCorrupt)
	}
	switch head[0] {
	case hashInHead:
		if err := h.loadPacked(head[1:]); err != nil {
			return nil, err
		}
		return h, nil
	case hashPaged, hashIndex:
		if err := h.loadPaged(head[0], head[1:]); err != nil {
			return nil, err
		}
		return h, nil
	}
	return nil, fmt.Errorf("hash head of form %d: %w", head[0], structures.ErrCorrupt)
}

// loadPacked reads a hash without pages. It stays packed although it may have more fields
// than a packed one comes to have (see LoadCompact): what lies in the head is no page
// that the disk has.
func (h *Hash) loadPacked(entries []byte) error {
	rest := entries
	h.pack.buf = make([]byte, 0, min(len(rest), packBytes))
	for len(rest) > 0 {
		e, err := parseEntry(rest)
		if err != nil {
			return err
		}
		if !h.put(e.field, e.value, e.expiry) {
			return fmt.Errorf("hash field given twice: %w", structures.ErrCorrupt)
		}
		rest = rest[e.size:]
	}
	if h.table != nil {
		h.pack.buf, h.pack.form, h.table = bytes.Clone(entries), loose, nil
	}
	return nil
}

func (h *Hash) loadPaged(form byte, rest []byte) error {
	var numbers [3]uint64
	for i := range numbers {
		v, w := binary.Uvarint(rest)
		if w <= 0 || v > math.MaxInt64 {
			return fmt.Errorf("numbers of a hash head: %w", structures.ErrCorrupt)
		}
		numbers[i], rest = v, rest[w:]
	}
	if form == hashPaged && len(rest) > 0 || numbers[1] > numbers[0] || numbers[0] > 1<<48 {
		return fmt.Errorf("hash of %d fields in %d pages: %w", numbers[0], numbers[1], structures.ErrCorrupt)
	}
	h.declared = int(numbers[0])
	if numbers[2] != 0 {
		h.nextExpiry = int64(numbers[2])
	}
	h.table = &table{}
	if form == hashIndex {
		return h.loadIndex(rest, numbers[1])
	}
	return nil
}

// SetPage takes a stored page, in any order. A bad page, one that overlaps
// another, or one for a hash without pages gives structures.ErrCorrupt, and the hash is
// not to be used.
func (h *Hash) SetPage(id uint64, page []byte) error {
	if h.declared < 0 {
		return fmt.Errorf("page %x of a hash without pages: %w", id, structures.ErrCorrupt)
	}
	if !h.pages.Whole() {
		return h.supply(id, page)
	}
	s, err := h.load(id, page)
	if err != nil {
		return fmt.Errorf("hash page %x: %w", id, err)
	}
	return h.hang(s)
}

// hang puts a segment that was loaded, or is evicted, into its place.
func (h *Hash) hang(s *segment) error {
	t := h.table
	if err := t.hang(s); err != nil {
		return err
	}
	t.memory += s.memory()
	t.live += s.live()
	t.segments++
	h.count += s.len()
	h.peak = uint32(min(uint64(h.count), math.MaxUint32))
	h.timed += int(s.timed)
	h.tagged = h.tagged || s.timed > 0
	h.nextExpiry = min(h.nextExpiry, s.nextExpiry)
	return nil
}

// hang puts a segment into its place, which is to be empty.
func (t *table) hang(s *segment) error {
	id, level := s.id(), levelOf(s.depth)
	if t.only != nil || s.depth == 0 && t.root != nil {
		return fmt.Errorf("hash page %x overlaps another: %w", id, structures.ErrCorrupt)
	}
	if s.depth == 0 {
		t.only = s
		return nil
	}
	if t.root == nil {
		t.root = new(branch)
		t.memory += branchSize
	}
	b := t.root
	for l := range level {
		next := b[placeOf(s.prefix, l)]
		switch {
		case next == nil:
			next = &segment{below: new(branch)}
			b[placeOf(s.prefix, l)] = next
			t.memory += segmentSize + branchSize
		case next.below == nil:
			return fmt.Errorf("hash page %x within page %x: %w", id, next.id(), structures.ErrCorrupt)
		}
		b = next.below
	}
	if !b.empty(s.prefix, s.depth, level) {
		return fmt.Errorf("hash page %x overlaps another: %w", id, structures.ErrCorrupt)
	}
	b.fill(s.prefix, s.depth, level, s)
	return nil
}

// load makes a segment of a page.
func (h *Hash) load(id uint64, page []byte) (*segment, error) {
	count, deltas := 0, page
	for ; len(deltas) > 0 && !isDelta(deltas); count++ {
		e, err := parseEntry(deltas)
		if err != nil {
			return nil, err
		}
		deltas = deltas[e.size:]
	}
	page = page[:len(page)-len(deltas)]
	if len(page) == 0 || uint64(len(page)) > math.MaxUint32 {
		return nil, fmt.Errorf("%d bytes: %w", len(page), structures.ErrCorrupt)
	}
	s := &segment{nextExpiry: math.MaxInt64, DeltaState: paged.DeltaState{State: paged.State{Stored: true}}, buf: structures.Clone(page), slots: make([]slot, 0, count)}
	if err := s.number(id); err != nil {
		return nil, err
	}
	longest := h.longest
	for at := 0; at < len(s.buf); {
		e := readEntry(s.buf, at)
		hash := h.hashOf(e.field)
		tag := s.tag(hash)
		if hash&^(math.MaxUint64>>s.depth) != s.prefix {
			return nil, fmt.Errorf("field of another page: %w", structures.ErrCorrupt)
		}
		if n := len(s.slots); n > 0 && s.slots[n-1].tag > tag {
			return nil, fmt.Errorf("fields out of order: %w", structures.ErrCorrupt)
		}
		i, _, twice := s.find(tag, e.field)
		if twice {
			return nil, fmt.Errorf("field given twice: %w", structures.ErrCorrupt)
		}
		s.openSlot(i)
		s.slots[i] = slot{tag: tag, at: uint32(at)}
		s.retime(0, e.expiry)
		longest = max(longest, uint32(len(e.field)), uint32(len(e.value)))
		at += e.size
	}
	h.longest = longest
	s.delta = len(s.buf)
	return s, h.loadDeltas(s, deltas)
}

// number gives a segment the place that the number of its page stands for.
func (s *segment) number(id uint64) error {
	for s.prefix = id & (id - 1); id<<s.depth<<1 != 0; s.depth++ {
	}
	if id == 0 || s.depth > maxDepth {
		return fmt.Errorf("page %x at depth %d: %w", id, s.depth, structures.ErrCorrupt)
	}
	return nil
}

// Complete reports an error if pages are missing: the fields are not as many
// as the head declared. To be asked once after the last SetPage.
func (h *Hash) Complete() error {
	if h.declared >= 0 && h.declared != h.count {
		return fmt.Errorf("hash of %d fields has %d: %w", h.declared, h.count, structures.ErrCorrupt)
	}
	if !h.pages.Whole() && h.pages.Pager == nil {
		return fmt.Errorf("hash lacks %d pages: %w", h.pages.Count(), structures.ErrCorrupt)
	}
	return nil
}

// Apply replays an operation. Deletion or expiry of a field that is missing
// does nothing.
func (h *Hash) Apply(op byte, args *structures.Args) error {
	switch op {
	case opHashSet, opHashSetKeep:
		field, value := args.Bytes(), args.Bytes()
		if err := args.Done(); err != nil {
			return err
		}
		if !h.ReadyPut(2, field, value) {
			return nil // the pager says so
		}
		expiry := int64(0)
		if op == opHashSetKeep {
			expiry = keepExpiry
		}
		h.put(field, value, expiry)
		return nil
	case opHashDelete:
		for args.Left() > 0 {
			field := args.Bytes()
			if args.Err() != nil {
				break
			}
			h.Delete(nil, field)
		}
		return args.Done()
	case opHashExpireAt:
		field, ms := args.Bytes(), args.Int()
		if err := args.Done(); err != nil {
			return err
		}
		h.ExpireAt(nil, field, ms)
		return nil
	case opHashPersist:
		field := args.Bytes()
		if err := args.Done(); err != nil {
			return err
		}
		h.Persist(nil, field)
		return nil
	}
	return fmt.Errorf("hash operation %d: %w", op, structures.ErrUnknownChange)
}
