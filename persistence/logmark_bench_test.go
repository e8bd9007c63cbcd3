package persistence

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// BenchmarkMark is what the mark adds to each sync of a log.
func BenchmarkMark(b *testing.B) {
	m, err := openMark(vfs.Default, b.TempDir(), marked{made: true}, func(int, string, ...any) {})
	if err != nil {
		b.Fatal(err)
	}
	defer m.close()
	for i := range uint64(6) {
		m.begin(appended{markLog, i})
	}
	b.ReportAllocs()
	for n := int64(1); b.Loop(); n++ {
		m.grow(appended{markLog, 5}, n)
	}
}
