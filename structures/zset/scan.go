package zset

import (
	"cmp"
	"slices"

	"github.com/vigildb/vigil/structures"
)

// Scan visits about count members (at least one), and returns the cursor for the next
// call. Cursor 0 begins, and is returned at the end. A set of one leaf is visited
// whole.
//
// A cursor hides the hash of the next member without its last bit: the scan goes through
// the members in the order of their hashes. Members that are there from the first call to the last are
// visited at least once, however the set grows or shrinks meanwhile.
func (s *Set) Scan(cursor uint64, count int, visit func(member []byte, score float64)) (next uint64) {
	if s.index == nil {
		s.Range(0, s.count, func(member []byte, score float64) bool {
			visit(member, score)
			return true
		})
		return 0
	}
	const dropped = 32 - structures.CursorBits // bits of a hash
	from := s.keys.Cursors.Reveal(cursor) << dropped
	count = max(count, 1)
	var batch []uint64
	for from < 1<<32 {
		if !s.whole() && s.pages.Pager != nil && s.pages.Pager.Tight() {
			s.Evict(roomBytes) // nothing is held from here on
		}
		bk := s.index.bucket(uint32(from))
		if !s.index.pin(bk) {
			return 0
		}
		batch = batch[:0]
		for _, e := range bk.slots {
			if e != 0 && e>>32 >= from {
				batch = append(batch, e)
			}
		}
		slices.SortFunc(batch, func(a, b uint64) int { return cmp.Compare(a, b) })
		for i, e := range batch {
			twin := i > 0 && batch[i-1]>>(32+dropped) == e>>(32+dropped) // must be visited with the one before
			if count <= 0 && !twin {
				return s.keys.Cursors.Hide(e >> (32 + dropped))
			}
			if i == 0 || batch[i-1] != e { // the same place has all of that hash
				count -= s.visitHash(e, visit)
				if s.unread() {
					return 0
				}
			}
		}
		from = (from>>(32-bk.depth) + 1) << (32 - bk.depth)
	}
	return 0
}

// visitHash visits the members with the hash of a slot in its leaf and returns how many
// there are.
func (s *Set) visitHash(slot uint64, visit func(member []byte, score float64)) (n int) {
	hash, l := uint32(slot>>32), s.named(slot)
	if l == nil || !s.pin(l) {
		return 0
	}
	for i, slot := range l.slots {
		if uint16(slot) != tagOf(hash) {
			continue
		}
		if b, member := l.entry(i); s.hashOf(member) == hash {
			visit(member, scoreOf(b))
			n++
		}
	}
	return n
}
