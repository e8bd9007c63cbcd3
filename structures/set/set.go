package set

import (
	"math"
	"strconv"
	"unsafe"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
)

// Set is a set of byte strings.
//
// Members that methods return or pass to a visitor are valid until the next call of
// a method of the set; those passed in are copied, and may be ones that it returned.
// Visitors must not change the set.
type Set struct {
	ints integers
	rest *hash.Hash // every other member is a field without value
	text [maxDigits + 1]byte
	// timed: a member ever had an expiry. Integers may lie in rest, see expiry.go.
	timed bool
	// promised are the integers and their pages that the head declared, -1 if there
	// is none to check.
	promised, pages int
	// peakInts is the largest number of members while all were integers, peakMixed
	// that since one was not, both since the set is in memory: Redis does not go
	// back to a smaller encoding either.
	peakInts, peakMixed uint32
}

// New returns an empty set. The keys, which are the same for as long as the set is
// stored, decide where members lie that are no integers.
func New(keys *structures.HashKeys) *Set {
	return &Set{rest: hash.New(keys), promised: -1}
}

// Kind returns KindSet.
func (s *Set) Kind() structures.Kind { return structures.KindSet }

// Empty reports that the set has no members: its key is to be removed.
func (s *Set) Empty() bool { return s.Len() == 0 }

// Len is the number of members.
func (s *Set) Len() int { return s.ints.count + s.rest.Len() }

// Size estimates the memory held, in bytes.
func (s *Set) Size() int {
	const place = int(unsafe.Sizeof(int64(0)) + unsafe.Sizeof((*run)(nil)))
	return int(unsafe.Sizeof(*s)) + s.rest.Size() + s.ints.memory + cap(s.ints.runs)*place + cap(s.ints.pages.Gone)*8
}

// Has reports whether a member is there.
func (s *Set) Has(member []byte) bool {
	if v, ok := parse(member); ok {
		return s.ints.has(v) || s.timed && s.inRest(member)
	}
	return s.inRest(member)
}

// Add makes member one of the set, and reports whether it is new. One that is there
// is not recorded.
func (s *Set) Add(ch *structures.Change, member []byte) bool {
	added := false
	if s.unread() {
		return false
	} else if v, ok := parse(member); ok {
		added = (!s.timed || !s.inRest(member)) && s.ints.add(v)
	} else {
		added = s.rest.SetNew(nil, member, nil)
	}
	if !added {
		return false
	}
	ch.Op(opAdd, 1)
	ch.Bytes(member)
	s.noteSize()
	return true
}

// inRest reports whether the hash has a member.
func (s *Set) inRest(member []byte) bool {
	_, found := s.rest.Get(member, 0)
	return found
}

// noteSize keeps the peaks up to date.
func (s *Set) noteSize() {
	n := uint32(min(uint64(s.Len()), math.MaxUint32))
	if s.peakMixed > 0 || s.rest.Len() > 0 {
		s.peakMixed = max(s.peakMixed, n)
	} else {
		s.peakInts = max(s.peakInts, n)
	}
}

// Remove removes a member. One that is not there gives false and is not recorded.
func (s *Set) Remove(ch *structures.Change, member []byte) bool {
	if s.unread() {
		return false
	}
	// Recorded first: the member may be one that the set returned.
	from := ch.Len()
	ch.Op(opRemove, 1)
	ch.Bytes(member)
	removed := false
	if v, ok := parse(member); ok && (!s.timed || s.ints.has(v)) {
		removed = s.ints.remove(v)
	} else {
		removed = s.rest.Delete(nil, member)
	}
	if !removed && ch != nil {
		ch.Replace(from, ch.Len())
	}
	return removed
}

// Encoding is the reply of OBJECT ENCODING: how Redis 7.0 would keep the set with this
// set-max-intset-entries.
func (s *Set) Encoding(maxInts int) string {
	if int(s.peakInts) > maxInts || s.peakMixed > 0 {
		return "hashtable"
	}
	return "intset"
}

// spell is the text of an integer, valid until the next call.
func (s *Set) spell(v int64) []byte { return strconv.AppendInt(s.text[:0], v, 10) }
