package topology

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// claims is a table of groups that claim slots, all since the same time and in the order of their names.
func claims(t testing.TB, of map[string]string) Table {
	t.Helper()
	all := Table{}
	for name, text := range of {
		all[name] = &Group{Name: name, Index: 1, Assignment: Assignment{Slots: slotstest.Set(t, text), Since: 10}, Members: []GroupMember{{ID: 1, Address: "h:1"}}}
	}
	return all
}

func buries(all Table, burier, name string, at uint64) {
	g := all[burier]
	g.Assignment.Tombstones = WithTombstone(g.Assignment.Tombstones, Tombstone{name, at})
}

// The slots of a removed group are free, whichever groups have its tombstone, and belong to whoever claims them later. A later assignment
// of the group changes nothing. That it was revived does, if it knew all tombstones.
func TestSlotsOfARemovedGroupAreFree(t *testing.T) {
	want := func(what string, all Table, of map[string]string) {
		t.Helper()
		got, _, taken := all.divide()
		sum := new(slots.Set)
		for name := range all {
			if got[name].String() != of[name] {
				t.Errorf("%s: group %s has %q, want %q", what, name, got[name], of[name])
			}
			sum = sum.Union(got[name])
		}
		if !taken.Equal(sum) {
			t.Errorf("%s: taken are %s of %s", what, taken, sum)
		}
	}
	all := claims(t, map[string]string{"a": "0-9", "b": "10-19", "c": "20-29"})
	buries(all, "b", "a", 100)
	want("one tombstone", all, map[string]string{"b": "10-19", "c": "20-29"})
	buries(all, "c", "a", 200)
	want("two tombstones", all, map[string]string{"b": "10-19", "c": "20-29"})
	all["c"].Assignment.Slots = slotstest.Set(t, "5 20-29")
	want("another group takes a slot, which has had slots for less long", all, map[string]string{"b": "10-19", "c": "5 20-29"})
	all["a"].Assignment.Since = 300
	want("an assignment after the tombstones", all, map[string]string{"b": "10-19", "c": "5 20-29"})
	all["a"].Assignment.Revived = 199
	want("revived after the first tombstone", all, map[string]string{"b": "10-19", "c": "5 20-29"})
	all["a"].Assignment.Revived = 200
	want("revived", all, map[string]string{"a": "0-4 6-9", "b": "10-19", "c": "5 20-29"})
	buries(all, "a", "b", 50)
	want("it buries another one", all, map[string]string{"a": "0-4 6-9", "c": "5 20-29"})
	buries(all, "b", "a", 201)
	want("two groups bury each other", all, map[string]string{"c": "5 20-29"})
	buries(all, "b", "nobody", 201)
	want("a group that nobody knows is buried", all, map[string]string{"c": "5 20-29"})
	if removed := all.removed(); !reflect.DeepEqual(removed, map[string]uint64{"a": 201, "b": 50, "nobody": 201}) {
		t.Errorf("%v are removed", removed)
	}
}

// Slots that were given to a removed group are about to come back, unless another one has claimed them. What such a group gave
// away itself does not count.
func TestSlotsGivenToARemovedGroupComeBack(t *testing.T) {
	all := claims(t, map[string]string{"a": "0-9", "b": "10-19", "c": "7"})
	all["a"].Assignment.Slots = slotstest.Set(t, "0-4")
	all["a"].Assignment.Given = []Move{{1, "b", slotstest.Set(t, "5-7"), MoveOpen}, {2, "c", slotstest.Set(t, "8"), MoveOpen}}
	all["b"].Assignment.Given = []Move{{3, "c", slotstest.Set(t, "15"), MoveOpen}}
	buries(all, "a", "b", 100)
	_, come, taken := all.divide()
	if come["a"].String() != "5-6" || come["c"].String() != "8" || come["b"] != nil || taken.String() != "0-8" {
		t.Errorf("to a come %s, to b %s, to c %s; taken are %s", come["a"], come["b"], come["c"], taken)
	}
}

func someTombstones(n int) (all []Tombstone) {
	for i := range n {
		all = WithTombstone(all, Tombstone{strconv.Itoa(i), uint64(1000 + i)})
	}
	return all
}

