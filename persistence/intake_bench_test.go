package persistence

import (
	"fmt"
	"testing"
)

// BenchmarkIntake takes in small strings, as an import does.
func BenchmarkIntake(b *testing.B) {
	b.ReportAllocs()
	s, err := Open(Options{Dir: b.TempDir(), IdleAfter: -1})
	if err != nil {
		b.Fatal(err)
	}
	in, err := s.NewIntake()
	if err != nil {
		b.Fatal(err)
	}
	var key []byte
	for i := 0; b.Loop(); i++ {
		key = fmt.Appendf(key[:0], "key:%010d", i)
		in.Begin(0, key)
		if err := in.Put(nil, []byte("value:0123456789"), 0); err != nil {
			b.Fatal(err)
		}
	}
	if err := in.Finish(); err != nil {
		b.Fatal(err)
	}
	if err := in.Close(); err != nil {
		b.Fatal(err)
	}
	closeStore(b, s)
}
