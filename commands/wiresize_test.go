package commands

import (
	"strings"
	"testing"
)

func TestSizesAreThoseOfTheReply(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 99, 100, 12_345} {
		r := NewReply(nil, 2)
		r.Array(n)
		if got, want := ArraySize(n), r.Len(); got != want {
			t.Errorf("an array of %d: %d, want %d", n, got, want)
		}
		r = NewReply(nil, 2)
		r.BulkString(strings.Repeat("x", n))
		if got, want := BulkSize(n), r.Len(); got != want {
			t.Errorf("a string of %d: %d, want %d", n, got, want)
		}
	}
}
