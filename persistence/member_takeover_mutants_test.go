//go:build mutants

package persistence

import "testing"

// A log that is not cut, or is told by another write, is found: by members that take the state of
// others in all the time, or by a crash between the writes.
func TestPlantedBugsOfTakeoversAreFound(t *testing.T) {
	for name := range TakeoverMutants {
		t.Run(name, func(t *testing.T) {
			Plant(name)
			defer Plant("")
			failure := ""
			func() {
				defer func() {
					if r := recover(); r != nil {
						w, ok := r.(*witness)
						if !ok {
							panic(r)
						}
						failure = w.failure
					}
				}()
				takeInWithFaults(&witness{TB: t})
			}()
			if failure == "" {
				t.Error("it is not found")
			}
			t.Logf("%.300s", failure)
		})
	}
}
