package server

import (
	"testing"

	"github.com/vigildb/vigil/commands/acl"
)

// BenchmarkPermit is what permissions cost a call: of the default user, and of one with
// three prefixes.
func BenchmarkPermit(b *testing.B) {
	srv := idleServer(b)
	if err := srv.users.Set("limited", []string{"on", "nopass", "+@all", "-@admin", "~session:*", "~cart:*", "~key:*"}, nil); err != nil {
		b.Fatal(err)
	}
	argv := [][]byte{[]byte("GET"), []byte("key:000000000001")}
	for _, name := range []string{"default", "limited"} {
		b.Run(name, func(b *testing.B) {
			f := newFeeder(srv)
			f.s.access.become(srv.users.Find(name))
			cmd, _ := f.s.lookup(argv)
			b.ReportAllocs()
			for b.Loop() {
				if f.s.access.unrestricted() { // as in admit
					continue
				}
				if err := f.s.access.judge(cmd, argv, acl.TopLevel); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
