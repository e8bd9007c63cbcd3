package server

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
)

func TestConfirmationsComeBeforeAndBehindTheMessages(t *testing.T) {
	for _, proto := range []int{2, 3} {
		r := newRig(t)
		c := r.dial()
		mark := ""
		if proto == 3 {
			c.hello3()
			mark = ">"
		}
		p := r.dial()
		stop := make(chan struct{}) // closed when the publisher is to end
		var publisher sync.WaitGroup
		publisher.Add(1)
		go func() {
			defer publisher.Done()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					p.do("PUBLISH", "ch", fmt.Sprint(i))
				}
			}
		}()
		for round := range 300 {
			c.raw(encode("SUBSCRIBE", "ch") + encode("PSUBSCRIBE", "c*"))
			c.next(mark + `["subscribe" "ch" (int) 1]`)
			words := map[string]int{}
			if round%3 == 0 {
				for words["message"]+words["pmessage"] < 3 {
					words[strings.Split(c.reply(), `"`)[1]]++
				}
			}
			c.raw(encode("UNSUBSCRIBE", "ch") + encode("PUNSUBSCRIBE", "c*") + encode("ECHO", "end"))
			for state := 0; state < 3; {
				got := c.reply()
				switch {
				case got == mark+`["unsubscribe" "ch" (int) 1]`:
					state = 1
				case got == mark+`["punsubscribe" "c*" (int) 0]` && state == 1:
					state = 2
				case got == `"end"` && state == 2:
					state = 3
				case strings.HasPrefix(got, mark+`["message"`) && state == 0,
					strings.HasPrefix(got, mark+`["pmessage"`) && state < 2,
					got == mark+`["psubscribe" "c*" (int) 2]`:
				default:
					t.Fatalf("protocol %d, round %d: got %s after %d confirmations", proto, round, got, state)
				}
			}
		}
		close(stop)
		publisher.Wait()
	}
}

func TestPublisherCountsAndOrdersDeliveries(t *testing.T) {
	r := newRig(t)
	a, b, p := r.dial(), r.dial(), r.dial()
	a.want("SUBSCRIBE news", `["subscribe" "news" (int) 1]`)
	a.want("PSUBSCRIBE n*", `["psubscribe" "n*" (int) 2]`)
	b.want("SUBSCRIBE news", `["subscribe" "news" (int) 1]`)
	p.want("PUBLISH news x", "(int) 3")
	p.want("PUBLISH none x", "(int) 1")
	p.want("PUBLISH other x", "(int) 0")
	a.next(`["message" "news" "x"]`)
	a.next(`["pmessage" "n*" "news" "x"]`)
	a.next(`["pmessage" "n*" "none" "x"]`)
	b.next(`["message" "news" "x"]`)
	p.want("PUBSUB NUMSUB news none", `["news" (int) 2 "none" (int) 0]`)
	p.want("PUBSUB NUMPAT", "(int) 1")
	b.nc.Close()
	r.connected(2)
	p.want("PUBLISH news x", "(int) 2")
}

func TestSubscriberOfProtocol2MaySayLittle(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("SUBSCRIBE ch", `["subscribe" "ch" (int) 1]`)
	if got := c.do("GET", "k"); !strings.HasPrefix(got, "(error) ERR Can't execute 'get': only (P|S)SUBSCRIBE") {
		t.Errorf("GET: got %s", got)
	}
	c.want("PING", `["pong" ""]`)
	c.want("UNSUBSCRIBE", `["unsubscribe" "ch" (int) 0]`)
	c.want("PING", "PONG")
	d := r.dial().hello3()
	d.want("SUBSCRIBE ch", `>["subscribe" "ch" (int) 1]`)
	d.want("SET k v", "OK")
	d.want("PING", "PONG")
}

func TestOwnMessageComesBehindTheReplyAndEarlierOnesBeforeIt(t *testing.T) {
	r := newRig(t)
	c := r.dial().hello3()
	c.want("SUBSCRIBE ch", `>["subscribe" "ch" (int) 1]`)
	// EXEC's message goes through the outbox; the next one is written with the reply.
	c.raw(encode("MULTI") + encode("PUBLISH", "ch", "1") + encode("EXEC") + encode("PUBLISH", "ch", "2"))
	for _, want := range []string{"OK", "QUEUED", "[(int) 1]", `>["message" "ch" "1"]`, "(int) 1", `>["message" "ch" "2"]`} {
		c.next(want)
	}
}

