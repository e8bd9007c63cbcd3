package streams

import (
	"strconv"
	"testing"

	"github.com/vigildb/vigil/commands/commandtest"
)

// BenchmarkAck acknowledges entries of a group with 100,000 pending ones: one that is not
// pending any more, and one that is, which is delivered again.
func BenchmarkAck(b *testing.B) {
	r := rig(b)
	r.Call("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")
	for i := 1; i <= 100_000; i++ {
		r.Call("XADD", "s", strconv.Itoa(i)+"-1", "f", "v")
	}
	r.Call("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
	b.Run("gone", func(b *testing.B) {
		call := commandtest.Argv("XACK", "s", "g", "50000-0")
		b.ReportAllocs()
		for b.Loop() {
			r.Do(call)
		}
	})
	b.Run("below", func(b *testing.B) {
		call := commandtest.Argv("XACK", "s", "g", "0-3")
		b.ReportAllocs()
		for b.Loop() {
			r.Do(call)
		}
	})
	b.Run("pending", func(b *testing.B) {
		ack, claim := commandtest.Argv("XACK", "s", "g", "50000-1"), commandtest.Argv("XCLAIM", "s", "g", "c", "0", "50000-1", "FORCE", "JUSTID")
		b.ReportAllocs()
		for b.Loop() {
			r.Do(ack)
			r.Do(claim)
		}
	})
}
