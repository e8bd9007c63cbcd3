package hash

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/vigildb/vigil/structures"
)

// Bytes on disk. These numbers are on disk and never change. An entry is
// drawn in entry.go.
//
//	head   0 | entry ...                          a small hash
//	head   2 | fields (uvarint) | pages (uvarint)
//	         | next expiry (uvarint, 0 for none)  a hash with pages
//	page   entry ...                              at least one
//
// Form 1 was that of format 1, with a seed. A page holds the fields whose hash,
// by the store's key for fields, begins with some bits, in the order of the 32 bits that follow. Its number is these bits, a bit that
// is set, and 0 for the rest of 64. No page's bits begin with those of another.
const (
	hashInHead = 0
	hashPaged  = 2
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
		return append(append(dst, hashInHead), h.pack...)
	}
	dst = append(dst, hashPaged)
	dst = binary.AppendUvarint(dst, uint64(h.count))
	dst = binary.AppendUvarint(dst, uint64(h.table.segments))
	nextExpiry := h.nextExpiry
	if nextExpiry == math.MaxInt64 {
		nextExpiry = 0
	}
	return binary.AppendUvarint(dst, uint64(nextExpiry))
}

// Decode makes a hash from its head. If it has pages, SetPage must follow
// for each of them, with the keys that it was stored with; NextExpiry is right
// without them. Bytes are copied. A bad head gives ErrCorrupt.
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
	case hashPaged:
		if err := h.loadPaged(head[1:]); err != nil {
			return nil, err
		}
		return h, nil
	}
	return nil, fmt.Errorf("hash head of form %d: %w", head[0], structures.ErrCorrupt)
}

func (h *Hash) loadPacked(rest []byte) error {
	h.pack = make([]byte, 0, min(len(rest), packBytes))
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
	return nil
}

func (h *Hash) loadPaged(rest []byte) error {
	var numbers [3]uint64
	for i := range numbers {
		v, w := binary.Uvarint(rest)
		if w <= 0 || v > math.MaxInt64 {
			return fmt.Errorf("numbers of a hash head: %w", structures.ErrCorrupt)
		}
		numbers[i], rest = v, rest[w:]
	}
	if len(rest) > 0 || numbers[1] > numbers[0] || numbers[0] > 1<<48 {
		return fmt.Errorf("hash of %d fields in %d pages: %w", numbers[0], numbers[1], structures.ErrCorrupt)
	}
	h.declared = int(numbers[0])
	if numbers[2] != 0 {
		h.nextExpiry = int64(numbers[2])
	}
	h.table = &table{}
	return nil
}

// SetPage takes a stored page, in any order. A bad page, one that overlaps
// another, or one for a hash without pages gives ErrCorrupt, and the hash is
// not to be used.
func (h *Hash) SetPage(id uint64, page []byte) error {
	if h.declared < 0 {
		return fmt.Errorf("page %x of a hash without pages: %w", id, structures.ErrCorrupt)
	}
	s, err := h.load(id, page)
	if err != nil {
		return fmt.Errorf("hash page %x: %w", id, err)
	}
	t := h.table
	level := levelOf(s.depth)
	b := &t.root
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
	t.memory += s.memory()
	t.live += s.live()
	t.segments++
	h.count += len(s.slots)
	h.peak = uint32(min(uint64(h.count), math.MaxUint32))
	h.timed += s.timed
	h.tagged = h.tagged || s.timed > 0
	h.nextExpiry = min(h.nextExpiry, s.nextExpiry)
	return nil
}

// load makes a segment of a page.
func (h *Hash) load(id uint64, page []byte) (*segment, error) {
	prefix := id & (id - 1)
	depth := uint8(0)
	for id<<depth<<1 != 0 {
		depth++
	}
	if id == 0 || depth > maxDepth || len(page) == 0 || uint64(len(page)) > math.MaxUint32 {
		return nil, fmt.Errorf("%d bytes at depth %d: %w", len(page), depth, structures.ErrCorrupt)
	}
	count := 0
	for rest := page; len(rest) > 0; count++ {
		e, err := parseEntry(rest)
		if err != nil {
			return nil, err
		}
		rest = rest[e.size:]
	}
	s := &segment{prefix: prefix, depth: depth, nextExpiry: math.MaxInt64, stored: true,
		buf: structures.Clone(page), slots: make([]slot, 0, count)}
	longest := h.longest
	for at := 0; at < len(s.buf); {
		e := readEntry(s.buf, at)
		hash := h.hashOf(e.field)
		tag := s.tag(hash)
		if hash&^(math.MaxUint64>>depth) != prefix {
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
	return s, nil
}

// Complete reports an error if pages are missing: the fields are not as many
// as the head declared. To be asked once after the last SetPage.
func (h *Hash) Complete() error {
	if h.declared >= 0 && h.declared != h.count {
		return fmt.Errorf("hash of %d fields has %d: %w", h.declared, h.count, structures.ErrCorrupt)
	}
	return nil
}

// Pages visits changed or all pages, see Value.
func (h *Hash) Pages(all bool, visit func(id uint64, page []byte)) {
	var removed []uint64
	if !all {
		removed = slices.Clone(h.removed)
		slices.Sort(removed)
		removed = slices.Compact(removed)
	}
	if h.table != nil {
		var buf []byte
		h.table.each(0, func(s *segment) bool {
			for len(removed) > 0 && removed[0] <= s.id() {
				if removed[0] != s.id() {
					visit(removed[0], nil)
				}
				removed = removed[1:]
			}
			if all || s.dirty {
				buf = s.appendPage(buf[:0])
				visit(s.id(), buf)
			}
			return true
		})
	}
	for _, id := range removed {
		visit(id, nil)
	}
}

// Clean marks every page as stored.
func (h *Hash) Clean() {
	h.removed, h.declared = nil, -1
	if h.table == nil {
		return
	}
	h.table.each(0, func(s *segment) bool {
		s.dirty, s.stored = false, true
		return true
	})
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