func TestMessagesOfOnePublisherKeepTheirOrder(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		c, p := dial(), dial()
		c.want("SUBSCRIBE a b", `["subscribe" "a" (int) 1]`)
		c.reply()
		const n = 5000
		go func() {
			for i := range n {
				p.send("PUBLISH", string("ab"[i%2]), fmt.Sprint(i))
			}
		}()
		for i := range n {
			c.next(fmt.Sprintf(`["message" "%c" "%d"]`, "ab"[i%2], i))
		}
		for range n {
			p.next("(int) 1")
		}
	})
}

// A subscriber that does not read is dropped when its limit is reached. The
// publisher is answered all the time, and another subscriber gets everything.
func TestStuckSubscriberIsDroppedAndHurtsNobody(t *testing.T) {
	r := newRig(t)
	addr := r.loopback()
	r.dial().do("CONFIG", "SET", "client-output-buffer-limit", "pubsub 1mb 0 0")
	stuck, good, p := r.dialTCP(addr), r.dialTCP(addr), r.dialTCP(addr)
	stuck.want("SUBSCRIBE ch", `["subscribe" "ch" (int) 1]`)
	good.want("SUBSCRIBE ch", `["subscribe" "ch" (int) 1]`)
	payload := strings.Repeat("m", 10_000)
	published, dropped := 0, false
	for ; published < 5000 && !dropped; published++ {
		dropped = p.do("PUBLISH", "ch", payload) == "(int) 1"
		if got := good.reply(); len(got) < 10_000 {
			t.Fatalf("the other subscriber: got %s", got)
		}
	}
	if !dropped {
		t.Fatalf("%d messages of 10 KB were taken for a subscriber that reads nothing", published)
	}
	if n := r.srv.stats.outputLimitDrops.Load(); n != 1 {
		t.Errorf("dropped clients: got %d, want 1", n)
	}
	good.want("PING", `["pong" ""]`)
	r.connected(3)
}

func TestSoftLimitDropsWhoStaysOverItTooLong(t *testing.T) {
	limit := outputLimit{Hard: 1000, Soft: 100, SoftSeconds: 10}
	add := func(o *outbox, size int, now int64) bool {
		_, over := o.add(make([]byte, size), limit, now)
		return over
	}
	var o outbox
	if add(&o, 90, 0) || add(&o, 90, 100) {
		t.Error("dropped on passing the soft limit")
	}
	if add(&o, 1, 110) {
		t.Error("dropped after 10 s over a soft limit of 10 s")
	}
	if !add(&o, 1, 111) {
		t.Error("kept after 11 s over a soft limit of 10 s")
	}
	var p outbox
	add(&p, 200, 0)
	p.take(&commands.Reply{})
	p.setUnread(0, limit, 50)
	if add(&p, 200, 100) || add(&p, 1, 105) {
		t.Error("time under the limit counted")
	}
	if !add(&p, 1000, 106) {
		t.Error("kept over the hard limit")
	}
	if first, over := p.add([]byte("x"), limit, 200); first || over || p.size() != 0 {
		t.Error("something is kept for a client that was dropped")
	}
}

// Nothing more is published, and still the client is dropped in time.
func TestSubscriberThatStaysOverTheSoftLimitIsDropped(t *testing.T) {
	r := newRig(t)
	r.dial().do("CONFIG", "SET", "client-output-buffer-limit", "pubsub 1mb 1kb 5")
	s, e := r.handSession()
	defer s.Leave()
	s.feedText(encode("SUBSCRIBE", "ch"))
	r.dial().do("PUBLISH", "ch", strings.Repeat("m", 2000))
	r.clock.advance(5 * time.Second)
	if e.hungUp {
		t.Error("dropped after 5 s of a soft limit of 5 s")
	}
	r.clock.advance(2 * time.Second)
	if !e.hungUp || s.output.size() != 0 {
		t.Errorf("after 7 s: hung up %v, %d bytes kept", e.hungUp, s.output.size())
	}
}

func TestNormalClientsHaveTheirOwnLimit(t *testing.T) {
	r := newRig(t)
	r.dial().do("CONFIG", "SET", "client-output-buffer-limit", "pubsub 1 0 0")
	c := r.dial()
	c.send("BLPOP", "q", "0")
	r.blocked(1)
	r.dial().want("RPUSH q elementelement", "(int) 1")
	c.next(`["q" "elementelement"]`)
}

// handEnd is a connection that a test moves by hand.
type handEnd struct {
	wrote   []byte
	writes  int
	wakes   atomic.Int32 // also by tasks of the server
	hungUp  bool
	unsaved bool  // the journal is not on the device
	failed  error // nor will it be
	stuck   int   // bytes that the client does not read
	paused  time.Duration
	keeps   bool // every second write is kept and not copied
	kept    [][]byte
}

