package keys

import (
	"fmt"
	"testing"

	"github.com/vigildb/vigil/commands/commandtest"
)

func BenchmarkSort(b *testing.B) {
	r := sortRig(b)
	for i := range 1000 {
		r.Call("RPUSH", "l", fmt.Sprint(i*7919%1_000_003))
	}
	for name, call := range map[string][]string{"all": {"SORT", "l"}, "limit": {"SORT", "l", "LIMIT", "0", "10"}, "alpha": {"SORT", "l", "ALPHA"}} {
		argv := commandtest.Argv(call...)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Do(argv)
			}
		})
	}
}
