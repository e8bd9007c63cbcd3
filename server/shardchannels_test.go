package server

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/pubsub"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// newChannelsRig is a server of newMovesRig whose group has told it of its slots. lose takes the slot of b from it, to
// the group of movedB, and gain gives it back.
func newChannelsRig(t *testing.T, directives ...string) (r *movesRig, lose, gain func()) {
	t.Helper()
	r = newMovesRig(t, directives...)
	all, b := r.g.own.Load(), slotstest.Set(t, "3300")
	lose = func() { r.have(all.Without(b), b) }
	gain = func() { r.have(all, nil) }
	gain()
	return r, lose, gain
}

// When a slot has gone the subscribers of its shard channels are told, one channel after the other, and of the rest
// nothing changes. Calls that subscribe to these, or publish, get MOVED.
func TestSubscribersAreToldThatASlotHasGone(t *testing.T) {
	for _, proto := range []int{2, 3} {
		t.Run(fmt.Sprint("protocol ", proto), func(t *testing.T) {
			r, _, _ := newChannelsRig(t)
			some, all, other, p := r.dial(), r.dial(), r.dial(), r.dial()
			mark := ""
			if proto == 3 {
				some, all, other = some.hello3(), all.hello3(), other.hello3()
				mark = ">"
			}
			some.send("SSUBSCRIBE", "{b}2", "{b}1")
			some.next(mark + `["ssubscribe" "{b}2" (int) 1]`)
			some.next(mark + `["ssubscribe" "{b}1" (int) 2]`)
			some.want("SSUBSCRIBE c", mark+`["ssubscribe" "c" (int) 3]`)
			some.want("SUBSCRIBE b", mark+`["subscribe" "b" (int) 1]`)
			all.want("SSUBSCRIBE {b}1", mark+`["ssubscribe" "{b}1" (int) 1]`)
			other.want("SSUBSCRIBE c", mark+`["ssubscribe" "c" (int) 1]`)
			r.begin(p)
			p.want("PUBSUB SHARDNUMSUB {b}1 {b}2 c", `["{b}1" (int) 2 "{b}2" (int) 1 "c" (int) 2]`)
			r.given <- nil
			some.next(mark + `["sunsubscribe" "{b}1" (int) 2]`)
			some.next(mark + `["sunsubscribe" "{b}2" (int) 1]`)
			all.next(mark + `["sunsubscribe" "{b}1" (int) 0]`)
			r.state(p, "success")
			p.want("PUBSUB SHARDNUMSUB {b}1 {b}2 c", `["{b}1" (int) 0 "{b}2" (int) 0 "c" (int) 2]`)
			p.want("PUBSUB SHARDCHANNELS", `["c"]`)
			p.want("SPUBLISH {b}1 x", movedB)
			p.want("SPUBLISH c x", "(int) 2")
			p.want("PUBLISH b x", "(int) 1")
			some.next(mark + `["smessage" "c" "x"]`)
			some.next(mark + `["message" "b" "x"]`)
			other.next(mark + `["smessage" "c" "x"]`)
			some.want("SSUBSCRIBE {b}1", movedB)
			some.want("SUNSUBSCRIBE {b}1", movedB) // as in Redis
			some.want("SUNSUBSCRIBE c", mark+`["sunsubscribe" "c" (int) 0]`)
			all.want("GET c", "(nil)") // it is no subscriber any more
			if got := p.do("CLIENT", "LIST", "ID", all.id()); !strings.Contains(got, " ssub=0 ") || strings.Contains(got, "flags=P") {
				t.Errorf("CLIENT LIST shows %s", got)
			}
		})
	}
}

// A follower hears from its group that slots have gone, and tells its subscribers.
func TestSubscribersOfFollowersAreTold(t *testing.T) {
	r, lose, _ := newChannelsRig(t)
	r.follow()
	c := r.dial()
	c.want("SSUBSCRIBE b", `["ssubscribe" "b" (int) 1]`)
	lose()
	c.next(`["sunsubscribe" "b" (int) 0]`)
	c.want("SSUBSCRIBE b", movedB)
	c.want("SPUBLISH b x", movedB)
	c.want("READONLY", "OK")
	c.want("SSUBSCRIBE b", movedB)
}

