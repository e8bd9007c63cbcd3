package wal

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// BenchmarkMark is what the mark adds to each sync of a log.
func BenchmarkMark(b *testing.B) {
	m, err := openMark(vfs.Default, b.TempDir(), Claims{Made: true}, func(string, ...any) {})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	for i := range uint64(6) {
		m.begin(File{markLog, i})
	}
	b.ReportAllocs()
	for n := int64(1); b.Loop(); n++ {
		m.grow(File{markLog, 5}, n)
	}
}