func (e *handEnd) Write(b []byte) (kept bool, err error) {
	e.writes++
	if e.keeps && e.writes%2 == 1 {
		e.kept = append(e.kept, b)
		return true, nil
	} else if e.keeps {
		e.kept = append(e.kept, bytes.Clone(b))
		return false, nil
	}
	e.wrote = append(e.wrote, b...)
	return false, nil
}

func (e *handEnd) Unsent() int                  { return e.stuck }
func (e *handEnd) Durable(uint64) (bool, error) { return !e.unsaved && e.failed == nil, e.failed }
func (e *handEnd) Throttle()                    {}
func (e *handEnd) Pause(d time.Duration) bool   { e.paused += d; return true }
func (e *handEnd) Wake()                        { e.wakes.Add(1) }
func (e *handEnd) HangUp()                      { e.hungUp = true }

// handSession makes a session for which the test is the transport, to the end
// of it (leave).
func (r *rig) handSession() (*session, *handEnd) {
	e := &handEnd{}
	s := r.srv.newSession(e)
	r.srv.clients.add(s)
	return s, e
}

// feedText gives the session bytes as if they had been read.
func (s *session) feedText(b string) error {
	for len(b) > 0 {
		n := copy(s.Space(), b)
		if err := s.Feed(n); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// What was published while the subscriber could not look is told once, and
// written at once.
func TestMessagesAreWrittenTogether(t *testing.T) {
	r := newRig(t)
	s, e := r.handSession()
	defer s.Leave()
	s.feedText(encode("SUBSCRIBE", "ch"))
	p := r.dial()
	for range 1000 {
		p.want("PUBLISH ch m", "(int) 1")
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	want := "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n" + strings.Repeat(encode("message", "ch", "m"), 1000)
	if n := e.wakes.Load(); n != 1 || e.writes != 2 || string(e.wrote) != want {
		t.Errorf("got %d wakes, %d writes, %d bytes, want 1, 2, %d", n, e.writes, len(e.wrote), len(want))
	}
}

// The memory of long replies is used again, but not while the transport keeps them.
func TestRepliesThatWaitForTheClientKeepTheirBytes(t *testing.T) {
	r := newRig(t)
	for _, letter := range []string{"a", "b"} {
		r.dial().want("SET "+letter+" "+strings.Repeat(letter, 10_000), "OK")
	}
	slow, kept := r.handSession()
	defer slow.Leave()
	kept.keeps = true
	other, sent := r.handSession()
	defer other.Leave()
	for range 5 {
		for s, text := range map[*session]string{slow: encode("GET", "a"), other: encode("GET", "b")} {
			if err := s.feedText(strings.Repeat(text, 50)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for letter, got := range map[string]string{"a": string(bytes.Join(kept.kept, nil)), "b": string(sent.wrote)} {
		if want := strings.Repeat("$10000\r\n"+strings.Repeat(letter, 10_000)+"\r\n", 250); got != want {
			t.Errorf("250 replies of %q: got other bytes (%d, want %d)", letter, len(got), len(want))
		}
	}
}

func TestMonitorSeesCallsWithTimeAndClient(t *testing.T) {
	r := newRig(t)
	m, c := r.dial(), r.dial()
	m.want("MONITOR", "OK")
	c.want("SELECT 3", "OK")
	c.send("SET", "k\x00\n\"", "v")
	c.next("OK")
	c.want("CONFIG GET nothing", "[]")
	c.want("GET x", "(nil)")
	at := r.clock.Now()
	head := fmt.Sprintf("%d.%06d ", at.Unix(), at.Nanosecond()/1000)
	for _, want := range []string{`[3 127.0.0.1:0] "SELECT" "3"`, `[3 127.0.0.1:0] "SET" "k\x00\n\"" "v"`,
		`[3 127.0.0.1:0] "GET" "x"`} {
		m.next(head + want)
	}
	m.want("RESET", "RESET")
	c.want("GET x", "(nil)")
	m.quiet()
}

func TestStuckMonitorIsDropped(t *testing.T) {
	r := newRig(t)
	addr := r.loopback()
	r.dial().do("CONFIG", "SET", "client-output-buffer-limit", "pubsub 1mb 0 0")
	m, c := r.dialTCP(addr), r.dial()
	m.want("MONITOR", "OK")
	value := strings.Repeat("v", 100_000)
	for i := 0; r.srv.stats.outputLimitDrops.Load() == 0; i++ {
		if c.do("SET", "k", value); i > 500 {
			t.Fatal("50 MB were kept for a monitor that reads nothing")
		}
	}
	r.until("the monitor is gone", func() bool { return !r.srv.monitors.any() })
}

func TestKeyspaceEventsArePublished(t *testing.T) {
	r := newRig(t)
	c, p := r.dial(), r.dial()
	p.want("CONFIG SET notify-keyspace-events KEA", "OK")
	c.want("PSUBSCRIBE __key*__:*", `["psubscribe" "__key*__:*" (int) 1]`)
	both := func(event, key string) {
		t.Helper()
		c.next(fmt.Sprintf(`["pmessage" "__key*__:*" "__keyspace@0__:%s" "%s"]`, key, event))
		c.next(fmt.Sprintf(`["pmessage" "__key*__:*" "__keyevent@0__:%s" "%s"]`, event, key))
	}
	p.want("SET k v PX 50", "OK")
	both("set", "k")
	both("expire", "k")
	r.clock.advance(time.Second) // the background removal
	both("expired", "k")
	r.srv.activeExpire.Store(false)
	p.want("SET k v PX 50", "OK")
	both("set", "k")
	both("expire", "k")
	r.clock.advance(time.Second)
	p.want("GET k", "(nil)")
	both("expired", "k")
	// A wait that is served tells of both sides.
	d := r.dial()
	d.send("BLPOP", "q", "0")
	r.blocked(1)
	p.want("RPUSH q a", "(int) 1")
	both("rpush", "q")
	both("lpop", "q")
	both("del", "q")
	p.exec("SET a 1", "DEL a")
	both("set", "a")
	both("del", "a")
	p.want("CONFIG SET notify-keyspace-events Ex", "OK")
	p.want("SET k v PX 50", "OK")
	r.clock.advance(time.Second)
	p.want("GET k", "(nil)")
	c.next(`["pmessage" "__key*__:*" "__keyevent@0__:expired" "k"]`)
	p.want("CONFIG SET notify-keyspace-events KEA", "OK")
	p.want("SET k v", "OK")
	both("set", "k")
}

func TestEvictedKeysArePublished(t *testing.T) {
	r := newRig(t)
	c, p := r.dial(), r.dial()
	p.want("CONFIG SET notify-keyspace-events Ee maxmemory-policy allkeys-random", "OK")
	c.want("SUBSCRIBE __keyevent@0__:evicted", `["subscribe" "__keyevent@0__:evicted" (int) 1]`)
	value := strings.Repeat("v", 10_000)
	for i := range 500 {
		p.send("SET", fmt.Sprintf("key:%d", i), value)
		p.next("OK")
	}
	p.want("CONFIG SET maxmemory 2mb", "OK")
	p.send("SET", "more", value)
	if got := p.reply(); got != "OK" && !strings.HasPrefix(got, "(error) OOM") {
		t.Errorf("SET: got %s", got)
	}
	if got := c.reply(); !strings.HasPrefix(got, `["message" "__keyevent@0__:evicted" "key:`) {
		t.Errorf("got %s", got)
	}
}

// Redis 7.0 sent it before the reply.
func TestAClientGetsItsOwnMessageBehindTheReply(t *testing.T) {
	r := newRig(t)
	c, p := r.dial().hello3(), r.dial()
	c.want("SUBSCRIBE ch", `>["subscribe" "ch" (int) 1]`)
	c.want("PSUBSCRIBE c*", `>["psubscribe" "c*" (int) 2]`)
	c.raw(encode("PUBLISH", "ch", "mine") + encode("ECHO", "behind"))
	for _, want := range []string{"(int) 2", `>["message" "ch" "mine"]`, `>["pmessage" "c*" "ch" "mine"]`, `"behind"`} {
		c.next(want)
	}
	p.want("PUBLISH ch theirs", "(int) 2")
	c.send("PUBLISH", "ch", "next")
	for _, want := range []string{`>["message" "ch" "theirs"]`, `>["pmessage" "c*" "ch" "theirs"]`,
		"(int) 2", `>["message" "ch" "next"]`, `>["pmessage" "c*" "ch" "next"]`} {
		c.next(want)
	}
}

// The client has its OK before the transport has ended the session.
func TestNobodyFindsTheSubscriptionsOfAClientThatHasQuit(t *testing.T) {
	r := newRig(t)
	s, e := r.handSession()
	defer s.Leave()
	if err := s.feedText(encode("SUBSCRIBE", "ch") + encode("QUIT")); err != nil || !bytes.HasSuffix(e.wrote, []byte("+OK\r\n")) {
		t.Fatalf("%v, %q", err, e.wrote)
	}
	other := r.dial()
	other.want("PUBSUB CHANNELS", "[]")
	other.want("PUBLISH ch m", "(int) 0")
}
