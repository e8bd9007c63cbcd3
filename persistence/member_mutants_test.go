//go:build mutants

package persistence

import (
	"fmt"
	"testing"
)

// witness ends what it watches at the first failure.
type witness struct {
	testing.TB
	failure string
}

func (w *witness) Fatalf(format string, args ...any) {
	w.failure = fmt.Sprintf(format, args...)
	panic(w)
}

func (w *witness) Errorf(format string, args ...any) { w.Fatalf(format, args...) }
func (w *witness) Fatal(args ...any)                 { w.Fatalf("%s", fmt.Sprint(args...)) }
func (w *witness) Error(args ...any)                 { w.Fatal(args...) }
func (w *witness) Failed() bool                      { return w.failure != "" }

// watch runs a world and returns why it failed.
func watch(t testing.TB, seed uint64) string {
	w := &witness{TB: t}
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(w) {
				panic(r)
			}
		}()
		runWorld(w, seed, map[string]int{})
	}()
	return w.failure
}

// Each bug that is planted in members of a group is found.
func TestPlantedBugsOfMembersAreFound(t *testing.T) {
	indexPages(t)
	defer Plant("")
	for name := range MemberMutants {
		Plant(name)
		found := false
		for seed, to := seeds(t, 40); seed < to && !found; seed++ {
			failure := watch(t, seed)
			if found = failure != ""; found {
				t.Logf("%s: seed %d: %.200s", name, seed, failure)
			}
		}
		if !found {
			t.Errorf("%s is not found", name)
		}
	}
}
