package pubsub

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/slots"
)

// client notes what it gets.
type client struct {
	proto int
	got   []string
	subs  *Subscriptions
}

func newClient() *client {
	c := &client{proto: 3}
	c.subs = Of(c)
	return c
}

func (c *client) Proto() int { return c.proto }

func (c *client) Deliver(b []byte) { c.got = append(c.got, readable(b)) }

// readable is a reply in one line, without its lengths.
func readable(b []byte) string {
	var words []string
	for _, w := range strings.Split(string(b), "\r\n") {
		if w != "" && w[0] != '$' {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// begin subscribes, and returns the confirmation.
func (c *client) begin(p *Broker, kind Kind, name string) string {
	r := commands.NewReply(nil, c.proto)
	c.subs.Begin(p, &r, kind, []byte(name))
	return readable(r.Encoded())
}

// end unsubscribes from topics, and returns the confirmations.
func (c *client) end(p *Broker, kind Kind, names ...string) string {
	var list [][]byte
	for _, name := range names {
		list = append(list, []byte(name))
	}
	r := commands.NewReply(nil, c.proto)
	c.subs.Stop(p, kind, list)
	c.subs.End(&r, kind, list)
	return readable(r.Encoded())
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestSubscriptionsEndForWhoLeavesAndNobodyElse(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, seed))
	var p Broker
	held := map[*subscription]bool{}
	for range 2000 {
		if rng.IntN(2) == 0 {
			u := &subscription{of: newClient().subs}
			p.add(u, Channel, "ch")
			held[u] = true
		} else {
			for u := range held { // any
				p.remove(u, Channel, "ch")
				delete(held, u)
				break
			}
		}
		list := p.topics[Channel]["ch"]
		if len(list) != len(held) {
			t.Fatalf("seed %d: %d subscriptions, want %d", seed, len(list), len(held))
		}
		for i, u := range list {
			if !held[u] || u.at != i {
				t.Fatalf("seed %d: the subscription at %d is of somebody who left, or thinks that it is at %d", seed, i, u.at)
			}
		}
	}
}

func TestMessagesReachSubscribersOfTheChannelAndOfPatterns(t *testing.T) {
	var p Broker
	a, b := newClient(), newClient()
	b.proto = 2
	want(t, "a subscription", a.begin(&p, Channel, "news"), ">3 subscribe news :1")
	want(t, "the same again", a.begin(&p, Channel, "news"), ">3 subscribe news :1")
	want(t, "a pattern", a.begin(&p, Pattern, "n*"), ">3 psubscribe n* :2")
	want(t, "a shard channel", a.begin(&p, ShardChannel, "news"), ">3 ssubscribe news :1")
	want(t, "RESP2", b.begin(&p, Channel, "news"), "*3 subscribe news :1")
	if n := p.Audience(Channel, []byte("news")); n != 3 {
		t.Errorf("%d deliveries are expected, want 3", n)
	}
	if n := p.Publish(Channel, []byte("news"), []byte("x"), nil, nil); n != 3 {
		t.Errorf("%d deliveries, want 3", n)
	}
	want(t, "a", strings.Join(a.got, ", "), ">3 message news x, >4 pmessage n* news x")
	want(t, "b", strings.Join(b.got, ", "), "*3 message news x")
	if n := p.Publish(ShardChannel, []byte("news"), []byte("y"), nil, nil); n != 1 {
		t.Errorf("%d deliveries of a shard channel, which no pattern matches, want 1", n)
	}
	if got := p.Channels(Channel, []byte("ne*")); !slices.Equal(got, []string{"news"}) || p.Subscribers(Channel, []byte("news")) != 2 || p.Topics(Pattern) != 1 {
		t.Errorf("channels %q with %d subscribers, and %d patterns", got, p.Subscribers(Channel, []byte("news")), p.Topics(Pattern))
	}
	lost := p.Lost(func(c Subscriber, kind Kind, name string) bool { return c != Subscriber(a) || kind != Pattern })
	if !lost[a] || lost[b] {
		t.Error("others have lost what they subscribe to")
	}
}

func TestOwnMessageIsGivenToThePublisher(t *testing.T) {
	var p Broker
	a, b := newClient(), newClient()
	a.begin(&p, Channel, "ch")
	b.begin(&p, Channel, "ch")
	var own []string
	n := p.Publish(Channel, []byte("ch"), []byte("x"), a, func(m []byte) { own = append(own, readable(m)) })
	if n != 2 || len(a.got) > 0 || len(b.got) != 1 {
		t.Errorf("%d deliveries: %q to the publisher, %q to the other one", n, a.got, b.got)
	}
	want(t, "the publisher", strings.Join(own, ", "), ">3 message ch x")
}

func TestSubscriptionsEndWithAWord(t *testing.T) {
	var p Broker
	c := newClient()
	var none *Subscriptions
	r := commands.NewReply(nil, 3)
	none.Stop(&p, Channel, nil)
	none.End(&r, Channel, none.Names(Channel))
	want(t, "of a client without any", readable(r.Encoded()), ">3 unsubscribe _ :0")
	c.begin(&p, Channel, "a")
	c.begin(&p, Channel, "b")
	c.begin(&p, Pattern, "p")
	if c.subs.Bytes() != 3*SubscriptionBytes+3 || !c.subs.Any() {
		t.Errorf("three subscriptions take %d bytes", c.subs.Bytes())
	}
	want(t, "one that is named twice, and an unknown one", c.end(&p, Channel, "b", "b", "x"),
		">3 unsubscribe b :2 >3 unsubscribe b :2 >3 unsubscribe x :2")
	p.Publish(Channel, []byte("b"), []byte("late"), nil, nil)
	c.subs.EndAll(&p)
	p.Publish(Channel, []byte("a"), []byte("late"), nil, nil)
	if len(c.got) > 0 || p.Any() || c.subs.Any() || c.subs.Bytes() != 0 {
		t.Errorf("after the end: got %q, and %d bytes are held", c.got, c.subs.Bytes())
	}
	want(t, "anew", c.begin(&p, Channel, "a"), ">3 subscribe a :1")
}

func TestShardChannelsDepartWithTheirSlots(t *testing.T) {
	var p Broker
	var channels ShardChannels
	channels.Open()
	c := newClient()
	c.begin(&p, ShardChannel, "{b}1")
	c.begin(&p, ShardChannel, "c")
	departed := func() string { return string(slices.Concat(c.subs.Departed(&channels)...)) }
	want(t, "while all are here", departed(), "")
	slot := commands.KeySlot([]byte("c"))
	of, err := slots.Parse(fmt.Sprint(slot))
	if err != nil {
		t.Fatal(err)
	}
	channels.Keep(of)
	if channels.Keeps([]byte("{b}1")) || !channels.Keeps([]byte("c")) {
		t.Error("the channels of other slots are kept")
	}
	want(t, "when others are gone", departed(), "{b}1")
	want(t, "looked at twice", departed(), "")
	c.subs.Judge()
	want(t, "looked at anew", departed(), "{b}1")
	woken, done := make(chan struct{}), make(chan struct{})
	ended := make(chan struct{})
	go func() {
		channels.Run(done, func() { woken <- struct{}{} })
		close(ended)
	}()
	<-woken // by Keep
	close(done)
	<-ended
}

// group is a journal that is committed up to a position, and the members that get
// messages.
type group struct {
	upTo  uint64
	given []string
	asked chan uint64 // positions that are waited for
	more  chan uint64
}

func (g *group) Confirmed(position uint64) bool { return position <= g.upTo }

func (g *group) WaitDurable(position uint64) error {
	g.asked <- position
	if <-g.more < position {
		return errors.New("another member leads")
	}
	return nil
}

func (g *group) Publish(kind byte, channel, payload []byte, wide bool) {
	g.given = append(g.given, fmt.Sprint(kind, " ", string(channel), " ", string(payload), " ", wide))
}

func TestMessagesLeaveWhenWhatTheyTellOfIsCommitted(t *testing.T) {
	var p Broker
	var f Fanout
	g := &group{upTo: 5, asked: make(chan uint64), more: make(chan uint64)}
	var fed []string
	f.Open(&p, g, g, func(_ Kind, _, payload []byte) { fed = append(fed, string(payload)) })
	c := newClient()
	c.begin(&p, Channel, "ch")
	message := func(text string, position uint64) Message {
		return Message{Channel: []byte("ch"), Payload: []byte(text), Position: position}
	}
	f.Announce(message("now", 5))
	want(t, "what is committed", strings.Join(c.got, ", "), ">3 message ch now")
	later := message("later", 6)
	f.Announce(later)
	copy(later.Payload, "XXXXX") // the bytes belong to the caller
	f.Announce(message("behind", 0))
	f.Announce(message("lost", 9))
	local := message("here", 0)
	local.Local = true
	f.Announce(local)
	if n := f.Waiting(); n != 4 || f.Ready(0) {
		t.Errorf("%d messages wait, want 4 and all that come", n)
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		f.Run(done)
		close(ended)
	}()
	for _, x := range [][2]uint64{{6, 6}, {9, 8}} {
		if got := <-g.asked; got != x[0] {
			t.Errorf("waits for %d, want %d", got, x[0])
		}
		g.more <- x[1]
	}
	close(done) // what is in the queue is still published
	<-ended
	want(t, "the client", strings.Join(c.got, ", "), ">3 message ch now, >3 message ch later, >3 message ch behind, >3 message ch here")
	want(t, "others", strings.Join(g.given, ", "), "0 ch now true, 0 ch later true, 0 ch behind true")
	if n := f.Dropped(); n != 1 {
		t.Errorf("%d messages are lost, want 1", n)
	}
	f.Forward(ShardChannel, []byte("s"), []byte("x"))
	want(t, "a shard channel", g.given[3], "2 s x false")
	f.Receive(byte(Pattern), []byte("ch"), []byte("no channel"))
	f.Receive(byte(Channel), []byte("ch"), []byte("theirs"))
	want(t, "of another member", c.got[len(c.got)-1], ">3 message ch theirs")
	want(t, "replicas", strings.Join(fed, ", "), "now, later, behind, theirs")
}

// A publisher that outruns the group loses messages, and they do not fill the memory.
func TestMessagesThatWaitAreBounded(t *testing.T) {
	var f Fanout
	f.Open(nil, nil, nil, nil)
	long := Message{Payload: make([]byte, fanoutBytes)}
	f.put(long) // however long one is
	f.put(Message{})
	if m, _ := f.take(); len(m.Payload) != fanoutBytes || f.Dropped() != 1 {
		t.Errorf("a long message: %d bytes, %d dropped", len(m.Payload), f.Dropped())
	}
	for range 2 * fanoutBytes / fanoutCost {
		f.put(Message{})
	}
	if most := fanoutBytes / fanoutCost; len(f.queue) != most || f.Dropped() != int64(most)+1 {
		t.Errorf("%d short messages wait, %d are dropped, want %d of each", len(f.queue), f.Dropped()-1, most)
	}
}

func TestEventsAreSentWhereTheyAreAskedFor(t *testing.T) {
	var sent []string
	send := func(channel, payload []byte) { sent = append(sent, fmt.Sprintf("%s %s", channel, payload)) }
	const both = commands.EventKeyspace | commands.EventKeyevent
	Event(both|commands.EventGeneric, commands.EventHash, "hset", 0, []byte("k"), send)
	Event(both|commands.EventGeneric, commands.EventGeneric, "del", 3, []byte("k"), send)
	EventParts(both|commands.EventHash, commands.EventHash, "hset", 0, []byte("k"), [][]byte{[]byte("f")}, send)
	want(t, "events", strings.Join(sent, ", "), "__keyspace@3__:k del, __keyevent@3__:del k")
}
