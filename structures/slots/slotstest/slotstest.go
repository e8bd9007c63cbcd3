// Package slotstest writes sets of slots down in tests.
package slotstest

import (
	"testing"

	"github.com/vigildb/vigil/structures/slots"
)

// Set is the set that slots.Parse makes of a text, such as "0-5460,7000".
func Set(t testing.TB, text string) *slots.Set {
	t.Helper()
	s, err := slots.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
