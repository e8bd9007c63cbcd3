package structures

import (
	"encoding/binary"
	"math"
)

// Compact is a value that a store can keep as a run of bytes instead, as long as
// nobody works on it. These bytes are in memory only and may change from
// version to version; they hold all that Value has but its pages on disk.
type Compact interface {
	Value
	// IsCompact reports whether the value is one of up to about limit bytes, at most
	// some kilobytes, that can be appended and has no parts that expire. It costs O(1).
	IsCompact(limit int) bool
	// AppendCompact appends the value, for which IsCompact is true, to dst.
	AppendCompact(dst []byte) []byte
	// LoadCompact makes the receiver, regardless of its content, the value that
	// AppendCompact appended. Its memory is used again. b is copied.
	LoadCompact(b []byte)
}

// Reusable is a Compact that has one form when it is created, the empty one, so
// that the memory of another one can be used again.
type Reusable interface {
	Compact
	// Reset makes the receiver, regardless of its content, an empty value.
	Reset()
}

// Reset makes h an empty hash.
func (h *Hash) Reset() {
	*h = Hash{keys: h.keys, pack: h.pack[:0], removed: h.removed[:0], nextExpiry: math.MaxInt64, declared: -1}
}

// compactFields bounds the fields of a compact hash: it is searched from the front when
// it is loaded, until it is changed.
const compactFields = 256

// IsCompact reports whether the hash is small and no field has an expiry.
func (h *Hash) IsCompact(limit int) bool {
	if h.timed > 0 {
		return false
	}
	if h.table == nil {
		return len(h.pack) <= limit
	}
	return h.table.live <= limit && h.count <= compactFields
}

// AppendCompact appends a small hash:
//
//	fields | longest | peak << 1 | tagged (uvarints) | entry ...
func (h *Hash) AppendCompact(dst []byte) []byte {
	peak := uint64(h.peak) << 1
	if h.tagged {
		peak |= 1
	}
	dst = binary.AppendUvarint(dst, uint64(h.count))
	dst = binary.AppendUvarint(dst, uint64(h.longest))
	dst = binary.AppendUvarint(dst, peak)
	if h.table == nil {
		return append(dst, h.pack...)
	}
	h.table.each(0, func(s *segment) bool {
		dst = s.appendPage(dst)
		return true
	})
	return dst
}

// LoadCompact makes h the hash that AppendCompact appended.
func (h *Hash) LoadCompact(b []byte) {
	var numbers [3]uint64
	for i := range numbers {
		v, n := binary.Uvarint(b)
		numbers[i], b = v, b[n:]
	}
	h.Reset()
	h.pack = append(h.pack, b...)
	h.count, h.longest = int(numbers[0]), uint32(numbers[1])
	h.peak, h.tagged = uint32(numbers[2]>>1), numbers[2]&1 != 0
}

// Reset makes l an empty list. One of its buffers becomes the buffer of the
// first node.
func (l *List) Reset() {
	array, spare := l.array, l.spare
	if len(array) != 1 {
		array = nil
	} else if spare == nil {
		spare = array[0].buf
	}
	*l = List{array: array, spare: spare, memory: len(array)*nodeSize + len(spare), removed: l.removed[:0], declared: -1}
}

// IsCompact reports whether the list is one small node.
func (l *List) IsCompact(limit int) bool { return l.nodes == 1 && l.node(0).used() <= limit }

// AppendCompact appends a list of one node:
//
//	elements (uvarint) | entry of a node ...
func (l *List) AppendCompact(dst []byte) []byte {
	n := l.node(0)
	dst = binary.AppendUvarint(dst, uint64(n.count))
	return append(dst, n.buf[n.lo:n.hi]...)
}

// LoadCompact makes l the list that AppendCompact appended.
func (l *List) LoadCompact(b []byte) {
	count, w := binary.Uvarint(b)
	b = b[w:]
	if len(l.array) != 1 {
		l.array = make([]node, 1)
	}
	n := &l.array[0]
	if n.buf == nil {
		n.buf = l.spare
	}
	if len(n.buf) < len(b)+firstRoom {
		n.buf = make([]byte, grownRoom(len(n.buf), len(b)+firstRoom))
	}
	// Room at both ends: which of them is pushed to is not known.
	lo := (len(n.buf) - len(b)) / 2
	copy(n.buf[lo:], b)
	*n = node{buf: n.buf, lo: uint32(lo), hi: uint32(lo + len(b)), count: uint32(count), id: idMiddle, dirty: true}
	*l = List{array: l.array, nodes: 1, len: int(count), memory: nodeSize + len(n.buf), removed: l.removed[:0], declared: -1}
}

// IsCompact reports whether the filter has few bits.
func (f *Bloom) IsCompact(limit int) bool {
	return f.inline() && bloomHeaderLen+len(f.layers)*bloomLayerLen+int(f.bytes) <= limit
}

// AppendCompact appends a filter of few bits as its head.
func (f *Bloom) AppendCompact(dst []byte) []byte { return f.AppendHead(dst) }

// LoadCompact makes f the filter that AppendCompact appended.
func (f *Bloom) LoadCompact(b []byte) {
	n := int(binary.LittleEndian.Uint32(b[8:]))
	layers := f.layers[:0]
	if n > cap(layers) {
		layers = make([]bloomLayer, n)
	}
	*f = Bloom{
		layers: layers[:n], items: binary.LittleEndian.Uint64(b),
		options: binary.LittleEndian.Uint32(b[12:]), growth: binary.LittleEndian.Uint32(b[16:]),
	}
	rest := b[bloomHeaderLen+n*bloomLayerLen:]
	for i := range f.layers {
		l := &f.layers[i]
		was := *l
		*l, _ = parseBloomLayer(b[bloomHeaderLen+i*bloomLayerLen:])
		if len(was.pages) == 1 && was.exists(0) && len(was.pages[0].BitSet().Words()) == l.pageBytes(0)/8 {
			l.pages, l.changed = was.pages, was.changed
		}
		l.write(0, rest[:l.bytes])
		clear(l.changed)
		f.bytes += l.bytes
		f.held += l.pageBytes(0)
		rest = rest[l.bytes:]
	}
}
