package main

import (
	"bytes"
	"testing"
	"time"
)

// A state that begins again counts twice, as it is sent twice.
func TestTransferIsCounted(t *testing.T) {
	for _, c := range []struct {
		name   string
		said   []int64
		bytes  int64
		begun  int
		millis int64
	}{
		{"none", []int64{0, 0, 0}, 0, 0, 0},
		{"one that is on its way", []int64{0, 5, 7}, 7, 1, 1},
		{"one that is over", []int64{0, 5, 5, 9, 0, 0}, 9, 1, 2},
		{"one that began again", []int64{4, 9, 0, 0, 3, 8, 0}, 17, 2, 5},
		{"one that began again between two looks", []int64{4, 9, 2, 6, 0}, 15, 2, 3},
	} {
		var got transfer
		for i, n := range c.said {
			got.note(n, time.Duration(100+i)*time.Millisecond)
		}
		if got.bytes() != c.bytes || got.begun != c.begun || got.took().Milliseconds() != c.millis {
			t.Errorf("%s: got %d bytes of %d states in %v, want %d of %d in %d ms", c.name, got.bytes(), got.begun, got.took(), c.bytes, c.begun, c.millis)
		}
	}
}

// A member is found by its address, and has everything when it has what the leader had before.
func TestStandingOfMember(t *testing.T) {
	member := func(address, role string, entry int64) []any {
		return []any{"member", int64(1), "address", address, "role", role, "entry", entry}
	}
	reply := []any{"name", "mymaster", "last-entry", int64(40), "members",
		[]any{member("127.0.0.1:17001", "leader", 40), member("127.0.0.1:7001", "learner", 38)}}
	s := standingOf(reply, 7001)
	if want := (standing{last: 40, entry: 38}); s != want {
		t.Fatalf("got %+v, want %+v", s, want)
	}
	for before, want := range map[int64]bool{0: false, 37: true, 38: true, 39: false} {
		if got := s.complete(before); got != want {
			t.Errorf("the leader had entry %d: got %v, want %v", before, got, want)
		}
	}
	if s := standingOf(reply, 7002); s.complete(1) {
		t.Error("a server that is not in the group has everything")
	}
}

func TestBulkFollowsFromItsNumber(t *testing.T) {
	one := appendBulk(nil, 1)
	if len(one) != bulkBytes || !bytes.Equal(one, appendBulk(nil, 1)) || bytes.Equal(one, appendBulk(nil, 2)) {
		t.Errorf("got %d bytes, want %d that are those of this number alone", len(one), bulkBytes)
	}
}
