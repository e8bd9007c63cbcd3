package window

import (
	"net/http/httptest"
	"testing"
	"time"
)

// benchRig is a store of 100,000 keys with a schedule and a map.
func benchRig(b *testing.B) *rig {
	r := newRig(b)
	r.many(100_000, key("k:"))
	r.must("SCHED.CREATE feeds SEED 1")
	r.must("SCHED.ADD feeds a RATE 2 b RATE 1")
	r.must("PLACE.CREATE shards SEED 1")
	r.must("PLACE.SET shards ash 1 birch 2 cedar 3")
	return r
}

// BenchmarkLook is one look of a browser that renews its page every five seconds:
// its share of a core is the time over 5 s.
func BenchmarkLook(b *testing.B) {
	r := benchRig(b)
	for _, path := range []string{"/", "/keys", "/keys?match=k:*", "/key?key=k:0000001", "/clients", "/slowlog", "/group",
		"/schedules", "/placement", "/metrics"} {
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.later(5 * time.Second)
				rec := httptest.NewRecorder()
				r.h.ServeHTTP(rec, request(path))
				if rec.Code != 200 {
					b.Fatal(rec.Body)
				}
			}
		})
	}
}
