package set

import (
	"cmp"
	"slices"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
)

// Integers and other members never meet, so that every operation on sets is one on
// their integers and one on the others, unless a set is timed (expiry.go).

// Intersect visits the members that all sets have, until visit returns false. It
// costs as much as the smallest set has members of either sort, times the number of
// sets. There is at least one set.
func Intersect(sets []*Set, visit func(member []byte) bool) {
	sets = distinct(sets)
	if straddles(sets) {
		intersectAll(sets, visit)
		return
	}
	if intersectInts(sets, visit) {
		intersectRest(sets, visit)
	}
}

// distinct leaves sets out that were there before: a call may name the same key a
// hundred thousand times.
func distinct(sets []*Set) []*Set {
	seen := make(map[*Set]bool, len(sets))
	kept := make([]*Set, 0, len(sets))
	for _, s := range sets {
		if !seen[s] {
			seen[s] = true
			kept = append(kept, s)
		}
	}
	return kept
}

// intersectInts leaps from a member of one set to the first in another that is not
// less, and so on in turn: what only one set has is passed over in long steps.
// It returns false if visit did.
func intersectInts(sets []*Set, visit func(member []byte) bool) bool {
	cursors := make([]cursor, len(sets))
	for i, s := range sets {
		cursors[i].s = &s.ints
	}
	slices.SortFunc(cursors, func(a, b cursor) int { return cmp.Compare(a.s.count, b.s.count) })
	least := &cursors[0]
	for least.ok() {
		v := least.value()
		met := true
		for i := range cursors[1:] {
			c := &cursors[1+i]
			if c.seek(v); !c.ok() {
				return true
			}
			if w := c.value(); w > v {
				least.seek(w)
				met = false
				break
			}
		}
		if !met {
			continue
		}
		if !visit(sets[0].spell(v)) {
			return false
		}
		least.next()
	}
	return true
}

// intersectRest looks for each of the fewest members in the other sets.
func intersectRest(sets []*Set, visit func(member []byte) bool) {
	sorted := slices.Clone(sets)
	slices.SortStableFunc(sorted, func(a, b *Set) int { return cmp.Compare(a.rest.Len(), b.rest.Len()) })
	sorted[0].rest.EachShared(rests(sorted[1:]), visit)
}

// rests are the members of sets that are no integers.
func rests(sets []*Set) []*hash.Hash {
	hashes := make([]*hash.Hash, 0, len(sets))
	for _, s := range sets {
		hashes = append(hashes, s.rest)
	}
	return hashes
}

// Collect returns a new set of what each visits.
func Collect(keys *structures.HashKeys, each func(visit func(member []byte) bool)) *Set {
	all := New(keys)
	each(func(member []byte) bool {
		all.Add(nil, member)
		return true
	})
	return all
}

// Union returns a new set of the members that any of the sets has.
func Union(sets []*Set, keys *structures.HashKeys) *Set {
	all := New(keys)
	for _, s := range distinct(sets) {
		s.Each(func(member []byte) bool {
			all.Add(nil, member)
			return true
		})
	}
	return all
}

// fewSets is up to how many sets are united without a set of what was visited.
const fewSets = 16

// Unite visits the members that any of the sets has, each once.
func Unite(sets []*Set, keys *structures.HashKeys, visit func(member []byte) bool) {
	sets = distinct(sets)
	if len(sets) > fewSets {
		sets = []*Set{Union(sets, keys)}
	}
	for i, s := range sets {
		more := true
		Subtract(s, sets[:i], keys, func(member []byte) bool {
			more = visit(member)
			return more
		})
		if !more {
			return
		}
	}
}

// Subtract visits the members of a set that none of the others has, until visit
// returns false.
func Subtract(s *Set, others []*Set, keys *structures.HashKeys, visit func(member []byte) bool) {
	others = distinct(others)
	total := 0
	for _, other := range others {
		total += other.Len()
	}
	if len(others) > 1 && total < s.Len()*(len(others)-1) {
		// Less to gather than to look up in each.
		others = []*Set{Union(others, keys)}
	}
	if s.timed || straddles(others) {
		subtractAll(s, others, visit)
		return
	}
	if s.eachIntMissing(others, visit) {
		s.rest.EachMissing(rests(others), visit)
	}
}

// eachIntMissing visits the integers that none of the others has. It returns false if
// visit did.
func (s *Set) eachIntMissing(others []*Set, visit func(member []byte) bool) bool {
	cursors := make([]cursor, len(others))
	for i, other := range others {
		cursors[i].s = &other.ints
	}
	for c := (cursor{s: &s.ints}); c.ok(); c.next() {
		v, found := c.value(), false
		for i := range cursors {
			o := &cursors[i]
			o.seek(v)
			found = found || o.ok() && o.value() == v
		}
		if !found && !visit(s.spell(v)) {
			return false
		}
	}
	return true
}

// cursor stands on a member of the integers, or behind the last one. The zero value
// with s stands on the first. Its methods but ok need one on which it is true.
type cursor struct {
	s    *integers
	k, i int  // run, place in it
	r    *run // nil: not looked up yet
}

// seek returns a cursor on the first integer that is not less than v.
func (s *integers) seek(v int64) cursor {
	c := cursor{s: s}
	if len(s.runs) > 0 {
		c.k = s.locate(v)
		c.seek(v)
	}
	return c
}

// ok reports that the cursor stands on an integer. A run that cannot be read is the end.
func (c *cursor) ok() bool {
	if c.r != nil {
		return true
	}
	if c.k >= len(c.s.runs) {
		return false
	}
	if c.r = c.s.view(c.k); c.r == nil {
		c.k = len(c.s.runs)
		return false
	}
	return true
}

func (c *cursor) value() int64 { return c.r.at(c.i) }

// next goes to the next integer.
func (c *cursor) next() {
	if c.i++; c.i >= c.r.len() {
		c.enter(c.k + 1)
	}
}

// enter goes to the begin of run k.
func (c *cursor) enter(k int) { c.k, c.i, c.r = k, 0, nil }

// seek goes to the first integer from here on that is not less than v.
func (c *cursor) seek(v int64) {
	if !c.ok() {
		return
	}
	if k := c.k + 1; k < len(c.s.bounds) && c.s.bounds[k] <= v {
		if c.enter(c.s.locate(v)); !c.ok() {
			return
		}
	}
	if c.i, _ = c.r.findFrom(c.i, v); c.i >= c.r.len() {
		c.enter(c.k + 1)
	}
}
