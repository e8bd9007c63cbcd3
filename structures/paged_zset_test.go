package structures_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
	"github.com/vigildb/vigil/structures/zset"
)

type zsetModel struct{ scores map[string]float64 }

func (m *zsetModel) create() structures.Paged { return zset.New(&pagedKeys) }
func (m *zsetModel) decode(head []byte) (structures.Paged, error) {
	return zset.Decode(head, &pagedKeys)
}

// member is one of a few members: short, or long ones that begin alike, or larger than a
// leaf.
func (m *zsetModel) member(r *rand.Rand) string {
	switch n := r.IntN(800); {
	case n < 4:
		return fmt.Sprintf("%03000d", n)
	case n < 300:
		return fmt.Sprintf("these members begin all alike %0200d", n)
	default:
		return fmt.Sprint(n)
	}
}

func (m *zsetModel) ordered() []string {
	return slices.SortedFunc(maps.Keys(m.scores), func(a, b string) int {
		return cmp.Or(cmp.Compare(m.scores[a], m.scores[b]), cmp.Compare(a, b))
	})
}

func (m *zsetModel) change(t testing.TB, r *rand.Rand, v structures.Paged, ch *structures.Change) {
	t.Helper()
	s, member, before := v.(*zset.Set), m.member(r), ch.Len()
	did := func() bool { return ch.Len() > before }
	score := float64(r.IntN(1000))
	if r.IntN(3) == 0 {
		score = float64(r.IntN(3))
	}
	switch op := r.IntN(24); {
	case op < 12:
		if s.Add(ch, []byte(member), score, 0); did() {
			m.scores[member] = score
		}
	case op < 16:
		now, _ := s.Add(ch, []byte(member), score-500, zset.Increment)
		if did() {
			if m.scores[member] += score - 500; m.scores[member] != now {
				t.Fatalf("%.40q: incremented to %v, want %v", member, now, m.scores[member])
			}
		}
	case op < 21:
		_, there := m.scores[member]
		if s.Remove(ch, []byte(member)); did() {
			if !there {
				t.Fatalf("%.40q was removed, which was not there", member)
			}
			delete(m.scores, member)
		}
	case op < 22:
		var got []string
		end, count := zset.End(r.IntN(2)), 1+r.IntN(20)
		if s.Pop(ch, end, count, func(member []byte, _ float64) { got = append(got, string(member)) }); did() {
			want := m.ordered()
			if end == zset.Greatest {
				slices.Reverse(want)
			}
			want = want[:min(count, len(want))]
			for _, member := range want {
				delete(m.scores, member)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("popped %.40q, want %.40q", got, want)
			}
		}
	case op < 23:
		rank, count := s.Between(zset.BeforeScore(score), zset.AfterScore(score+20))
		if s.RemoveRange(ch, rank, count); did() {
			maps.DeleteFunc(m.scores, func(_ string, have float64) bool { return have >= score && have <= score+20 })
		}
	default:
		rank, all := r.IntN(len(m.scores)+1), m.ordered()
		count := r.IntN(1 + len(all)/16)
		if r.IntN(60) == 0 {
			rank, count = 0, len(all)
		}
		if s.RemoveRange(ch, rank, count); did() {
			for _, member := range all[rank:min(rank+count, len(all))] {
				delete(m.scores, member)
			}
		}
	}
}

func (m *zsetModel) check(t testing.TB, r *rand.Rand, v structures.Paged) {
	t.Helper()
	s := v.(*zset.Set)
	want := m.ordered()
	var got []string
	visit := func(member []byte, score float64) bool {
		if m.scores[string(member)] != score {
			t.Fatalf("%.40q: score %v, want %v", member, score, m.scores[string(member)])
		}
		got = append(got, string(member))
		return true
	}
	switch r.IntN(4) {
	case 0:
		s.Range(0, s.Len(), visit)
	case 1:
		s.Reverse(s.Len()-1, s.Len(), visit)
		slices.Reverse(got)
	case 2:
		structurestest.Scan(t, func(cursor uint64) uint64 {
			return s.Scan(cursor, 10, func(member []byte, score float64) { visit(member, score) })
		})
		slices.Sort(got)
		got = slices.Compact(got)
		slices.Sort(want)
	default:
		for i, member := range want {
			rank, score, ok := s.Rank([]byte(member))
			if !ok || rank != i {
				t.Fatalf("%.40q: rank %d, %v, want %d", member, rank, ok, i)
			}
			visit([]byte(member), score)
		}
	}
	if !slices.Equal(got, want) || s.Len() != len(want) {
		t.Fatalf("%d members, length %d, want %d, or they differ", len(got), s.Len(), len(want))
	}
	for range 5 {
		score := float64(r.IntN(1000))
		n := 0
		for _, have := range m.scores {
			if have < score {
				n++
			}
		}
		if got := s.Before(zset.BeforeScore(score)); got != n {
			t.Fatalf("%d before %v, want %d", got, score, n)
		}
	}
}
