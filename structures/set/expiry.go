package set

import (
	"bytes"

	"github.com/vigildb/vigil/structures"
)

// Members can expire. The hash knows how, as fields of a hash do: a member with an expiry lies there,
// an integer too, and stays there when its expiry is taken away. So integers have to be looked for in
// both places, but only in a set that ever had a member with an expiry: it is timed.

// NextExpiry returns a time before which no member expires, see hash.NextExpiry.
func (s *Set) NextExpiry() (ms int64, ok bool) { return s.rest.NextExpiry() }

// ExpiryOf returns the expiry of a member, whether it has one, and whether it is there.
func (s *Set) ExpiryOf(member []byte) (ms int64, has, found bool) {
	if v, ok := parse(member); ok && s.ints.has(v) {
		return 0, false, true
	}
	return s.rest.ExpiryOf(member)
}

// MayExpire returns an error if members may not get an expiry.
func MayExpire(ch *structures.Change) error { return ch.Permit(opExpireAt) }

// ExpireAt gives a member an expiry in absolute milliseconds; less than 1 is taken as 1. It returns
// false if there is no such member. MayExpire has allowed it.
func (s *Set) ExpireAt(ch *structures.Change, member []byte, ms int64) bool {
	old, _, found := s.ExpiryOf(member)
	if !found || s.unread() {
		return false
	}
	if ms = max(ms, 1); old == ms {
		return true
	}
	if v, ok := parse(member); ok && s.ints.has(v) {
		if !s.ints.remove(v) {
			return false
		}
		s.rest.SetNew(nil, member, nil)
	}
	ch.Op(opExpireAt, 2)
	ch.Bytes(member)
	ch.Int(ms)
	s.timed = true
	s.rest.ExpireAt(nil, member, ms)
	s.noteSize()
	return true
}

// Persist takes the expiry of a member away, and reports whether there was one.
func (s *Set) Persist(ch *structures.Change, member []byte) bool {
	if s.unread() || !s.rest.Persist(nil, member) {
		return false
	}
	ch.Op(opPersist, 1)
	ch.Bytes(member)
	return true
}

// ExpireFields removes up to limit members that are expired at now, see hash.ExpireFields.
func (s *Set) ExpireFields(ch *structures.Change, now int64, limit int, visit func(member []byte)) int {
	return s.rest.ExpireFields(nil, now, limit, func(member []byte) {
		ch.Op(opRemove, 1)
		ch.Bytes(member)
		if visit != nil {
			visit(member)
		}
	})
}

// Live returns the set without the members that are expired at now: a copy of the others, or the
// set itself if there are none.
func (s *Set) Live(now int64) *Set {
	if next, some := s.NextExpiry(); !some || next > now {
		return s
	}
	return Collect(s.rest.Keys(), func(visit func(member []byte) bool) {
		for c := (cursor{s: &s.ints}); c.ok(); c.next() {
			visit(s.spell(c.value()))
		}
		s.rest.Each(now, func(member, _ []byte, _ int64) { visit(member) })
	})
}

// Inherit gives members the nearest of the expiries that they have in other sets.
func (s *Set) Inherit(from []*Set) {
	type expiring struct {
		member []byte
		ms     int64
	}
	var timed []*Set
	total := 0
	for _, f := range distinct(from) {
		if _, some := f.NextExpiry(); some {
			timed = append(timed, f)
			total += f.Len()
		}
	}
	var all []expiring // gathered first: an integer with an expiry lies elsewhere
	if s.Len()*len(timed) <= total {
		s.Each(func(member []byte) bool {
			for _, f := range timed {
				if ms, has, _ := f.ExpiryOf(member); has {
					all = append(all, expiring{bytes.Clone(member), ms})
				}
			}
			return true
		})
	} else {
		for _, f := range timed {
			f.rest.Each(0, func(member, _ []byte, ms int64) {
				if ms != 0 && s.Has(member) {
					all = append(all, expiring{bytes.Clone(member), ms})
				}
			})
		}
	}
	for _, x := range all {
		if old, has, _ := s.ExpiryOf(x.member); !has || x.ms < old {
			s.ExpireAt(nil, x.member, x.ms)
		}
	}
}

// ReadyExpire is Ready for members that are to get an expiry.
func (s *Set) ReadyExpire(members ...[]byte) bool {
	return s.whole() || s.rest.Ready(1, members...) && s.Ready(members...)
}

// straddles reports whether integers of one of the sets may lie in its hash.
func straddles(sets []*Set) bool {
	for _, s := range sets {
		if s.timed {
			return true
		}
	}
	return false
}

// intersectAll is Intersect for sets whose integers may lie in either place.
func intersectAll(sets []*Set, visit func(member []byte) bool) {
	least := sets[0]
	for _, s := range sets {
		if s.Len() < least.Len() {
			least = s
		}
	}
	least.Each(func(member []byte) bool {
		for _, s := range sets {
			if s != least && !s.Has(member) {
				return true
			}
		}
		return visit(member)
	})
}

// subtractAll is Subtract for such sets.
func subtractAll(s *Set, others []*Set, visit func(member []byte) bool) {
	s.Each(func(member []byte) bool {
		for _, other := range others {
			if other.Has(member) {
				return true
			}
		}
		return visit(member)
	})
}

// Form is 1 for a set that was timed, which versions before cannot read, see structures.Formed.
func (s *Set) Form() byte {
	if s.timed {
		return 1
	}
	return 0
}
