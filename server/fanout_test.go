package server

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// What a message tells of is committed before it leaves: keyspace events, also of waiting
// clients that are served, and what transactions, scripts and pipelines publish.
func TestMessagesOfALeaderLeaveAfterTheCommit(t *testing.T) {
	const set, popped = `["message" "__keyevent@0__:set" "k"]`, `["message" "__keyevent@0__:lpop" "q"]`
	for name, x := range map[string]struct {
		calls []string // of a pipeline
		want  []string // messages, in order
		given string   // to other members
	}{
		"an event":               {[]string{"SET k v"}, []string{set}, ""},
		"a script":               {[]string{"EVAL redis.call('set','k','v')redis.call('publish','ch',redis.call('get','k')) 1 k"}, []string{set, `["message" "ch" "v"]`}, "0 ch v"},
		"a reader's script":      {[]string{"SET k v", "EVAL redis.call('publish','ch',redis.call('get','k')) 1 k"}, []string{set, `["message" "ch" "v"]`}, "0 ch v"},
		"a transaction":          {[]string{"MULTI", "PUBLISH ch 1", "SET k v", "SPUBLISH sh 2", "EXEC"}, []string{`["message" "ch" "1"]`, set, `["smessage" "sh" "2"]`}, "0 ch 1, 2 sh 2"},
		"a pipeline":             {[]string{"SET k v", "PUBLISH ch 1", "PUBLISH ch 2"}, []string{set, `["message" "ch" "1"]`, `["message" "ch" "2"]`}, "0 ch 1, 0 ch 2"},
		"a served client":        {[]string{"RPUSH q e"}, []string{popped}, ""},
		"a failed transaction":   {[]string{"MULTI", "PUBLISH ch 1", "INCR text", "SET k v", "EXEC"}, []string{`["message" "ch" "1"]`, set}, "0 ch 1"},
		"a script that goes off": {[]string{"EVAL redis.call('set','k','v')redis.call('publish','ch','1')error('off') 1 k"}, []string{set, `["message" "ch" "1"]`}, "0 ch 1"},
	} {
		t.Run(name, func(t *testing.T) {
			r, g := newGroupRig(t)
			c, sub, popper := r.dial(), r.dial(), r.dial()
			c.want("SET text x", "OK")
			c.want("CONFIG SET notify-keyspace-events EA", "OK")
			sub.do("SUBSCRIBE", "__keyevent@0__:set")
			sub.do("SUBSCRIBE", "__keyevent@0__:lpop")
			sub.do("SUBSCRIBE", "ch")
			sub.do("SSUBSCRIBE", "sh")
			popper.send("BLPOP", "q", "0")
			r.blocked(1)
			g.holdBack(true)
			pipeline := ""
			for _, call := range x.calls {
				words := strings.Fields(call)
				if words[0] == "EVAL" { // whose second word has blanks
					n := len(words)
					words = []string{"EVAL", strings.Join(words[1:n-2], " "), words[n-2], words[n-1]}
				}
				pipeline += encode(words...)
			}
			c.raw(pipeline)
			r.until("the change waits for its commit", func() bool { return len(g.waiting()) > 0 && int(r.srv.fanout.Waiting()) == len(x.want) })
			sub.quietSubscriber()
			if got := g.given(); got != "" {
				t.Errorf("other members were given %s", got)
			}
			g.holdBack(false)
			for _, want := range x.want {
				sub.next(want)
			}
			sub.quietSubscriber()
			r.until("all is published", func() bool { return r.srv.fanout.Waiting() == 0 })
			if got := g.given(); got != x.given {
				t.Errorf("other members were given %q, want %q", got, x.given)
			}
		})
	}
}

// A client that has nothing to wait for does not wait for the messages of others to be
// committed longer than they take, and its own stay in order.
func TestMessagesWaitBehindThoseThatCameBefore(t *testing.T) {
	r, g := newGroupRig(t)
	c, other, sub := r.dial(), r.dial(), r.dial()
	sub.do("SUBSCRIBE", "ch")
	other.want("PUBLISH ch 0", "(int) 1")
	g.holdBack(true)
	c.raw(encode("SET", "k", "v") + encode("PUBLISH", "ch", "1"))
	r.until("the message waits", func() bool { return r.srv.fanout.Waiting() == 1 })
	other.want("PUBLISH ch 2", "(int) 1") // as many will get it
	g.holdBack(false)
	for i := range 3 {
		sub.next(fmt.Sprintf(`["message" "ch" "%d"]`, i))
	}
	c.next("OK")
	c.next("(int) 1")
	r.until("all is published", func() bool { return r.srv.fanout.Waiting() == 0 })
	other.want("PUBLISH ch 3", "(int) 1")
	sub.next(`["message" "ch" "3"]`)
	if got := g.given(); got != "0 ch 0, 0 ch 1, 0 ch 2, 0 ch 3" {
		t.Errorf("other members were given %s", got)
	}
}

// What a script has read of another client's change is not told before that is committed.
func TestMessagesOfReadersWaitForWhatTheyHaveRead(t *testing.T) {
	r, g := newGroupRig(t)
	writer, reader, sub := r.dial(), r.dial(), r.dial()
	sub.do("SUBSCRIBE", "ch")
	g.holdBack(true)
	writer.send("SET", "k", "v")
	r.until("the write is in memory", func() bool { return len(g.waiting()) == 1 })
	reader.send("EVAL", "redis.call('publish','ch',redis.call('get','k'))", "1", "k")
	r.until("the message waits", func() bool { return r.srv.fanout.Waiting() == 1 })
	sub.quietSubscriber()
	g.holdBack(false)
	sub.next(`["message" "ch" "v"]`)
}

