package topology

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

func someMoves(t testing.TB) []Move {
	return []Move{{1 << 63, "a", slotstest.Set(t, "1-5"), MoveOpen}, {2, strings.Repeat("n", MaxGroupName), slotstest.Set(t, "9 11"), MoveComplete}, {3, "", new(slots.Set), MoveVoid}}
}

// Moves are kept in entries, and what was given is in tables.
func TestMovesAreReadAsTheyWereWritten(t *testing.T) {
	for _, c := range []Assignment{{Slots: slotstest.Set(t, "0-9"), Since: 5, Given: someMoves(t)}, {Slots: new(slots.Set), Taking: someMoves(t)[:1]}, {Slots: slotstest.Set(t, "3"), Since: 1, Given: someMoves(t)[1:], Taking: someMoves(t)}} {
		b := c.Encode()
		if got := DecodeAssignment(b, Assignment{}); !reflect.DeepEqual(got.Encode(), b) || len(got.Given) != len(c.Given) || len(got.Taking) != len(c.Taking) || !got.Slots.Equal(c.Slots) {
			t.Errorf("%+v is read as %+v", c, got)
		}
		for n := len(c.append(nil)) + 1; n < len(b); n++ {
			if got := DecodeAssignment(b[:n], Assignment{Since: 77}); got.Since != 77 {
				t.Errorf("%d of %d bytes: %+v", n, len(b), got)
			}
		}
		all := Table{"g": {Name: "g", Index: 4, Assignment: c, Term: 2}, "h": {Name: "h", Assignment: Assignment{Slots: new(slots.Set)}}}
		read, err := decodeTable(all.Encode())
		if err != nil || !reflect.DeepEqual(appendMoves(nil, read["g"].Assignment.Given), appendMoves(nil, c.Given)) || read["g"].Term != 2 || read["g"].Assignment.Taking != nil {
			t.Errorf("table: %+v, %v", read["g"], err)
		}
	}
	for what, bad := range map[string][]Move{
		"no number":      {{0, "a", slotstest.Set(t, "1"), MoveOpen}},
		"a number twice": {{5, "a", slotstest.Set(t, "1"), MoveOpen}, {5, "a", slotstest.Set(t, "2"), MoveOpen}},
		"another state":  {{5, "a", slotstest.Set(t, "1"), MoveVoid + 1}},
		"a long name":    {{5, strings.Repeat("n", MaxGroupName+1), slotstest.Set(t, "1"), MoveOpen}},
		"too many":       make([]Move, MaxMoves+1),
	} {
		d := Decoder{Rest: appendMoves(nil, bad)}
		if got := d.Moves(); d.Err == nil {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// A slot that was given away and is not claimed yet counts as the other group's, and as covered.
func TestSlotThatWasGivenAwayIsAboutToBeAnothers(t *testing.T) {
	given := Move{1, "b", slotstest.Set(t, "5-6"), MoveOpen}
	all := Table{
		"a": {Name: "a", Assignment: Assignment{Slots: slotstest.Set(t, "0-4"), Since: 1, Given: []Move{given, {2, "nobody", slotstest.Set(t, "9"), MoveOpen}}}},
		"b": {Name: "b", Assignment: Assignment{Slots: slotstest.Set(t, "7"), Since: 2}},
	}
	of, come, taken := all.divide()
	if of["b"].String() != "7" || come["b"].String() != "5-6" || taken.String() != "0-7" {
		t.Errorf("b has %s and gets %s; taken are %s", of["b"], come["b"], taken)
	}
	all["c"] = &Group{Name: "c", Assignment: Assignment{Slots: slotstest.Set(t, "6"), Since: 3}}
	if _, come, _ = all.divide(); come["b"].String() != "5" {
		t.Errorf("what another group claims comes to b: %s", come["b"])
	}
	// The order in which news come does not matter.
	r := rand.New(rand.NewPCG(2, 3))
	news := []*Group{{Name: "a", Index: 1, Assignment: Assignment{Slots: slotstest.Set(t, "0-6"), Since: 1}}, {Name: "a", Index: 2, Assignment: all["a"].Assignment}, {Name: "a", Index: 3, Assignment: Assignment{Slots: slotstest.Set(t, "0-4"), Since: 1}}}
	for range 20 {
		r.Shuffle(len(news), func(i, j int) { news[i], news[j] = news[j], news[i] })
		var g *Group
		for _, n := range news {
			g = joined(g, n)
		}
		if g.Index != 3 || len(g.Assignment.Given) != 0 {
			t.Fatalf("%+v", g)
		}
	}
}
