package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/vigildb/vigil/placement"
)

// placeUnits and placeObjects are the size of the maps that are measured, and
// the objects of one call.
const (
	placeUnits   = 1000
	placeObjects = 1000
)

// placeMap makes a map of a strategy with capacities from 1 to 100, or equal
// ones if it needs them.
func placeMap(tb testing.TB, c *testClient, spec placement.Spec, units int) {
	tb.Helper()
	c.want("PLACE.CREATE "+spec.Name+" SEED 1 STRATEGY "+spec.Name, "OK")
	var call strings.Builder
	call.WriteString("PLACE.SET " + spec.Name)
	for i := range units {
		capacity := 1
		if spec.Weighted {
			capacity += i % 100
		}
		fmt.Fprintf(&call, " unit-%04d %d", i, capacity)
	}
	c.want(call.String(), fmt.Sprintf("(int) %d", units))
}

// locateCall is a PLACE.LOCATE as it goes over the wire; its reply has width
// names for each object.
func locateCall(key string, objects int) []byte {
	b := fmt.Appendf(nil, "*%d\r\n$12\r\nPLACE.LOCATE\r\n$%d\r\n%s\r\n", objects+2, len(key), key)
	for i := range objects {
		b = fmt.Appendf(b, "$15\r\nobject:%08d\r\n", i)
	}
	return b
}

// locateReply is how long the answer is if all names have nine bytes.
func locateReply(objects, width int) int {
	n := len(fmt.Sprintf("*%d\r\n", objects)) + objects*width*len("$9\r\nunit-0000\r\n")
	if width > 1 {
		n += objects * len("*2\r\n")
	}
	return n
}

// BenchmarkPlaceLocate is PLACE.LOCATE of 1000 objects by one client, of a map
// of 1000 units.
func BenchmarkPlaceLocate(b *testing.B) {
	r := newRig(b, func(o *Options) { o.Clock = nil })
	c, addr := r.dial(), r.loopback()
	for _, spec := range placement.Strategies() {
		placeMap(b, c, spec, placeUnits)
		width := 1
		if spec.Name == "twochoice" {
			width = 2
		}
		for name, dial := range map[string]func() (net.Conn, error){
			"memory": r.srv.Dial,
			"socket": func() (net.Conn, error) { return net.Dial("tcp", addr) },
		} {
			b.Run("strategy="+spec.Name+"/"+name, func(b *testing.B) {
				nc, err := dial()
				if err != nil {
					b.Fatal(err)
				}
				defer nc.Close()
				benchmarkLocate(b, nc, locateCall(spec.Name, placeObjects), locateReply(placeObjects, width))
			})
		}
	}
}

func benchmarkLocate(b *testing.B, nc net.Conn, call []byte, reply int) {
	in := bufio.NewReaderSize(nc, 64<<10)
	buf := make([]byte, reply)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := nc.Write(call); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(in, buf); err != nil || buf[0] != '*' {
			b.Fatalf("%.80q %v", buf, err)
		}
	}
	b.ReportMetric(float64(b.N)*placeObjects/b.Elapsed().Seconds(), "objects/s")
}
