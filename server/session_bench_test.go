package server

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// sink is a connection that takes every reply and keeps none.
type sink struct{ bytes int }

func (k *sink) Write(b []byte) (bool, error) { k.bytes += len(b); return false, nil }
func (k *sink) Unsent() int                  { return 0 }
func (k *sink) Durable(uint64) (bool, error) { return true, nil }
func (k *sink) Throttle()                    {}
func (k *sink) Pause(time.Duration) bool     { return false }
func (k *sink) Wake()                        {}
func (k *sink) HangUp()                      {}

// idleServer is a server in memory without listeners.
func idleServer(tb testing.TB) *Server {
	tb.Helper()
	srv, err := Open(context.Background(), Options{InMemory: true, Seed: 1})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := srv.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return srv
}

// feeder feeds a session with pipelines as a transport would.
type feeder struct {
	s    *session
	sink *sink
}

func newFeeder(srv *Server) *feeder {
	k := &sink{}
	return &feeder{srv.newSession(k), k}
}

func (f *feeder) run(tb testing.TB, b []byte) {
	if err := f.s.FeedBorrowed(b); err != nil {
		tb.Fatal(err)
	}
}

const pipelineDepth = 16

// pipelines builds n pipelines of one command each time with another key.
func pipelines(n int, format string) [][]byte {
	var out [][]byte
	key := 0
	for range n {
		var b []byte
		for range pipelineDepth {
			k := fmt.Sprintf("key:%012d", key*7919%100000)
			key++
			b = fmt.Appendf(b, format, k)
		}
		out = append(out, b)
	}
	return out
}

var hotCommands = []struct{ name, format string }{
	{"SET", "*3\r\n$3\r\nSET\r\n$16\r\n%s\r\n$16\r\nabcdefghijklmnop\r\n"},
	{"GET", "*2\r\n$3\r\nGET\r\n$16\r\n%s\r\n"},
	{"INCR", "*2\r\n$4\r\nINCR\r\n$17\r\nn%s\r\n"},
	{"PFADD", "*3\r\n$5\r\nPFADD\r\n$17\r\nh%[1]s\r\n$16\r\n%[1]s\r\n"},
	{"BITFIELD", "*9\r\n$8\r\nBITFIELD\r\n$17\r\nb%s\r\n$3\r\nset\r\n$2\r\nu1\r\n$5\r\n#1500\r\n$1\r\n1\r\n$3\r\nget\r\n$2\r\nu8\r\n$1\r\n0\r\n"},
	{"HSET", "*4\r\n$4\r\nHSET\r\n$1\r\nm\r\n$16\r\n%s\r\n$3\r\nabc\r\n"},
	{"PING", "*2\r\n$4\r\nPING\r\n$16\r\n%s\r\n"},
}

// BenchmarkSession is the whole life of a command but the system calls, in
// pipelines of 16.
func BenchmarkSession(b *testing.B) {
	srv := idleServer(b)
	f := newFeeder(srv)
	for _, c := range hotCommands {
		input := pipelines(6250, c.format)
		for _, p := range input {
			f.run(b, p)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				f.run(b, input[i%len(input)])
				i++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pipelineDepth, "ns/command")
		})
	}
}
