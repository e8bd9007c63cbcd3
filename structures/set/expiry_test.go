package set

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

// stepExpiry gives a member an expiry, takes it away, or removes what is expired.
func (m *model) stepExpiry(member string) (changed bool) {
	switch m.r.IntN(8) {
	case 0:
		if timed := slices.Sorted(maps.Keys(m.due)); len(timed) > 0 && m.r.IntN(2) == 0 {
			member = timed[m.r.IntN(len(timed))]
		}
		has := m.due[member] != 0
		if got := m.set.Persist(&m.ch, []byte(member)); got != has {
			m.t.Fatalf("Persist(%q): got %v", member, got)
		}
		if has {
			delete(m.due, member)
			m.done["persist"]++
		}
		return has
	case 1:
		want := 0
		for name, at := range m.due {
			if at <= m.now {
				want++
				delete(m.want, name)
				delete(m.due, name)
			}
		}
		if got := m.set.ExpireFields(&m.ch, m.now, math.MaxInt, nil); got != want {
			m.t.Fatalf("ExpireFields: got %d, want %d", got, want)
		}
		m.done["expired"] += want
		return want > 0
	}
	ms := m.now + int64(m.r.IntN(60))
	if got := m.set.ExpireAt(&m.ch, []byte(member), ms); got != m.want[member] {
		m.t.Fatalf("ExpireAt(%q): got %v", member, got)
	}
	before := m.due[member]
	if m.want[member] {
		m.due[member] = max(ms, 1)
		m.done["expire"]++
	}
	return m.due[member] != before
}

// forget drops the expiries of members that went.
func (m *model) forget() {
	maps.DeleteFunc(m.due, func(member string, _ int64) bool { return !m.want[member] })
}

func (m *model) checkExpiries(s *Set) {
	m.t.Helper()
	for range 10 {
		member := m.member(m.r)
		ms, has, found := s.ExpiryOf([]byte(member))
		if found != m.want[member] || has != (m.due[member] != 0) || ms != m.due[member] {
			m.t.Fatalf("ExpiryOf(%q): got %d %v %v, want %d", member, ms, has, found, m.due[member])
		}
	}
	least := int64(math.MaxInt64)
	for _, at := range m.due {
		least = min(least, at)
	}
	if next, some := s.NextExpiry(); some != (len(m.due) > 0) || some && next > least {
		m.t.Fatalf("NextExpiry: got %d %v, want %d of %d", next, some, least, len(m.due))
	}
	live := members(m.t, s.Live(m.now))
	for member := range m.want {
		if at := m.due[member]; live[member] != (at == 0 || at > m.now) {
			m.t.Fatalf("Live: %q, which goes at %d, is there at %d: %v", member, at, m.now, live[member])
		}
	}
}

// numbered is a set of words and integers; each fifth expires.
func numbered(from, to int, timed bool) *Set {
	s := New(testKeys(7))
	for i := from; i < to; i++ {
		member := []byte(strconv.Itoa(i))
		if i%3 == 0 {
			member = fmt.Append(nil, "word", i)
		}
		s.Add(nil, member)
		if timed && i%5 == 0 {
			s.ExpireAt(nil, member, 1000)
		}
	}
	return s
}

// Integers are found by operations on several sets wherever they lie.
func TestTimedSetsMeetOthers(t *testing.T) {
	for _, timed := range [][2]bool{{true, false}, {false, true}, {true, true}} {
		a, b := numbered(0, 3000, timed[0]), numbered(1000, 5000, timed[1])
		count := func(each func(visit func([]byte) bool)) int {
			all := map[string]bool{}
			n := 0
			each(func(member []byte) bool { all[string(member)] = true; n++; return true })
			if len(all) != n {
				t.Errorf("timed %v: %d members, some twice", timed, n)
			}
			return n
		}
		keys := testKeys(7)
		for _, x := range []struct {
			what string
			got  int
			want int
		}{
			{"intersection", count(func(v func([]byte) bool) { Intersect([]*Set{a, b}, v) }), 2000},
			{"difference", count(func(v func([]byte) bool) { Subtract(a, []*Set{b}, keys, v) }), 1000},
			{"union", count(func(v func([]byte) bool) { Unite([]*Set{a, b}, keys, v) }), 5000},
			{"stored union", Union([]*Set{a, b}, keys).Len(), 5000},
		} {
			if x.got != x.want {
				t.Errorf("timed %v: %s of %d members, want %d", timed, x.what, x.got, x.want)
			}
		}
		if _, some := Union([]*Set{a, b}, keys).NextExpiry(); some {
			t.Error("members of a union expire")
		}
	}
}

