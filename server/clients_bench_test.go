package server

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// inUse is what the heap and the stacks take.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// idleClients connects n clients that have made one call each, and returns
// what each takes, the client's own end included.
func idleClients(r *rig, n int, dial func() net.Conn) (bytesEach int64, end func()) {
	conns, others := make([]net.Conn, n), r.srv.clients.count()
	before := inUse()
	var pong [7]byte
	for i := range conns {
		conns[i] = dial()
		io.WriteString(conns[i], "PING\r\n")
		if _, err := io.ReadFull(conns[i], pong[:]); err != nil {
			r.t.Fatalf("client %d: %v", i, err)
		}
	}
	return (inUse() - before) / int64(n), func() {
		for _, c := range conns {
			c.Close()
		}
		r.connected(others)
	}
}

func (r *rig) rawDialers() map[string]func() net.Conn {
	addr := r.loopback()
	return map[string]func() net.Conn{
		"memory": func() net.Conn {
			nc, err := r.srv.Dial()
			if err != nil {
				r.t.Fatal(err)
			}
			return nc
		},
		"socket": func() net.Conn {
			nc, err := net.Dial("tcp", addr)
			if err != nil {
				r.t.Fatal(err)
			}
			return nc
		},
	}
}

// A client in the process costs a goroutine and its read buffer; one of an
// event loop neither.
func TestIdleClientsCostLittleMemory(t *testing.T) {
	bounds := map[string]int64{"memory": 40 << 10, "socket": 8 << 10}
	if runtime.GOOS != "linux" {
		bounds["socket"] = bounds["memory"]
	}
	r := newRig(t)
	for name, dial := range r.rawDialers() {
		each, end := idleClients(r, 500, dial)
		end()
		if each > bounds[name] {
			t.Errorf("%s: %d bytes for an idle client, want %d at the most", name, each, bounds[name])
		}
	}
}

func BenchmarkIdleClients(b *testing.B) {
	const n = 10_000
	for _, name := range []string{"memory", "socket"} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b)
			r.dial().want("CONFIG SET maxclients 12000", "OK")
			dial := r.rawDialers()[name]
			var each int64
			for b.Loop() {
				count := n
				if name == "socket" {
					count = n / 5 // both ends take a file descriptor
				}
				var end func()
				each, end = idleClients(r, count, dial)
				end()
			}
			b.ReportMetric(float64(each), "B/client")
		})
	}
}

// BenchmarkPublish measures deliveries over sockets: one publisher that
// pipelines 16 messages of 100 bytes, which is one op, and clients that read as
// fast as they can.
func BenchmarkPublish(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("subscribers=%d", n), func(b *testing.B) { benchmarkPublish(b, n) })
	}
}

func benchmarkPublish(b *testing.B, n int) {
	const pipeline = 16
	r := newRig(b)
	addr := r.loopback()
	r.dial().do("CONFIG", "SET", "client-output-buffer-limit", "pubsub 0 0 0")
	message := int64(len(encode("message", "ch", strings.Repeat("m", 100))))
	perRound := message * pipeline
	rounds := make([]chan struct{}, n) // one token for each round; the reader answers through done
	var done, readers sync.WaitGroup
	for i := range rounds {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		c := newTestClient(b, nc)
		c.want("SUBSCRIBE ch", `["subscribe" "ch" (int) 1]`)
		rounds[i] = make(chan struct{}, 1)
		readers.Add(1)
		go func() {
			defer readers.Done()
			for range rounds[i] {
				if _, err := c.r.Discard(int(perRound)); err != nil {
					b.Errorf("subscriber: %v", err)
				}
				done.Done()
			}
		}()
	}
	p := r.dialTCP(addr)
	calls := strings.Repeat(encode("PUBLISH", "ch", strings.Repeat("m", 100)), pipeline)
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		done.Add(n)
		for _, round := range rounds {
			round <- struct{}{}
		}
		p.raw(calls)
		done.Wait()
		for range pipeline {
			p.reply()
		}
	}
	runtime.ReadMemStats(&after)
	deliveries := float64(b.N * pipeline * n)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/deliveries, "ns/delivery")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/deliveries, "B/delivery")
	for _, round := range rounds {
		close(round)
	}
	readers.Wait()
}
