package hash

import (
	"bytes"
	"math"
	"slices"
	"unsafe"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// segment holds the fields whose hash begins with one prefix: entries in one
// buffer, and slots in the order of the hash that say where each entry is.
// Hashes are evenly spread, so that the place of a hash among n slots is
// guessed to within about the root of n and the slots need no gaps.
//
// A segment with a branch below it stands for that branch only, see
// table.go.
type segment struct {
	// What a look-up reads comes first: it is one line of the processor's caches.
	prefix uint64 // first bits of the hash, the others 0
	depth  uint8  // how many bits
	paged.DeltaState
	fields uint16 // on disk, if it is evicted
	below  *branch
	slots  []slot
	buf    []byte

	delta      int               // where in buf entries begin that were not written
	dead       int               // bytes of buf that no slot's entry uses
	disk       uint32            // bytes of entries on disk, if it is evicted
	timed      uint32            // fields with an expiry
	nextExpiry int64             // no field expires before; MaxInt64 if none can
	filter     structures.Filter // of the tags of evicted fields; nil: nothing is known of them
}

// slot is the place of one field: 32 bits of its hash, see segment.tag, and the offset
// of its entry. Slots whose tags are equal lie in the order of the whole hashes.
type slot struct {
	tag uint32
	at  uint32
}

const (
	slotSize    = int(unsafe.Sizeof(slot{}))
	segmentSize = int(unsafe.Sizeof(segment{}))
	// A segment is split when its entries pass segmentBytes or there are
	// more than segmentFields of them, so that pages are of 4 to 8 KiB.
	segmentBytes  = 8192
	segmentFields = 512
	// Neighbours join when together they have at most joinedBytes: far less
	// than what splits them again.
	joinedBytes = segmentBytes / 4
)

// id is the number of the segment's page: the prefix, a bit that is set, and
// bits that are not. It grows with the hashes, and prefixes of different depth
// have different numbers.
func (s *segment) id() uint64 { return s.prefix | 1<<(63-s.depth) }

// tagStep is how many bits deeper a segment has to be for other bits of a hash to be its
// tag. Until then a split need not hash a field again, and 17 bits at least tell the fields
// of a segment apart.
const tagStep = 16

// tagFrom is the first bit of a hash that is in the segment's tags.
func (s *segment) tagFrom() uint8 { return s.depth &^ (tagStep - 1) }

// tag is the tag of a hash that has the segment's prefix: 32 of its bits, some of which may
// be the end of the prefix.
func (s *segment) tag(hash uint64) uint32 { return uint32(hash << s.tagFrom() >> 32) }

// hashOf is as much of a hash as the segment's prefix and a tag tell.
func (s *segment) hashOf(tag uint32) uint64 { return s.prefix | uint64(tag)<<32>>s.tagFrom() }

// live is the number of bytes of entries.
func (s *segment) live() int { return int(s.disk) + s.here() }

// here is the number of bytes of entries that are in memory.
func (s *segment) here() int { return len(s.buf) - s.dead }

func (s *segment) memory() int {
	return segmentSize + cap(s.slots)*slotSize + cap(s.buf) + cap(s.filter)
}

// unwritten is about what writing the segment costs, in bytes.
func (s *segment) unwritten() int { return s.Cost(len(s.buf)-s.delta, s.here(), s.live()) }

func (s *segment) full() bool {
	return s.len() > 1 && s.depth < maxDepth &&
		(s.live() > segmentBytes || s.len() > segmentFields)
}

// guess returns the slot at which a tag lies if tags are spread evenly.
func (s *segment) guess(tag uint32) int {
	return int(uint64(tag<<(s.depth%tagStep)) * uint64(len(s.slots)) >> 32)
}

// lower returns the first slot whose tag is not less than tag.
func (s *segment) lower(tag uint32) int {
	n := len(s.slots)
	i := s.guess(tag)
	if i < n && s.slots[i].tag < tag {
		for i++; i < n && s.slots[i].tag < tag; i++ {
		}
		return i
	}
	for i > 0 && s.slots[i-1].tag >= tag {
		i--
	}
	return i
}

// find returns the slot of a field and its entry, or the slot before which it
// belongs.
func (s *segment) find(tag uint32, field []byte) (i int, e entry, found bool) {
	for i = s.lower(tag); i < len(s.slots) && s.slots[i].tag == tag; i++ {
		if at := int(s.slots[i].at); bytes.Equal(readField(s.buf, at), field) {
			return i, readEntry(s.buf, at), true
		}
	}
	return i, entry{}, false
}

// put sets a field with a hash, and returns the expiry that it had (0 for none).
func (s *segment) put(key structures.HashKey, hash uint64, field, value []byte, expiry int64, scratch *[]byte) (was int64, created bool) {
	tag := s.tag(hash)
	i, e, found := s.find(tag, field)
	if !found {
		expiry = max(expiry, 0)
	} else if expiry == onlyNew {
		return e.expiry, false
	} else if expiry == keepExpiry {
		expiry = e.expiry
	}
	s.Dirty = true
	s.Whole = s.Whole || found && !s.Evicted
	s.retime(e.expiry, expiry)
	need := hashEntrySize(field, value, expiry)
	switch {
	case found && need <= e.size && !s.Evicted:
		s.dead += e.size - need
	case found:
		s.dead += e.size
		s.slots[i].at = s.add(need, i, scratch)
	default:
		for i > 0 && s.slots[i-1].tag == tag && key.Sum(readField(s.buf, int(s.slots[i-1].at))) > hash {
			i--
		}
		at := s.add(need, -1, scratch)
		s.openSlot(i)
		s.slots[i] = slot{tag: tag, at: at}
	}
	writeHashEntry(s.buf[s.slots[i].at:], field, value, expiry)
	s.trim()
	return e.expiry, !found
}

// retime accounts for a field's new expiry.
func (s *segment) retime(was, expiry int64) {
	if was != 0 {
		s.timed--
	}
	if expiry != 0 {
		s.timed++
		s.nextExpiry = min(s.nextExpiry, expiry)
	} else if s.timed == 0 {
		s.nextExpiry = math.MaxInt64
	}
}

// openSlot makes place for slot i. Slots grow by an eighth: a segment is
// small, and its fields are many.
func (s *segment) openSlot(i int) {
	n := len(s.slots)
	if n == cap(s.slots) {
		grown := slices.Grow([]slot(nil), n+n/8+4)[:n]
		copy(grown, s.slots)
		s.slots = grown
	}
	s.slots = s.slots[:n+1]
	copy(s.slots[i+1:], s.slots[i:n])
}

// add makes the buffer need bytes longer and returns where they begin. Slot
// skip, if not negative, has an entry that is not needed any more.
func (s *segment) add(need, skip int, scratch *[]byte) uint32 {
	if len(s.buf)+need > cap(s.buf) {
		s.compact(need, skip, scratch)
	}
	at := len(s.buf)
	s.buf = s.buf[:at+need]
	return uint32(at)
}

// compact gathers the entries at the beginning of the buffer, in another order, so that need
// bytes are free after them. It uses the same buffer if that is going to last
// for a while and there is a scratch buffer, and else one that is an eighth
// larger than needed.
func (s *segment) compact(need, skip int, scratch *[]byte) {
	from, total := s.buf, s.here()+need
	if s.Evicted {
		total = len(from) + need
	}
	lasting := s.dead > 0 && total <= cap(from)-cap(from)/16
	if lasting && scratch != nil && cap(from) <= 2*segmentBytes {
		*scratch = append((*scratch)[:0], from...)
		from = *scratch
		s.buf = s.buf[:0]
	} else {
		s.buf = structures.GrowTo(nil, total+min(total/8, segmentBytes/8)+16)
	}
	if s.dead == 0 || s.Evicted {
		s.buf = structures.Append(s.buf, from)
		return
	}
	s.Whole = s.Whole || s.delta < len(from)
	for i := range s.slots {
		if i == skip {
			continue
		}
		e := readEntry(from, int(s.slots[i].at))
		s.slots[i].at = uint32(len(s.buf))
		// An entry that was overwritten by a shorter one is copied without
		// the rest of its former bytes.
		s.buf = structures.Append(s.buf, from[e.at:e.at+e.size])
	}
	s.dead = 0
	s.delta = len(s.buf)
}

// remove deletes slot i, whose entry is e.
func (s *segment) remove(i int, e *entry) {
	s.dead += e.size
	s.slots = append(s.slots[:i], s.slots[i+1:]...)
	s.Dirty, s.Whole = true, true
	s.retime(e.expiry, 0)
	s.trim()
}

// trim gives the segment buffers of the size that it needs, if more than half
// of the old one is dead.
func (s *segment) trim() {
	if s.dead <= 256 || s.here() >= s.dead || s.Evicted {
		return
	}
	old := *s
	s.Whole = s.Whole || s.delta < len(s.buf)
	s.buf, s.dead = make([]byte, 0, old.here()), 0
	s.slots = slices.Clone(old.slots)
	for i := range s.slots {
		e := readEntry(old.buf, int(s.slots[i].at))
		s.slots[i].at = uint32(len(s.buf))
		s.buf = structures.Append(s.buf, old.buf[e.at:e.at+e.size])
	}
	s.delta = len(s.buf)
}

// adopt adds an entry of another segment. Entries come in the order of their hashes there;
// only where tags were equal on a page of an earlier version can they be out of order here.
func (s *segment) adopt(tag uint32, entry []byte, expiry int64) {
	i := len(s.slots)
	for ; i > 0 && s.slots[i-1].tag > tag; i-- {
	}
	s.slots = slices.Insert(s.slots, i, slot{tag: tag, at: uint32(len(s.buf))})
	s.buf = structures.Append(s.buf, entry)
	s.retime(0, expiry)
}

// appendPage appends the segment's page: its entries in the order of hashes.
func (s *segment) appendPage(dst []byte) []byte {
	for _, p := range s.slots {
		e := readEntry(s.buf, int(p.at))
		dst = structures.Append(dst, s.buf[e.at:e.at+e.size])
	}
	return dst
}
