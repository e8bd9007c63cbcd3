//go:build !race

package lists

import (
	"testing"

	"github.com/vigildb/vigil/commands/commandtest"
)

// Not under the race detector, with which pools lose things on purpose: small
// values come from one.
func TestListHotPathsAllocateNothing(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Call("RPUSH", "l", "1", "2", "3")
	for _, calls := range [][][]byte{commandtest.Argv("LPUSH", "l", "some element"), commandtest.Argv("LRANGE", "l", "0", "9"), commandtest.Argv("LPOP", "l", "1")} {
		push, pop := commandtest.Argv("RPUSH", "l", "x"), commandtest.Argv("LPOP", "l")
		if n := testing.AllocsPerRun(200, func() {
			r.Do(push)
			r.Do(calls)
			r.Do(pop)
		}); n > 0 {
			t.Errorf("%s: %v allocations", calls[0], n)
		}
	}
}

// A queue that is filled and emptied all the time must not cost the collector a value
// each time: all that is allocated is the key.
func TestQueuesThatAreMadeAndEmptiedUseTheSameMemory(t *testing.T) {
	r := commandtest.New(t, Group())
	push, pop := commandtest.Argv("RPUSH", "l", "some element"), commandtest.Argv("LPOP", "l")
	if n := testing.AllocsPerRun(200, func() {
		r.Do(push)
		r.Do(pop)
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}
