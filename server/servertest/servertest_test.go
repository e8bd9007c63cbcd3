package servertest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/servertest"
)

// talk is a client of a test, which speaks the inline protocol.
type talk struct {
	t  *testing.T
	nc net.Conn
	r  *bufio.Reader
}

func dial(t *testing.T, s *servertest.Server) *talk {
	t.Helper()
	nc, err := s.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return &talk{t, nc, bufio.NewReader(nc)}
}

func (c *talk) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.nc, line+"\r\n"); err != nil {
		c.t.Fatal(err)
	}
}

// wants reads lines of replies.
func (c *talk) wants(lines ...string) {
	c.t.Helper()
	c.nc.SetReadDeadline(time.Now().Add(10 * time.Second))
	for _, want := range lines {
		got, err := c.r.ReadString('\n')
		if got = strings.TrimRight(got, "\r\n"); got != want || err != nil {
			c.t.Fatalf("got %q (%v), want %q", got, err, want)
		}
	}
}

func TestFastForwardExpiresKeys(t *testing.T) {
	t.Parallel()
	s := servertest.Run(t, func(o *server.Options) { o.Directives = []string{"notify-keyspace-events Ex"} })
	events := dial(t, s)
	events.send("SUBSCRIBE __keyevent@0__:expired")
	events.wants("*3", "$9", "subscribe", "$22", "__keyevent@0__:expired", ":1")
	s.Set("session", "robin")
	s.SetTTL("session", 30*time.Minute)
	s.Set("stays", "x")
	s.HSet("cart", "pen", "1")
	if _, err := s.Do("HPEXPIRE", "cart", "1000", "FIELDS", "1", "pen"); err != nil {
		t.Fatal(err)
	}
	s.CheckTTL("session", 30*time.Minute)
	s.FastForward(29*time.Minute + 59*time.Second + 999*time.Millisecond)
	s.CheckTTL("session", time.Millisecond)
	s.CheckMissing("cart") // its only field has expired
	s.FastForward(time.Millisecond)
	s.CheckMissing("session")
	s.CheckTTL("stays", 0)
	events.wants("*3", "$7", "message", "$22", "__keyevent@0__:expired", "$7", "session")
	if got := s.Keys(); len(got) != 1 || got[0] != "stays" {
		t.Errorf("keys %q, want only one that stays", got)
	}
}

func TestFastForwardOverYearsIsQuick(t *testing.T) {
	t.Parallel()
	s := servertest.Run(t)
	begin := s.Time()
	for i := range 1000 {
		s.Set(fmt.Sprint("k", i), "v")
		s.SetTTL(fmt.Sprint("k", i), time.Duration(i+1)*24*time.Hour)
	}
	s.FastForward(500 * 24 * time.Hour)
	if n := len(s.Keys()); n != 500 {
		t.Errorf("%d keys are left after 500 days, want 500", n)
	}
	s.FastForward(20 * 365 * 24 * time.Hour)
	if n := len(s.Keys()); n != 0 {
		t.Errorf("%d keys are left after 20 years", n)
	}
	if got, want := s.Time().Sub(begin), (500+20*365)*24*time.Hour; got != want {
		t.Errorf("the clock has moved by %v, want %v", got, want)
	}
}

func TestFastForwardEndsCallsThatBlock(t *testing.T) {
	t.Parallel()
	s := servertest.Run(t)
	pop, read := dial(t, s), dial(t, s)
	pop.send("BLPOP queue 3600")
	read.send("XREAD BLOCK 7200000 STREAMS log $")
	s.AwaitBlocked(2)
	s.FastForward(time.Hour)
	pop.wants("*-1")
	s.AwaitBlocked(1)
	s.FastForward(time.Hour)
	read.wants("*-1")

	pop.send("BLPOP queue 3600")
	s.AwaitBlocked(1)
	s.Push("queue", "job")
	pop.wants("*2", "$5", "queue", "$3", "job")
	s.FastForward(2 * time.Hour) // and no second reply comes
	pop.send("ECHO x")
	pop.wants("$1", "x")
}