// A slot that comes back can be subscribed to again, and subscribers of others hear of neither.
func TestSlotsThatComeBackHaveSubscribersAgain(t *testing.T) {
	r, lose, gain := newChannelsRig(t)
	c, other := r.dial(), r.dial().hello3()
	other.want("SSUBSCRIBE c", `>["ssubscribe" "c" (int) 1]`)
	for range 3 {
		c.want("SSUBSCRIBE b", `["ssubscribe" "b" (int) 1]`)
		r.dial().want("SPUBLISH b x", "(int) 1")
		c.next(`["smessage" "b" "x"]`)
		lose()
		c.next(`["sunsubscribe" "b" (int) 0]`)
		gain()
	}
	other.quiet()
}

// A subscription that was admitted before its slot went, and takes effect after that, is ended like the others.
func TestSubscriptionsThatComeTooLateEndAtOnce(t *testing.T) {
	r, _, gain := newChannelsRig(t)
	c := r.dial()
	c.want("SSUBSCRIBE c", `["ssubscribe" "c" (int) 1]`)
	r.g.channels(slotstest.Set(t, "7365")) // that of c; the call is admitted as if nothing had changed
	c.send("SSUBSCRIBE", "{b}1", "{b}2")
	c.next(`["ssubscribe" "{b}1" (int) 2]`)
	c.next(`["ssubscribe" "{b}2" (int) 3]`)
	c.next(`["sunsubscribe" "{b}1" (int) 2]`)
	c.next(`["sunsubscribe" "{b}2" (int) 1]`)
	c.want("SSUBSCRIBE {b}1", `["ssubscribe" "{b}1" (int) 2]`)
	c.next(`["sunsubscribe" "{b}1" (int) 1]`)
	gain()
	c.want("SSUBSCRIBE b", `["ssubscribe" "b" (int) 2]`)
	c.want("PING", `["pong" ""]`)
}

// Messages come before the end of their subscription, none behind it, and the end comes once.
func TestNoMessageComesBehindTheEndOfItsSubscription(t *testing.T) {
	r, lose, gain := newChannelsRig(t)
	addr := r.loopback()
	for name, c := range map[string]*testClient{"memory": r.dial(), "socket": r.dialTCP(addr)} {
		for round := range 200 {
			c.want("SSUBSCRIBE b", `["ssubscribe" "b" (int) 1]`)
			begun := make(chan struct{}) // closed when messages come
			var publisher sync.WaitGroup
			publisher.Go(func() { // another member, which has not heard of the change yet
				for k := range 40 {
					if r.g.receive(byte(pubsub.ShardChannel), []byte("b"), []byte("x")); k == round%40 {
						close(begun)
					}
				}
			})
			<-begun
			lose()
			got := c.reply()
			for got == `["smessage" "b" "x"]` {
				got = c.reply()
			}
			if got != `["sunsubscribe" "b" (int) 0]` {
				t.Fatalf("%s, round %d: got %s", name, round, got)
			}
			publisher.Wait()
			c.want("ECHO end", `"end"`)
			gain()
		}
	}
}

// What has come for a client by the end of its subscriptions is told before it, and each set of slots is looked at once.
func TestMessagesThatHaveComeAreToldFirst(t *testing.T) {
	r, _, _ := newChannelsRig(t)
	s, e := r.handSession()
	defer s.Leave()
	if err := s.feedText(encode("SSUBSCRIBE", "b")); err != nil {
		t.Fatal(err)
	}
	r.srv.channels.Keep(slotstest.Set(t, "7365"))
	r.g.receive(byte(pubsub.ShardChannel), []byte("b"), []byte("x"))
	s.messaging.leaveChannels() // in flush messages may come at that moment
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	const want = "*3\r\n$10\r\nssubscribe\r\n$1\r\nb\r\n:1\r\n*3\r\n$8\r\nsmessage\r\n$1\r\nb\r\n$1\r\nx\r\n*3\r\n$12\r\nsunsubscribe\r\n$1\r\nb\r\n:0\r\n"
	if got := string(e.wrote); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if s.Has(commands.ClientPubSub) || s.messaging.subs.Bytes() != 0 {
		t.Errorf("a client without subscriptions is a subscriber, with %d bytes", s.messaging.subs.Bytes())
	}
}

