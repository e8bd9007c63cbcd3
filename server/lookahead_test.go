package server

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/testscale"
)

// pipelinePieces are requests with which the ones behind them are found or run
// differently: state changes, waits, requests that are no arrays, wrong ones.
var pipelinePieces = []string{
	encode("SET", "k", "v"), encode("GET", "k"), encode("INCR", "n"), encode("INCR", "n"),
	encode("LPUSH", "l", "a", "b"), encode("LRANGE", "l", "0", "-1"), encode("MGET", "k", "n", "k", "absent", "k", "n"),
	encode("HSET", "h", "f", "1", "g", "2"), encode("HGETALL", "h"), encode("DEL", "k", "l"), encode("GET", "l"),
	encode("SELECT", "1"), encode("SELECT", "0"), encode("MULTI"), encode("EXEC"), encode("DISCARD"), encode("FLUSHALL"),
	encode("BLPOP", "wait", "0"), encode("NOSUCH", "k"), encode("GET"), encode("CLIENT", "REPLY", "SKIP"),
	encode("SET", "big", strings.Repeat("x", 20000)), encode("STRLEN", "big"), encode(strings.Fields("DEL " + strings.Repeat("k ", 40))...),
	"PING 'a b'\r\n", "\r\n", "*0\r\n", "*-1\r\n", "*0\r\nECHO \"\\x41\"\r\n", "*2\rX$3\rXGET\r\n$1\r\nkXX",
	encode("SET", "", ""), encode("GET", ""),
}

// pipelineEnds come last, as they end the client.
var pipelineEnds = []string{"", encode("QUIT") + encode("SET", "k", "late"), "*1\r\n$x\r\n", "*3\r\n$3\r\nSET\r\n$1\r\n", "*1\r\nGET\r\n"}

// answers gives a stream of requests to a session, n bytes at once, and returns what it
// replies. Whenever the client waits for the list, another one pushes.
func (r *rig) answers(stream string, n int) string {
	s, e := r.handSession()
	defer s.Leave()
	for len(stream) > 0 && !s.closing {
		n := min(n, len(stream))
		err := s.feedText(stream[:n])
		for err == nil && s.waiting != nil {
			pusher, _ := r.handSession()
			pusher.feedText(encode("RPUSH", "wait", "w") + encode("SELECT", "1") + encode("RPUSH", "wait", "w"))
			pusher.Leave()
			err = s.Resume()
		}
		if err != nil {
			return string(e.wrote) + err.Error()
		}
		stream = stream[n:]
	}
	return string(e.wrote)
}

func TestPipelinesAreAnsweredAsSingleCommandsAre(t *testing.T) {
	const seed = 3
	rng := rand.New(rand.NewPCG(seed, seed))
	for round := range testscale.Rounds(150) {
		var b strings.Builder
		for range rng.IntN(60) {
			b.WriteString(pipelinePieces[rng.IntN(len(pipelinePieces))])
		}
		b.WriteString(pipelineEnds[rng.IntN(len(pipelineEnds))])
		want := newRig(t).answers(b.String(), 1)
		for _, n := range []int{len(b.String()) + 1, 1 + rng.IntN(500)} {
			if got := newRig(t).answers(b.String(), n); got != want {
				t.Fatalf("seed %d, round %d, %d bytes at once: %.2000q\ngot  %.2000q\nwant %.2000q", seed, round, n, b.String(), got, want)
			}
		}
	}
}

// What follows AUTH is judged by its outcome, and by the limits before it.
func TestNothingIsFoundAheadOfAuth(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Config = testConfig(t, "--requirepass", "pw") })
	long := make([]string, 11)
	for i := range long {
		long[i] = "x"
	}
	got := r.answers(encode("AUTH", "wrong")+encode("AUTH", "pw")+encode("SET", "k", "v")+encode(append([]string{"DEL"}, long...)...), 1<<20)
	if want := "-" + commands.ErrWrongPass.Error() + "\r\n+OK\r\n+OK\r\n:0\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := r.answers(encode("PING")+encode(long...), 1<<20); !strings.Contains(got, "unauthenticated multibulk length") {
		t.Errorf("got %q, want a protocol error", got)
	}
}

// Calls that were found and not run do not keep what they were found in.
func TestLookaheadsHoldNothingAfterTheTurn(t *testing.T) {
	r := newRig(t)
	s, _ := r.handSession()
	defer s.Leave()
	s.feedText(encode("BLPOP", "l", "0") + strings.Repeat(encode("GET", "k"), 3))
	if s.in.ahead != nil || s.waiting == nil {
		t.Fatalf("lookahead %v, waiting %v", s.in.ahead, s.waiting)
	}
	a := lookaheads.Get().(*lookahead)
	for _, args := range a.args[:cap(a.args)] {
		if args != nil {
			t.Fatal("the arguments of a call are kept")
		}
	}
}

func BenchmarkPipelineOfDistinctKeys(b *testing.B) {
	for _, keys := range []int{1000, 100000, 1000000} {
		b.Run(fmt.Sprint(keys), func(b *testing.B) {
			r := newRig(b)
			s, e := r.handSession()
			defer s.Leave()
			for i := range keys {
				s.feedText(encode("SET", fmt.Sprintf("key:%012d", i), "xxx"))
			}
			rng := rand.New(rand.NewPCG(1, 1))
			pipelines := make([]string, 1000)
			for i := range pipelines {
				var p strings.Builder
				for range 16 {
					p.WriteString(encode("GET", fmt.Sprintf("key:%012d", rng.IntN(keys))))
				}
				pipelines[i] = p.String()
			}
			b.ResetTimer()
			for i := range b.N {
				e.wrote = e.wrote[:0]
				s.feedText(pipelines[i%len(pipelines)])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(16*b.N), "ns/command")
		})
	}
}
