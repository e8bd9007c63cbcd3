package zset

import "bytes"

// Bound is a place between two members, or before the first or behind the last
// one. The members that it is behind are the first ones of a set.
type Bound struct {
	by     comparison
	behind bool // it is behind what equals it
	order  uint64
	member []byte
}

// comparison says what of an entry a bound is compared with.
type comparison byte

const (
	byScore comparison = iota
	byMember
	byBoth
)

// BeforeScore is the place before the members with a score.
func BeforeScore(score float64) Bound { return Bound{order: orderOf(scoreBits(score))} }

// AfterScore is the place behind the members with a score.
func AfterScore(score float64) Bound {
	return Bound{order: orderOf(scoreBits(score)), behind: true}
}

// BeforeMember is the place before a member, in a set whose scores are all equal.
func BeforeMember(member []byte) Bound { return Bound{by: byMember, member: member} }

// AfterMember is the place behind a member, in a set whose scores are all equal.
func AfterMember(member []byte) Bound { return Bound{by: byMember, member: member, behind: true} }

// after reports whether the bound is behind entry i of a leaf.
func (b *Bound) after(l *leaf, i int) bool {
	bits, member := l.entry(i)
	if b.by != byMember {
		if o := orderOf(bits); o != b.order {
			return o < b.order
		}
		if b.by == byScore {
			return b.behind
		}
	}
	c := bytes.Compare(member, b.member)
	return c < 0 || c == 0 && b.behind
}

// afterChild reports whether the bound is behind the first entry of child i; ok is false
// if a page cannot be read.
func (b *Bound) afterChild(t *tree, n *branch, i int) (after, ok bool) {
	if b.by != byMember {
		if o := n.firsts[i]; o != b.order {
			return o < b.order, true
		}
		if b.by == byScore {
			return b.behind, true
		}
	}
	l := n.leftmost(i)
	if l.Evicted {
		if c := l.compareStub(b.member); c != 0 {
			return c < 0, true
		}
		if !t.pin(l) {
			return false, false
		}
	}
	return b.after(l, 0), true
}