// A client is told between two calls, whatever it does: it waits for a key, its call takes long, it is amid a transaction, it wants no replies.
func TestBusySubscribersAreTold(t *testing.T) {
	r, lose, _ := newChannelsRig(t, "--io-threads", "1")
	addr := r.loopback()
	const gone = `>["sunsubscribe" "b" (int) 0]`
	subscriber := func() *testClient {
		c := r.dialTCP(addr).hello3()
		c.want("SSUBSCRIBE b", `>["ssubscribe" "b" (int) 1]`)
		return c
	}
	waits, long, queues, silent, idle := subscriber(), subscriber(), subscriber(), subscriber(), subscriber()
	waits.send("BLPOP", "{c}q", "0")
	r.blocked(1)
	queues.want("MULTI", "OK")
	queues.want("GET c", queued)
	silent.raw(encode("CLIENT", "REPLY", "OFF") + encode("SET", "{c}off", "1"))
	r.until("the call of the silent client is over", func() bool { return r.dial().do("EXISTS", "{c}off") == "(int) 1" })
	free := r.stuck("{c}k")
	long.send("GET", "{c}k")
	idle.want("PING", "PONG") // by now the loop has another goroutine
	lose()
	idle.next(gone)
	waits.next(gone)
	silent.next(gone)
	queues.next(gone)
	queues.want("EXEC", "[(nil)]")
	free()
	long.next("(nil)")
	long.next(gone)
	r.dial().want("RPUSH {c}q x", "(int) 1")
	waits.next(`["{c}q" "x"]`)
	for _, c := range []*testClient{waits, long, queues, idle} {
		c.quiet()
	}
}

// A subscriber that does not read is told when it does, and keeps nobody waiting.
func TestSubscriberThatDoesNotReadDelaysNobody(t *testing.T) {
	r, lose, _ := newChannelsRig(t, "--io-threads", "1")
	addr := r.loopback()
	slow, other, p := r.dialTCP(addr), r.dialTCP(addr), r.dial()
	id := slow.id()
	slow.want("SSUBSCRIBE b", `["ssubscribe" "b" (int) 1]`)
	other.want("SSUBSCRIBE b", `["ssubscribe" "b" (int) 1]`)
	payload := strings.Repeat("x", 1<<20)
	const messages = 10 // more than the buffers of a socket take, and less than the limit
	for range messages {
		p.want("SPUBLISH b "+payload, "(int) 2")
		other.next(fmt.Sprintf(`["smessage" "b" %q]`, payload))
	}
	if got := p.do("CLIENT", "LIST", "ID", id); strings.Contains(got, " omem=0 ") {
		t.Errorf("the buffers of a socket have taken all messages: %s", got)
	}
	lose()
	other.next(`["sunsubscribe" "b" (int) 0]`)
	other.want("GET c", "(nil)")
	for range messages {
		slow.next(fmt.Sprintf(`["smessage" "b" %q]`, payload))
	}
	slow.next(`["sunsubscribe" "b" (int) 0]`)
	slow.want("GET c", "(nil)")
}

// All subscriptions end when the group has no slots any more.
func TestGroupWithoutSlotsHasNoSubscribers(t *testing.T) {
	r, _, _ := newChannelsRig(t)
	c, p := r.dial(), r.dial()
	const n = 3000
	for i := range n {
		c.want(fmt.Sprintf("SSUBSCRIBE {b}%04d", i), fmt.Sprintf(`["ssubscribe" "{b}%04d" (int) %d]`, i, i+1))
	}
	r.have(new(slots.Set), r.g.own.Load())
	for i := range n {
		c.next(fmt.Sprintf(`["sunsubscribe" "{b}%04d" (int) %d]`, i, n-1-i))
	}
	p.want("PUBSUB SHARDCHANNELS", "[]")
	c.want("ECHO end", `"end"`)
}