// What a deposed leader had not committed is told to no client, here or elsewhere.
func TestMessagesOfADeposedLeaderAreGivenUp(t *testing.T) {
	r, g := newGroupRig(t)
	c, sub := r.dial(), r.dial()
	c.want("CONFIG SET notify-keyspace-events EA", "OK")
	sub.do("SUBSCRIBE", "__keyevent@0__:set")
	g.holdBack(true)
	c.raw(encode("SET", "k", "v") + encode("PUBLISH", "ch", "1"))
	r.until("both wait", func() bool { return r.srv.fanout.Waiting() == 2 })
	g.depose()
	sub.ended()
	r.until("nothing waits", func() bool { return r.srv.fanout.Waiting() == 0 })
	if got := g.given(); got != "" {
		t.Errorf("other members were given %s", got)
	}
	sub, c = r.dial(), r.dial()
	sub.do("SUBSCRIBE", "ch")
	c.want("PUBLISH ch 2", "(int) 1") // by a follower
	sub.next(`["message" "ch" "2"]`)
	sub.quietSubscriber()
	if info := infoLines(c.do("INFO", "stats")); !info["vigil_group_messages_given_up:2"] || !info["vigil_group_messages_sent:5"] ||
		!info["vigil_group_messages_dropped:6"] || !info["vigil_group_messages_received:7"] {
		t.Errorf("INFO stats: %v", info)
	}
	if got := g.given(); got != "0 ch 2" {
		t.Errorf("other members were given %s", got)
	}
}

// Messages of clients reach the other members, and theirs the clients here; replies count
// clients here. Events of keys are for the clients of the leader.
func TestMessagesReachTheClientsOfAllMembers(t *testing.T) {
	for _, role := range []string{"leader", "follower"} {
		t.Run(role, func(t *testing.T) {
			r, g := newGroupRig(t, func(o *Options) { o.Config = testConfig(t, "--notify-keyspace-events", "KEAm") })
			r.dial().want("SET k v PX 60000", "OK")
			if role == "follower" {
				g.depose()
			}
			c, sub := r.dial(), r.dial()
			sub.do("PSUBSCRIBE", "c?")
			sub.do("SSUBSCRIBE", "ch")
			c.want("PUBLISH ch 1", "(int) 1")
			c.want("SPUBLISH ch 2", "(int) 1")
			c.want("PUBLISH nowhere 3", "(int) 0")
			c.want("EVAL return{redis.call('publish','ch','4'),redis.call('exists','k')} 0", "[(int) 1 (int) 1]")
			for _, want := range []string{`["pmessage" "c?" "ch" "1"]`, `["smessage" "ch" "2"]`, `["pmessage" "c?" "ch" "4"]`} {
				sub.next(want)
			}
			r.until("all is published", func() bool { return r.srv.fanout.Waiting() == 0 })
			if got := g.given(); got != "0 ch 1, 2 ch 2, 0 nowhere 3, 0 ch 4" {
				t.Errorf("other members were given %q", got)
			}
			g.receive(0, []byte("ch"), []byte("5"))
			g.receive(2, []byte("ch"), []byte("6"))
			g.receive(1, []byte("ch"), []byte("a pattern is no channel"))
			g.receive(200, []byte("ch"), []byte("of a later version"))
			sub.next(`["pmessage" "c?" "ch" "5"]`)
			sub.next(`["smessage" "ch" "6"]`)
			sub.quietSubscriber()
			sub.do("PSUBSCRIBE", "__key*__:*")
			c.want("GET nosuch", "(nil)")
			sub.next(`["pmessage" "__key*__:*" "__keyspace@0__:nosuch" "keymiss"]`)
			sub.next(`["pmessage" "__key*__:*" "__keyevent@0__:keymiss" "nosuch"]`)
			r.clock.advance(2 * time.Minute) // which a leader's cron notices
			c.want("GET k", "(nil)")
			if role == "leader" {
				sub.next(`["pmessage" "__key*__:*" "__keyspace@0__:k" "expired"]`)
				sub.next(`["pmessage" "__key*__:*" "__keyevent@0__:expired" "k"]`)
			}
			sub.next(`["pmessage" "__key*__:*" "__keyspace@0__:k" "keymiss"]`)
			if got := g.given(); strings.Contains(got, "__key") || strings.Contains(got, "5") {
				t.Errorf("other members were given %q", got)
			}
		})
	}
}

// Clients that publish at once, with commits in between, are each heard in order and once.
func TestMessagesOfManyPublishersStayInOrder(t *testing.T) {
	const publishers, each = 4, 300
	r, _ := newGroupRig(t)
	sub := r.dial()
	sub.do("SUBSCRIBE", "ch")
	var all sync.WaitGroup
	for p := range publishers {
		c := r.dial()
		all.Go(func() {
			for i := range each {
				message := fmt.Sprintf("%d:%d", p, i)
				switch i % 3 {
				case 0:
					c.send("PUBLISH", "ch", message)
				case 1:
					c.send("EVAL", "redis.call('incr','k')redis.call('publish','ch',ARGV[1])", "1", "k", message)
				default:
					c.raw(encode("INCR", "k") + encode("PUBLISH", "ch", message))
					_, _ = c.read()
				}
				if _, err := c.read(); err != nil {
					t.Errorf("publisher %d: %v", p, err)
					return
				}
			}
		})
	}
	var next [publishers]int
	for range publishers * each {
		var p, i int
		got := sub.reply()
		if _, err := fmt.Sscanf(got, `["message" "ch" "%d:%d"]`, &p, &i); err != nil || i != next[p] {
			t.Fatalf("got %s, %v, want number %d", got, err, next[p])
		}
		next[p]++
	}
	all.Wait()
	sub.quietSubscriber()
}
