package server

import (
	"fmt"
	"testing"

	"github.com/vigildb/vigil/server/replica"
)

// BenchmarkApply is SET as a stream brings it.
func BenchmarkApply(b *testing.B) {
	r := newRig(b, onDisk(b.TempDir()), func(o *Options) { o.Clock = nil })
	a := r.srv.newApplier(0)
	const keys = 1 << 16
	calls := make([][1]replica.Call, keys)
	for i := range calls {
		calls[i][0] = replica.Call{Args: [][]byte{[]byte("SET"), fmt.Appendf(nil, "key:%012d", i*7919%keys), []byte("0123456789abcdef")}}
	}
	b.ReportAllocs()
	offset := int64(0)
	for i := 0; b.Loop(); i++ {
		offset += 60
		if err := a.Apply(calls[i%keys][:], offset, 0, nil); err != nil {
			b.Fatal(err)
		}
	}
}