// Members that get an expiry while a scan goes on are visited, although integers move.
func TestScanVisitsIntegersThatGetAnExpiry(t *testing.T) {
	s, r := numbered(0, 5000, false), rand.New(rand.NewPCG(3, 3))
	seen, next := map[string]bool{}, 0
	structurestest.Scan(t, func(cursor uint64) uint64 {
		cursor = s.Scan(cursor, 10, func(member []byte) { seen[string(member)] = true })
		for range 30 {
			s.ExpireAt(nil, []byte(strconv.Itoa(r.IntN(5000))), 1000)
			next++
		}
		return cursor
	})
	if len(seen) != s.Len() || !s.timed || next < 5000 {
		t.Errorf("%d of %d visited, while %d got an expiry", len(seen), s.Len(), next)
	}
}

// A set that was timed says so where it is stored, and one that was not is stored as before.
func TestTimedSetsAreOfALaterForm(t *testing.T) {
	plain, timed := numbered(0, 100, false), numbered(0, 100, true)
	if plain.Form() != 0 || plain.AppendHead(nil)[0] > intsIndexed || timed.Form() != 1 || timed.AppendHead(nil)[0] < timedForms {
		t.Errorf("forms %d and %d", plain.Form(), timed.Form())
	}
	head := timed.AppendHead(nil)
	head[0] -= timedForms
	if _, err := Decode(head, testKeys(7)); err == nil {
		t.Error("a set of before has members that expire")
	}
	small := numbered(0, 20, true)
	other := New(testKeys(7))
	other.LoadCompact(small.AppendCompact(nil))
	if !other.timed || !other.Has([]byte("10")) || !slices.Equal(other.AppendHead(nil), small.AppendHead(nil)) {
		t.Error("a record of a timed set is not one")
	}
	var ch structures.Change
	limit := structures.Limit{Ops: opRemove, Err: structures.ErrCorrupt}
	ch.Limit(&limit)
	if MayExpire(&ch) == nil {
		t.Error("a limited change has expiries")
	}
}

// A member inherits the nearest expiry, whichever way is the shorter one to find it.
func TestMembersInheritTheNearestExpiry(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 7))
	keys := testKeys(1)
	for range 400 {
		want := map[string]int64{}
		from := make([]*Set, 1+r.IntN(4))
		result := New(keys)
		for i := range from {
			from[i] = New(keys)
			for range r.IntN(30) {
				member := strconv.Itoa(r.IntN(40))
				if r.IntN(2) == 0 {
					member = "word" + member
				}
				from[i].Add(nil, []byte(member))
				if r.IntN(3) == 0 {
					from[i].ExpireAt(nil, []byte(member), 1+int64(r.IntN(50)))
				}
			}
		}
		few := r.IntN(2) == 0
		for _, f := range from {
			f.Each(func(member []byte) bool {
				if !few || r.IntN(8) == 0 {
					result.Add(nil, member)
				}
				return true
			})
		}
		for _, f := range from {
			f.Each(func(member []byte) bool {
				if ms, has, _ := f.ExpiryOf(member); has && result.Has(member) && (want[string(member)] == 0 || ms < want[string(member)]) {
					want[string(member)] = ms
				}
				return true
			})
		}
		n := result.Len()
		result.Inherit(append(from, from[0]))
		got := map[string]int64{}
		result.Each(func(member []byte) bool {
			if ms, has, _ := result.ExpiryOf(member); has {
				got[string(member)] = ms
			}
			return true
		})
		if result.Len() != n || !maps.Equal(got, want) {
			t.Fatalf("%d members of %d, got %v, want %v", result.Len(), n, got, want)
		}
	}
}
