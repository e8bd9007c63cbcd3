package zset

import (
	"math"
	"unsafe"

	"github.com/vigildb/vigil/structures"
)

// Set is a value of KindZSet: a sorted set.
//
// Members that methods return or pass to a visitor alias the set and are valid
// until its next change; those passed in are copied and must not alias the set.
// Visitors must not change the set. A score is never NaN.
type Set struct {
	tree
	index  *index // nil if there is no root
	count  int
	coming *coming // of a set that is indexed, until Complete
	// promised are the members and pages that the head of a paged set declares; -1
	// if there is none to check.
	promised, promisedPages int
	loading                 []*leaf // given by SetPage, until Complete
	// longest is the length of the longest member, and peak the count, since the set
	// is in memory: Redis does not go back to a smaller encoding either.
	longest, peak uint32
}

// New returns an empty set. The keys, which are the same for as long as the set is
// stored, decide where its index has the members of large sets.
func New(keys *structures.HashKeys) *Set {
	s := &Set{promised: -1}
	s.keys = keys
	return s
}

// Kind returns KindZSet.
func (s *Set) Kind() structures.Kind { return structures.KindZSet }

// Empty reports that the set has no members: its key is to be removed.
func (s *Set) Empty() bool { return s.count == 0 }

// Len is the number of members.
func (s *Set) Len() int { return s.count }

// Size estimates the memory held, in bytes.
func (s *Set) Size() int {
	size := int(unsafe.Sizeof(*s)) + s.memory + (cap(s.numbered)+cap(s.pages.Gone)+cap(s.branches.Gone))*8 + cap(s.free)*4
	if s.index != nil {
		size += int(unsafe.Sizeof(*s.index)) + s.index.size()
	}
	return size
}

// hash is the hash of a member, 0 as long as there is no index.
func (s *Set) hash(member []byte) uint32 {
	if s.index == nil {
		return 0
	}
	return s.hashOf(member)
}

// find returns the place of a member with a hash, nil if it is not in the set or a page
// cannot be read.
func (s *Set) find(hash uint32, member []byte) (l *leaf, i int) {
	if s.index == nil {
		if s.only == nil {
			return nil, 0
		}
		if i := s.only.find(member); i >= 0 {
			return s.only, i
		}
		return nil, 0
	}
	bk := s.index.bucket(hash)
	if bk.Evicted && !bk.may(hash) || !s.index.pin(bk) {
		return nil, 0
	}
	slots := bk.slots
	mask := len(slots) - 1
	for at := int(hash) & mask; slots[at] != 0; at = (at + 1) & mask {
		if uint32(slots[at]>>32) != hash {
			continue
		}
		l := s.named(slots[at])
		if l == nil {
			continue
		}
		if !s.pin(l) {
			return nil, 0
		}
		if i := l.findTag(tagOf(hash), member); i >= 0 {
			return l, i
		}
	}
	return nil, 0
}

// Score returns the score of a member; ok is false if it is not in the set.
func (s *Set) Score(member []byte) (score float64, ok bool) {
	s.makeRoom()
	l, i := s.find(s.hash(member), member)
	if l == nil {
		return 0, false
	}
	b, _ := l.entry(i)
	return scoreOf(b), true
}

// Rank returns how many members are before one, and its score; ok is false if it is
// not in the set.
func (s *Set) Rank(member []byte) (rank int, score float64, ok bool) {
	s.makeRoom()
	l, i := s.find(s.hash(member), member)
	if l == nil {
		return 0, 0, false
	}
	b, _ := l.entry(i)
	return s.rankOf(l, i), scoreOf(b), true
}

// Rule says which changes Add makes.
type Rule uint8

const (
	OnlyNew      Rule = 1 << iota // none of members that are in the set
	OnlyExisting                  // none of members that are not
	OnlyGreater                   // of members in the set, those to a greater score
	OnlyLess                      // of members in the set, those to a lesser score
	Increment                     // the score is added to the present one
)

// Outcome is what Add did.
type Outcome byte

const (
	Refused Outcome = iota // the rule forbids it: nothing changed
	Added                  // the member is new
	Updated                // the member has another score
	Kept                   // the member had the score before
	NaN                    // the sum of two infinities: nothing changed
)

// Add gives a member a score, if the rule allows it. It returns the member's
// score: the new one, or the old one if nothing changed (0 for a member that is
// not in the set). It records one operation if the outcome is Added or Updated.
func (s *Set) Add(ch *structures.Change, member []byte, score float64, rule Rule) (float64, Outcome) {
	s.makeRoom()
	hash := s.hash(member)
	l, i := s.find(hash, member)
	if s.unread() {
		return 0, Refused
	}
	if l == nil {
		if rule&OnlyExisting != 0 || !s.readyPlace(scoreBits(score), member, hash) {
			return 0, Refused
		}
		recordAdd(ch, score, member)
		s.insert(scoreBits(score), member, hash)
		return score, Added
	}
	b, _ := l.entry(i)
	old := scoreOf(b)
	if rule&OnlyNew != 0 {
		return old, Refused
	}
	if rule&Increment != 0 {
		if score += old; math.IsNaN(score) {
			return old, NaN
		}
	}
	switch {
	case rule&OnlyGreater != 0 && score <= old, rule&OnlyLess != 0 && score >= old:
		return old, Refused
	case score == old:
		return old, Kept
	case !s.readyMove(l, i, scoreBits(score), member):
		return old, Refused
	}
	recordAdd(ch, score, member)
	s.move(l, i, scoreBits(score), member, hash)
	return score, Updated
}

// put gives a member a score whatever was before.
func (s *Set) put(b uint64, member []byte) {
	s.makeRoom()
	hash := s.hash(member)
	l, i := s.find(hash, member)
	switch {
	case s.unread(): // the pager says so
	case l == nil && s.readyPlace(b, member, hash):
		s.insert(b, member, hash)
	case l != nil:
		if old, _ := l.entry(i); old != b && s.readyMove(l, i, b, member) {
			s.move(l, i, b, member, hash)
		}
	}
}

// Remove removes a member and reports whether it was in the set.
func (s *Set) Remove(ch *structures.Change, member []byte) bool {
	s.makeRoom()
	hash := s.hash(member)
	l, i := s.find(hash, member)
	if l == nil || s.unread() || !s.readyTake(l) {
		return false
	}
	// Recorded first: the member may be one that the set returned.
	ch.Op(opRemove, 1)
	ch.Bytes(member)
	s.take(l, i, hash)
	return true
}

// Encoding is the reply of OBJECT ENCODING: "listpack" if Redis with these
// zset-max-listpack-entries and -value would keep the set in a listpack, and
// otherwise "skiplist".
func (s *Set) Encoding(maxEntries, maxValue int) string {
	if int(s.peak) > maxEntries || int(s.longest) > maxValue {
		return "skiplist"
	}
	return "listpack"
}