func TestCallsThatBlockEndInTheTimeOfTheMachineToo(t *testing.T) {
	t.Parallel()
	s := servertest.Run(t)
	s.Set("k", "v")
	s.SetTTL("k", time.Second)
	c := dial(t, s)
	c.send("BLPOP queue 0.05")
	c.wants("*-1")
	s.CheckTTL("k", time.Second) // the clock has not moved
}

func TestStreamsHaveTheTimeOfTheTest(t *testing.T) {
	t.Parallel()
	s := servertest.Run(t)
	first := s.XAdd("log", "*", "what", "begin")
	s.FastForward(time.Minute)
	second := s.XAdd("log", "*", "what", "end", "how", "well")
	if want := fmt.Sprintf("%d-0", s.Time().Add(-time.Minute).UnixMilli()); first != want {
		t.Errorf("the first ID is %s, want %s", first, want)
	}
	if want := fmt.Sprintf("%d-0", s.Time().UnixMilli()); second != want {
		t.Errorf("the second ID is %s, want %s", second, want)
	}
	if _, err := s.Do("XGROUP", "CREATE", "log", "workers", "0"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Do("XREADGROUP", "GROUP", "workers", "a", "STREAMS", "log", ">"); err != nil {
		t.Fatal(err)
	}
	claim := []string{"XAUTOCLAIM", "log", "workers", "b", "60000", "0", "COUNT", "1", "JUSTID"}
	for _, want := range []string{"[0-0 [] []]", fmt.Sprintf("[%s [%s] []]", second, first)} {
		if v, err := s.Do(claim...); fmt.Sprint(v) != want || err != nil {
			t.Errorf("XAUTOCLAIM: %v (%v), want %s", v, err, want)
		}
		s.FastForward(time.Minute)
	}
	if got, want := fmt.Sprint(s.Stream("log")), fmt.Sprintf("[{%s [what begin]} {%s [what end how well]}]", first, second); got != want {
		t.Errorf("the stream is %s, want %s", got, want)
	}
}

func TestServersOfTestsAreIndependent(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for i := range 8 {
		s := servertest.Run(t)
		all.Go(func() {
			s.Set("k", fmt.Sprint(i))
			s.SetTTL("k", time.Duration(i+1)*time.Second)
			s.FastForward(4500 * time.Millisecond)
			if s.Exists("k") != (i >= 4) {
				t.Errorf("server %d: the key is there: %t", i, s.Exists("k"))
			}
		})
	}
	all.Wait()
}

func TestKeysOfEveryType(t *testing.T) {
	t.Parallel()
	s := servertest.Run(t)
	s.Push("list", "a", "b", "a")
	s.SAdd("set", "b", "a")
	s.HSet("hash", "f", "1", "g", "2")
	s.ZAdd("zset", 1.5, "m")
	s.Incr("n", 41)
	s.Incr("n", 1)
	s.CheckList("list", "a", "b", "a")
	s.CheckSet("set", "a", "b")
	s.CheckHash("hash", map[string]string{"f": "1", "g": "2"})
	s.CheckSortedSet("zset", map[string]float64{"m": 1.5})
	s.CheckGet("n", "42")
	s.CheckMissing("other")
	got := fmt.Sprintf("%q %s %s %t %q %v", s.Keys(), s.Type("zset"), s.HGet("hash", "g"), s.Exists("list"), s.Get("none"), s.TTL("none"))
	if want := `["hash" "list" "n" "set" "zset"] zset 2 true "" 0s`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	s.Select(1)
	if len(s.Keys()) != 0 {
		t.Errorf("database 1 has %q", s.Keys())
	}
	s.FlushAll()
	s.Select(0)
	if left := s.Keys(); len(left) != 0 || s.Del("n") {
		t.Errorf("FlushAll left %q, or a key", left)
	}
}

// failures keeps what would fail a test.
type failures struct {
	testing.TB
	texts []string
}

func (f *failures) Helper()            {}
func (f *failures) Cleanup(end func()) { f.TB.Cleanup(end) }
func (f *failures) Errorf(format string, args ...any) {
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}
func (f *failures) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func TestChecksFailAndSayWhy(t *testing.T) {
	t.Parallel()
	f := &failures{TB: t}
	s := servertest.Run(f)
	s.Set("k", "v")
	s.Push("l", "a")
	s.CheckGet("k", "w")
	s.CheckGet("none", "")
	s.CheckList("l", "a", "b")
	s.CheckSet("s", "x")
	s.CheckHash("h", map[string]string{"f": "v"})
	s.CheckSortedSet("z", map[string]float64{"m": 1})
	s.CheckTTL("k", time.Second)
	s.CheckTTL("none", time.Second)
	s.CheckMissing("l")
	want := []string{`the string "k" is "v", want "w"`, `the string "none" is missing, want ""`, `the list "l" is ["a"], want ["a" "b"]`,
		`the set "s" has the members [], want ["x"]`, `the hash "h" is map[], want map[f:v]`, `the sorted set "z" is map[], want map[m:1]`,
		`the key "k" has 0s left, want 1s`, `the key "none" is missing, want one that has 1s left`, `the key "l" is there, a list, and should be missing`}
	for i := range max(len(want), len(f.texts)) {
		if i >= len(f.texts) || i >= len(want) || f.texts[i] != "servertest: "+want[i] {
			t.Fatalf("failures %q, want %q", f.texts, want)
		}
	}
	for _, x := range []struct {
		does func()
		want string
	}{
		{func() { s.Get("l") }, "servertest: GET l: WRONGTYPE"},
		{func() { s.FastForward(-1) }, "servertest: FastForward(-1ns): the clock is not set back"},
	} {
		if got := panicOf(x.does); !strings.HasPrefix(got, x.want) {
			t.Errorf("it fails with %q, want %q", got, x.want)
		}
	}
}

// panicOf returns what f panics with.
func panicOf(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

func TestServerListensAndHasOptions(t *testing.T) {
	t.Parallel()
	s := servertest.Run(t, func(o *server.Options) { o.Password = "secret" })
	nc, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	c := &talk{t, nc, bufio.NewReader(nc)}
	c.send("SET k v")
	c.wants("-NOAUTH Authentication required.")
	c.send("AUTH secret")
	c.wants("+OK")
	c.send("SET k v")
	c.wants("+OK")
	s.CheckGet("k", "v")
	if s.Addr() != nc.RemoteAddr().String() {
		t.Errorf("the address is %s, and was %v", s.Addr(), nc.RemoteAddr())
	}
	if _, err := s.Do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.r.ReadByte(); err == nil {
		t.Error("the client was not disconnected")
	}
	for { // the test's own connection is new
		if v, err := s.Do("GET", "k"); err == nil {
			if v != "v" {
				t.Errorf("got %v", v)
			}
			break
		}
	}
	if _, err := servertest.Start(func(o *server.Options) { o.Clock = server.SystemClock{} }); err == nil {
		t.Error("a clock of another kind was taken")
	}
}

func TestClosedServerRefuses(t *testing.T) {
	t.Parallel()
	s := servertest.Run(t)
	addr := s.Addr()
	s.Close()
	if nc, err := net.Dial("tcp", addr); err == nil {
		nc.Close()
		t.Error("a closed server accepts connections")
	}
	if _, err := s.Dialer(t.Context(), "", ""); err == nil {
		t.Error("a closed server is dialed")
	}
	if _, err := s.Do("PING"); err == nil {
		t.Error("a closed server replies")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := servertest.Run(t).Dialer(ended, "", ""); err == nil {
		t.Error("a connection was made when nobody wanted it any more")
	}
}

// BenchmarkRun measures what a test pays for its server.
func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		s, err := servertest.Start()
		if err != nil {
			b.Fatal(err)
		}
		s.Set("k", "v")
		s.Close()
	}
}
