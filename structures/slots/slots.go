// Package slots has sets of hash slots: the parts into which Redis Cluster divides keys, and
// which groups of servers have.
package slots

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Count is the number of slots. They are numbered from 0 on.
const Count = 16384

// Set is a set of slots, one bit each. The zero value is empty. A nil set may be read, and is empty.
type Set [Count / 64]uint64

// Range is the slots from First to Last, both included.
type Range struct{ First, Last int }

// All returns the set of all slots.
func All() *Set {
	s := new(Set)
	s.Add(Range{0, Count - 1})
	return s
}

// Has reports whether a slot, from 0 to Count-1, is in the set.
func (s *Set) Has(slot int) bool { return s != nil && s[slot/64]>>(slot%64)&1 == 1 }

// Len returns the number of slots in the set.
func (s *Set) Len() (n int) {
	if s != nil {
		for _, word := range s {
			n += bits.OnesCount64(word)
		}
	}
	return n
}

// Add adds the slots of a range, a word at a time: servers that exchange tables of slots do little else.
func (s *Set) Add(r Range) {
	for slot := r.First; slot <= r.Last; {
		end := min(r.Last, slot|63)
		s[slot/64] |= ^uint64(0) >> (63 - (end - slot)) << (slot % 64)
		slot = end + 1
	}
}

// Union returns the slots that are in one of two sets.
func (s *Set) Union(o *Set) *Set { return s.merged(o, func(a, b uint64) uint64 { return a | b }) }

// Without returns the slots that are not in another set.
func (s *Set) Without(o *Set) *Set { return s.merged(o, func(a, b uint64) uint64 { return a &^ b }) }

// Both returns the slots that are in two sets.
func (s *Set) Both(o *Set) *Set { return s.merged(o, func(a, b uint64) uint64 { return a & b }) }

func (s *Set) merged(o *Set, merge func(a, b uint64) uint64) *Set {
	var a, b Set
	if s != nil {
		a = *s
	}
	if o != nil {
		b = *o
	}
	for i := range a {
		a[i] = merge(a[i], b[i])
	}
	return &a
}

// Equal reports whether two sets have the same slots.
func (s *Set) Equal(o *Set) bool { return *s.Union(nil) == *o.Union(nil) }

// Ranges returns the slots as ranges in order, each as long as possible.
func (s *Set) Ranges() (ranges []Range) {
	if s == nil {
		return nil
	}
	for slot := s.next(0, 0); slot < Count; {
		end := s.next(slot, ^uint64(0))
		ranges = append(ranges, Range{slot, end - 1})
		slot = s.next(end, 0)
	}
	return ranges
}

// next returns the first slot from one on that is in the set if skip is 0, and that is not in it if all bits of skip are
// set; Count if there is none.
func (s *Set) next(from int, skip uint64) int {
	for ; from < Count; from = (from | 63) + 1 {
		if word := (s[from/64] ^ skip) >> (from % 64); word != 0 {
			return from + bits.TrailingZeros64(word)
		}
	}
	return Count
}

// String returns the slots as CLUSTER NODES shows them, such as "0-5460 6000"; "" if there are none.
func (s *Set) String() string {
	var words []string
	for _, r := range s.Ranges() {
		words = append(words, r.String())
	}
	return strings.Join(words, " ")
}

// String returns "first-last", or one number for one slot.
func (r Range) String() string {
	if r.First == r.Last {
		return strconv.Itoa(r.First)
	}
	return strconv.Itoa(r.First) + "-" + strconv.Itoa(r.Last)
}

// Parse reads what String returns. Ranges may come in any order, and overlap.
func Parse(text string) (*Set, error) {
	s := new(Set)
	for _, word := range strings.Fields(text) {
		first, last, isRange := strings.Cut(word, "-")
		if !isRange {
			last = first
		}
		a, err := strconv.ParseUint(first, 10, 16)
		b, err2 := strconv.ParseUint(last, 10, 16)
		if err != nil || err2 != nil || a > b || b >= Count {
			return nil, fmt.Errorf("%q is neither a slot nor a range of slots, which are 0 to %d", word, Count-1)
		}
		s.Add(Range{int(a), int(b)})
	}
	return s, nil
}

// ErrEncoding is returned for bytes that are no encoded set.
var ErrEncoding = errors.New("slots do not decode")

// Append appends an encoded set, in uvarints: the number of ranges, and of each one the distance
// from the slot behind the one before and the number of slots less one. A set has one encoding.
func (s *Set) Append(b []byte) []byte {
	ranges := s.Ranges()
	b = binary.AppendUvarint(b, uint64(len(ranges)))
	next := 0
	for _, r := range ranges {
		b = binary.AppendUvarint(b, uint64(r.First-next))
		b = binary.AppendUvarint(b, uint64(r.Last-r.First))
		next = r.Last + 1
	}
	return b
}

// Decode reads an encoded set, and returns what follows it. The error is ErrEncoding.
func Decode(b []byte) (s *Set, rest []byte, err error) {
	number := func() int {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > Count {
			err = ErrEncoding
			return 0
		}
		b = b[k:]
		return int(n)
	}
	s = new(Set)
	next := 0
	for n := number(); n > 0 && err == nil; n-- {
		gap, more := number(), number()
		r := Range{next + gap, next + gap + more}
		if gap == 0 && next > 0 || r.Last >= Count {
			err = ErrEncoding
		}
		if err == nil {
			s.Add(r)
		}
		next = r.Last + 1
	}
	if err != nil {
		return nil, nil, err
	}
	return s, b, nil
}
