package topology

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// news returns pieces of news about one group in the course of its life: what is at an index, and who
// leads in a term, is the same in all of them.
func news(r *rand.Rand) *Group {
	index, term := r.Uint64N(4), r.Uint64N(4)
	g := &Group{Name: "a", Index: index, Term: term, Assignment: Assignment{Slots: new(slots.Set)}}
	for id := uint64(1); id <= index; id++ {
		g.Members = append(g.Members, GroupMember{ID: id, Address: "h:1"})
	}
	if g.Leader = term + 1; r.IntN(2) == 0 {
		g.Leader = 0
	}
	return g
}

// News may come in any order, and again and again: what follows from it is the same, and the latest.
func TestNewsOfAGroupMayComeInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		all := []*Group{news(r), news(r), news(r), news(r)}
		var want *Group
		for _, g := range all {
			want = joined(want, g)
		}
		for _, g := range all {
			if want.Index < g.Index || want.Term < g.Term || len(want.Members) != int(want.Index) {
				t.Fatalf("%+v follows from %+v", want, g)
			}
		}
		var got *Group
		for range 3 {
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			for _, g := range all {
				got = joined(got, g)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, in another order %+v", want, got)
		}
		if again := joined(got, all[0]); again != got {
			t.Fatal("what is known already counts as news")
		}
	}
}

// A group that was founded anew under its name takes the place of the former one.
func TestGroupFoundedAnewIsBelieved(t *testing.T) {
	old := &Group{Name: "a", Index: 90, Term: 40, Leader: 3, Assignment: Assignment{Slots: slotstest.Set(t, "1"), Since: 100}}
	now := &Group{Name: "a", Index: 3, Term: 2, Leader: 1, Assignment: Assignment{Slots: slotstest.Set(t, "2"), Since: 200}}
	if joined(old, now) != now || joined(now, old) != now {
		t.Error("the former group is believed")
	}
}

// A group is dissolved for who is of it by news behind what it knows, and by no others.
func TestGroupIsDissolvedByLaterNews(t *testing.T) {
	members := []GroupMember{{ID: 1, Address: "h:1"}, {ID: 2, Address: "h:2"}}
	own := &Group{Name: "a", Index: 7, Assignment: Assignment{Since: 5}, Members: members}
	for _, x := range []struct {
		by   Group
		want bool
	}{
		{Group{Index: 8, Assignment: Assignment{Since: 5}}, true},
		{Group{Index: 1, Assignment: Assignment{Since: 6}}, true},
		{Group{Index: 7, Assignment: Assignment{Since: 5}}, false},
		{Group{Index: 9, Assignment: Assignment{Since: 4}}, false},
		{Group{Index: 9, Assignment: Assignment{Since: 5}, Members: members[:1]}, false},
	} {
		if got := own.dissolvedBy(&x.by); got != x.want {
			t.Errorf("by entry %d with %d members, claimed at %d: %v", x.by.Index, len(x.by.Members), x.by.Assignment.Since, got)
		}
	}
	if new(Group).dissolvedBy(&Group{Index: 1}) {
		t.Error("a group of which nothing is known yet is dissolved")
	}
}

// Each slot is of the group that has had slots for longest, whatever the order in which groups are heard of.
func TestSlotOfTwoGroupsIsTheSeniorOnes(t *testing.T) {
	group := func(name string, since uint64, of string) *Group {
		return &Group{Name: name, Assignment: Assignment{Slots: slotstest.Set(t, of), Since: since}}
	}
	all := Table{}
	for _, g := range []*Group{group("late", 30, "0-100"), group("early", 10, "50-60"), group("b", 20, "60-70"), group("a", 20, "65-70 200"), group("none", 0, "")} {
		all[g.Name] = g
	}
	of, _, taken := all.divide()
	for name, want := range map[string]string{"early": "50-60", "a": "65-70 200", "b": "61-64", "late": "0-49 71-100", "none": ""} {
		if got := of[name].String(); got != want {
			t.Errorf("group %s has %q, want %q", name, got, want)
		}
	}
	if taken.String() != "0-100 200" {
		t.Errorf("taken: %s", taken)
	}
}

func fullTable(t testing.TB) Table {
	return Table{
		"": {Index: 5, Assignment: Assignment{Slots: slotstest.Set(t, "0-5 9"), Since: 1 << 40}, Term: 7, Leader: 2,
			Members: []GroupMember{{1, "10.0.0.1:7001", false}, {2, "[::1]:7002", false}, {9, "", true}}},
		"other": {Name: "other", Assignment: Assignment{Slots: new(slots.Set)}},
	}
}

func TestTableIsReadAsItWasWritten(t *testing.T) {
	for _, want := range []Table{{}, fullTable(t)} {
		b := want.Encode()
		got, err := decodeTable(b)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
		for n := 1; n < len(b); n++ {
			if got, err := decodeTable(b[:n]); err == nil {
				t.Errorf("%d of %d bytes: %v", n, len(b), got)
			}
		}
		if _, err := decodeTable(append(b, 0)); err == nil {
			t.Error("a byte more is read")
		}
	}
	for what, change := range map[string]func(Table){
		"a long name":             func(t Table) { t[strings.Repeat("x", 65)] = &Group{Name: strings.Repeat("x", 65)} },
		"an address that is none": func(t Table) { t[""].Members[0].Address = "nowhere" },
		"a member twice":          func(t Table) { t[""].Members[1].ID = 1 },
		"a member without id":     func(t Table) { t[""].Members[0].ID = 0 },
		"too many tombstones":     func(t Table) { t[""].Assignment.Tombstones = someTombstones(maxTombstones + 1) },
		"too many members":        func(t Table) { t[""].Members = make([]GroupMember, 15) },
		"too many groups": func(t Table) {
			for i := range 300 {
				t[strings.Repeat("x", i%60)+string(rune('a'+i/60))] = &Group{}
			}
		},
	} {
		bad := fullTable(t)
		change(bad)
		if got, err := decodeTable(bad.Encode()); err == nil {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// Whatever comes as a table is refused, or read as one that is written again alike.
func FuzzTableIsReadOrRefused(f *testing.F) {
	f.Add(fullTable(f).Encode())
	f.Add(Table{}.Encode())
	buried := fullTable(f)
	buried["other"].Assignment.Tombstones, buried[""].Assignment.Revived = someTombstones(2), 7
	f.Add(buried.Encode())
	f.Add([]byte{1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decodeTable(b)
		if err != nil {
			return
		}
		got.divide()
		again, err := decodeTable(got.Encode())
		if err != nil || !bytes.Equal(again.Encode(), got.Encode()) {
			t.Errorf("%v and %v, %v", got, again, err)
		}
	})
}