// Tombstones are kept in entries and in tables; what has none is written as before there were any.
func TestTombstonesAreReadAsTheyWereWritten(t *testing.T) {
	for _, c := range []Assignment{{Slots: slotstest.Set(t, "0-9"), Since: 5, Tombstones: someTombstones(3)}, {Slots: new(slots.Set), Revived: 7},
		{Slots: slotstest.Set(t, "3"), Since: 1, Given: someMoves(t), Taking: someMoves(t)[1:], Tombstones: append([]Tombstone{{"", 1 << 62}}, someTombstones(maxTombstones-1)...), Revived: 9}} {
		b := c.Encode()
		if got := DecodeAssignment(b, Assignment{}); !reflect.DeepEqual(got.Encode(), b) || !slices.Equal(got.Tombstones, c.Tombstones) || got.Revived != c.Revived || len(got.Given) != len(c.Given) {
			t.Errorf("%+v is read as %+v", c, got)
		}
		behind := len(Assignment{Slots: c.Slots, Since: c.Since, Given: c.Given, Taking: c.Taking}.Encode())
		for n := max(behind, len(c.append(nil))+2) + 1; n < len(b); n++ {
			if got := DecodeAssignment(b[:n], Assignment{Since: 77}); got.Since != 77 {
				t.Errorf("%d of %d bytes: %+v", n, len(b), got)
			}
		}
		all := Table{"g": {Name: "g", Index: 4, Assignment: c, Term: 2}, "h": {Name: "h", Assignment: Assignment{Slots: new(slots.Set)}}}
		read, err := decodeTable(all.Encode())
		if err != nil || !slices.Equal(read["g"].Assignment.Tombstones, c.Tombstones) || read["g"].Assignment.Revived != c.Revived || read["g"].Term != 2 || read["h"].Assignment.HasTombstones() {
			t.Errorf("table: %+v, %v", read["g"], err)
		}
	}
	for what, bad := range map[string][]Tombstone{
		"no time":      {{"a", 0}},
		"a name twice": {{"a", 1}, {"a", 2}},
		"in disorder":  {{"b", 1}, {"a", 2}},
		"a long name":  {{strings.Repeat("n", MaxGroupName+1), 1}},
		"too many":     someTombstones(maxTombstones + 1),
	} {
		d, c := Decoder{Rest: Assignment{Tombstones: bad}.appendTombstones(nil)}, Assignment{}
		if d.Tombstones(&c); d.Err == nil {
			t.Errorf("%s: %v", what, c.Tombstones)
		}
	}
	d, c := Decoder{Rest: []byte{0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}}, Assignment{}
	if d.Tombstones(&c); d.Err == nil || c.Tombstones != nil {
		t.Errorf("a length that is a lie: %v, %v", c, d.Err)
	}
}

// Tables and entries without tombstones are those of versions that knew of none, which are read as they are.
func TestFormsWithoutTombstonesAreTheFormerOnes(t *testing.T) {
	c := Assignment{Slots: slotstest.Set(t, "3-5"), Since: 9}
	moves := c
	moves.Given = []Move{{1, "b", slotstest.Set(t, "1"), MoveOpen}}
	for want, c := range map[string]Assignment{"\x09\x01\x03\x02": c, "\x09\x01\x03\x02" + "\x01\x01\x00\x01b\x01\x01\x00" + "\x00": moves} {
		if got := c.Encode(); string(got) != want {
			t.Errorf("an entry is %q, want %q", got, want)
		}
		if got := DecodeAssignment([]byte(want), Assignment{}); got.HasTombstones() || !got.Slots.Equal(c.Slots) || len(got.Given) != len(c.Given) {
			t.Errorf("%q is read as %+v", want, got)
		}
		format := byte(1)
		if c.Moving() {
			format = 2
		}
		b := Table{"a": {Name: "a", Assignment: c}}.Encode()
		if got, err := decodeTable(b); b[0] != format || err != nil || got["a"].Assignment.HasTombstones() {
			t.Errorf("a table begins with %d, and is read as %+v, %v", b[0], got, err)
		}
	}
}

// Whatever comes as an assignment is read as one that is written again alike, or changes nothing.
func FuzzAssignmentIsReadOrIgnored(f *testing.F) {
	f.Add(Assignment{Slots: slotstest.Set(f, "0-5 9"), Since: 3}.Encode())
	f.Add(Assignment{Slots: slotstest.Set(f, "1"), Given: someMoves(f), Taking: someMoves(f)[:1], Tombstones: someTombstones(3), Revived: 8}.Encode())
	f.Add([]byte{0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		got := DecodeAssignment(b, Assignment{Since: 77})
		if got.Slots == nil {
			if got.Since != 77 || got.HasTombstones() || got.Moving() {
				t.Errorf("what is no assignment is read as %+v", got)
			}
			return
		}
		if again := DecodeAssignment(got.Encode(), Assignment{}); !bytes.Equal(again.Encode(), got.Encode()) {
			t.Errorf("%+v is read as %+v", got, again)
		}
	})
}

// Of two tombstones of a group the later one is noted, and the list that it is added to stays what it was.
func TestTombstonesAreNotedInOrder(t *testing.T) {
	var all []Tombstone
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		b := Tombstone{strconv.Itoa(r.IntN(20)), 1 + r.Uint64N(50)}
		before, copied := all, slices.Clone(all)
		all = WithTombstone(all, b)
		if !slices.Equal(before, copied) {
			t.Fatalf("%v became %v", copied, before)
		}
		if got := TombstoneOf(all, b.Group); got != max(b.At, TombstoneOf(before, b.Group)) {
			t.Fatalf("%v in %v is noted as of %d", b, before, got)
		}
	}
	if !slices.IsSortedFunc(all, func(a, b Tombstone) int { return strings.Compare(a.Group, b.Group) }) || len(all) != 20 {
		t.Errorf("%v", all)
	}
}
