package acl

import (
	"strings"
	"testing"
)

func TestRefusalsOfOneKindAreOneEntryForAMinute(t *testing.T) {
	var l Log
	get := Refusal{Reason: DeniedKey, Object: "k", User: "u", Client: "first"}
	l.Add(get, 1000, 128)
	other := get
	other.Context = InMulti
	l.Add(other, 2000, 128)
	get.Client = "second"
	l.Add(get, 61_000, 128) // a minute later, and the newest now
	l.Add(get, 122_000, 128)
	list := l.newest(10)
	if len(list) != 3 || l.Count(DeniedKey) != 4 {
		t.Fatalf("got %d entries, %d refusals", len(list), l.Count(DeniedKey))
	}
	if e := list[1]; e.count != 2 || e.id != 0 || e.created != 1000 || e.since != 61_000 || e.Client != "second" {
		t.Errorf("got %+v", e)
	}
	if e := list[0]; e.count != 1 || e.id != 2 || e.created != 122_000 {
		t.Errorf("got %+v", e)
	}
	l.clear()
	if l.Add(get, 123_000, 128); l.newest(10)[0].id != 3 {
		t.Error("identifiers are used again")
	}
}

func TestTheLogIsBounded(t *testing.T) {
	var l Log
	for i := range 100 {
		l.Add(Refusal{Object: strings.Repeat("x", 1<<20+i), User: strings.Repeat("y", i)}, int64(i), 20)
	}
	list := l.newest(1000)
	if len(list) != 20 || len(list[0].Object) != maxObject {
		t.Errorf("got %d entries with names of %d bytes", len(list), len(list[0].Object))
	}
	if l.Add(Refusal{}, 1000, 0); len(l.newest(10)) != 0 {
		t.Error("a log of length zero has entries")
	}
	if l.Count(DeniedCommand) != 101 {
		t.Errorf("got %d", l.Count(DeniedCommand))
	}
	if l.ResetCounts(); l.Count(DeniedCommand) != 0 {
		t.Error("the counter was not reset")
	}
}
