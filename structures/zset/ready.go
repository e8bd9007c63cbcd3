package zset

import "github.com/vigildb/vigil/structures"

// A method that changes something has the pages in memory that it needs before it records
// anything: one that cannot be read must not leave a change half made. Pages do not leave
// memory meanwhile: they are recent, see makeRoom. What only tidies up, joining leaves and
// giving them lower numbers, is done if all that it needs is in memory.

// Ready makes sure that the pages of members, one in each step of
// names, are in memory: to remove them then does not fail half way. It reports false if
// one of the pages cannot be read.
func (s *Set) Ready(step int, names ...[]byte) bool {
	if s.whole() {
		return true
	}
	s.makeRoom()
	found := 0 // at most so many leaves become empty or join others
	for i := 0; i < len(names); i += step {
		if l, _ := s.find(s.hash(names[i]), names[i]); l != nil {
			found++
		}
	}
	return !s.unread() && s.readyDrop(found)
}

// ReadyAdd makes sure that the pages which Add needs for n entries are in memory. It reports
// false if one of them cannot be read. Add itself does so for a single entry. With
// Increment or a rule the pages may not be those of the place that the member comes to have.
func (s *Set) ReadyAdd(n int, entry func(i int) (score float64, member []byte)) bool {
	if s.whole() || n == 1 {
		return true
	}
	s.makeRoom()
	needs := map[*leaf]int{}
	var sources []*leaf
	for i := range n {
		score, m := entry(i)
		hash := s.hash(m)
		if from, _ := s.find(hash, m); from != nil {
			sources = append(sources, from)
		}
		bound := Bound{by: byBoth, order: orderOf(scoreBits(score)), member: m}
		to, _ := s.leafOf(&bound)
		if to == nil || s.unread() || !s.readyEntries(hash, n) {
			return false
		}
		if needs[to] += entrySize(m); !to.takes(scoreBits(score), needs[to]) && !s.pin(to) {
			return false
		}
	}
	for to := range needs {
		if len(sources) > 0 && !s.pin(to) {
			return false
		}
	}
	// What a leaf loses at its beginning may make the one before it the place of others.
	for _, l := range sources {
		for _, near := range [2]*leaf{previous(l), next(l)} {
			if near != nil {
				if !s.pin(near) {
					return false
				}
				needs[near] += needs[l]
			}
		}
	}
	for l, need := range needs {
		if l.bytes()+need > leafBytes && !(s.pin(l) && s.pinMoved(l, 0, l.len())) {
			return false
		}
	}
	return true
}

// pinEntries makes sure that the buckets of entries are in memory.
func (s *Set) pinEntries(l *leaf, from, to int) bool {
	for i := from; i < to; i++ {
		hash := s.hashOf(l.member(i))
		bk := s.index.bucket(hash)
		if !s.index.pin(bk) {
			return false
		}
		if bk.entry(hash, l.num) < 0 { // a page that is not of this set
			return s.pages.Pager != nil && s.pages.Pager.ReadPage(bk.id(), func([]byte) error { return structures.ErrCorrupt })
		}
	}
	return true
}

// readyEntries makes sure that the bucket of a hash can get some entries.
func (s *Set) readyEntries(hash uint32, n int) bool {
	bk := s.index.bucket(hash)
	return bk.takes(n) || s.index.pin(bk)
}

// pinMoved is pinEntries for entries that are to go to another leaf: an evicted bucket
// need not be read for that, unless two members have the same entry there.
func (s *Set) pinMoved(l *leaf, from, to int) bool {
	for i := from; i < to; i++ {
		hash := s.hashOf(l.member(i))
		if s.index.bucket(hash).Evicted && !s.twin(l, i, hash) {
			continue
		}
		if !s.pinEntries(l, i, i+1) {
			return false
		}
	}
	return true
}

// resident reports that the buckets of entries are in memory.
func (s *Set) resident(l *leaf, from, to int) bool {
	if s.whole() {
		return true
	}
	if l.Evicted {
		return false
	}
	for i := from; i < to; i++ {
		if s.index.bucket(s.hashOf(l.member(i))).Evicted {
			return false
		}
	}
	return true
}

// readyPlace makes sure that an entry of a new member can be put where it belongs.
func (s *Set) readyPlace(b uint64, member []byte, hash uint32) bool {
	if s.whole() {
		return true
	}
	bound := Bound{by: byBoth, order: orderOf(b), member: member}
	l, _ := s.leafOf(&bound)
	if l == nil || s.unread() || !s.readyEntries(hash, 1) {
		return false
	}
	if l.takes(b, entrySize(member)) {
		return true
	}
	l, i, _ := s.seek(&bound)
	return l != nil && s.readyFill(l, i, b, member)
}

// readyFill is readyPlace for entry i of a leaf: if the leaf is going to be split, the
// buckets of those that move are needed.
func (s *Set) readyFill(l *leaf, i int, b uint64, member []byte) bool {
	need := entrySize(member)
	switch {
	case need > leafBytes || l.big():
		return s.pinMoved(l, 0, l.len())
	case len(l.buf)+need <= leafBytes:
		return true
	}
	c := leaf{num: l.num, buf: append([]byte(nil), l.buf...), slots: append([]slot(nil), l.slots...)}
	c.insert(i, b, member, 0)
	at, tail := c.half(i == l.len() && next(l) == nil)
	from, to := 0, at
	if tail {
		from, to = at, c.len()
	}
	if c.offset(at) > leafBytes || len(c.buf)-c.offset(at) > leafBytes { // it will be split again
		from, to = 0, c.len()
	}
	// The new entry is not in l.
	if from > i {
		from--
	}
	if to > i {
		to--
	}
	return s.pinMoved(l, from, to)
}

// readyMove makes sure that entry i of a leaf can be given another score.
func (s *Set) readyMove(l *leaf, i int, b uint64, member []byte) bool {
	if s.whole() || s.stays(l, i, b, member) {
		return true
	}
	bound := Bound{by: byBoth, order: orderOf(b), member: member}
	to, j, _ := s.seek(&bound)
	return to != nil && !s.unread() && (to == l || (l.len() > 1 || s.readyDrop(1)) && s.readyFill(to, j, b, member))
}

// readyTake makes sure that an entry of a leaf can be removed.
func (s *Set) readyTake(l *leaf) bool {
	return s.whole() || l.len() > 1 || s.readyDrop(1)
}

// readyDrop makes sure that some leaves can go. A set of one leaf has it in memory, and one of
// so few leaves that their numbers would be too far apart gives them others, for which all
// pages are needed.
func (s *Set) readyDrop(n int) bool {
	const joined = 2 // by what goes at the ends of a range
	return s.live-n > 1 && !s.distant(n+joined) || s.LoadAll()
}

// readyRange makes sure that members from a rank on can be removed.
func (s *Set) readyRange(rank, count int) bool {
	if s.whole() {
		return true
	}
	if s.unread() {
		return false
	}
	if count == s.count {
		return true
	}
	emptied := 0
	for l, i := s.at(rank); count > 0; l, i = next(l), 0 {
		n := min(count, l.len()-i)
		if !s.pin(l) || !s.pinEntries(l, i, i+n) {
			return false
		}
		if n == l.len() {
			emptied++
		}
		count -= n
	}
	return s.readyDrop(emptied)
}

// readyPop is readyRange for members that are visited first.
func (s *Set) readyPop(rank, count int, visit func(member []byte, score float64)) bool {
	s.makeRoom()
	if !s.readyRange(rank, count) {
		return false
	}
	if s.whole() || count < s.count || visit == nil {
		return true
	}
	return s.LoadAll() // all of them go, which needs no page but to be seen
}
