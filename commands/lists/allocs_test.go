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
