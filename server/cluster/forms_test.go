package cluster

import (
	"testing"

	"github.com/vigildb/vigil/structures/slots"
)

func slotSet(t testing.TB, text string) *slots.Set {
	t.Helper()
	s, err := slots.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
