//go:build !race

package hashes

import (
	"testing"

	"github.com/vigildb/vigil/commands/commandtest"
)

// Not under the race detector, with which pools lose things on purpose: small
// values come from one.
func TestHashHotPathsAllocateNothing(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Call("HSET", "h", "a", "1", "b", "2", "n", "0")
	for _, call := range [][][]byte{commandtest.Argv("HSET", "h", "a", "3"), commandtest.Argv("HGET", "h", "b"), commandtest.Argv("HMGET", "h", "a", "x"),
		commandtest.Argv("HINCRBY", "h", "n", "1"), commandtest.Argv("HGETALL", "h"), commandtest.Argv("HEXISTS", "h", "a"), commandtest.Argv("HLEN", "h")} {
		if n := testing.AllocsPerRun(200, func() { r.Do(call) }); n > 0 {
			t.Errorf("%s: %v allocations", call[0], n)
		}
	}
}
