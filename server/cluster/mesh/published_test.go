package mesh

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// board is the messages of channels that a member has got.
type board struct {
	mu   sync.Mutex
	got  []string
	wait chan struct{} // the first message waits for it, if it is not nil
}

func (b *board) take(kind byte, channel, message []byte) {
	b.mu.Lock()
	wait := b.wait
	b.wait = nil
	b.mu.Unlock()
	if wait != nil {
		<-wait
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, fmt.Sprintf("%d %s %.20s %d", kind, channel, message, len(message)))
}

func (b *board) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.got)
}

// listens collects what a member gets on a board.
func (b *board) listens(c *Config) { c.ReceivePublished = b.take }

// Everything that is published reaches every other member, as it was and in order, be it long
// or empty.
func TestPublishedMessagesReachAllOthersInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		three := func(c *Config) { c.Peers = map[uint64]string{1: "a", 2: "b", 3: "c"} }
		var boards [2]board
		a := n.member(1, three)
		b := n.member(2, func(c *Config) { three(c); boards[0].listens(c) })
		c := n.member(3, func(c *Config) { three(c); boards[1].listens(c) })
		serve(t, b, n.listen("b"))
		serve(t, c, n.listen("c"))
		var want []string
		for i := range 300 {
			channel, message := fmt.Sprint("ch", i%3), []byte(strings.Repeat("x", i*i))
			want = append(want, fmt.Sprintf("%d %s %.20s %d", i%2, channel, message, len(message)))
			a.Publish(byte(i%2), []byte(channel), message)
			clear(message) // it was copied
		}
		a.Publish(1, nil, nil)
		want = append(want, "1   0")
		synctest.Wait()
		for i := range boards {
			if got := boards[i].all(); !slices.Equal(got, want) {
				t.Errorf("member %d: %d messages of %d, or others", i+2, len(got), len(want))
			}
		}
		if got := a.Published(); got != (Published{Sent: 2 * uint64(len(want))}) {
			t.Errorf("counted %+v", got)
		}
		if got := b.Published(); got != (Published{Received: uint64(len(want))}) {
			t.Errorf("counted %+v by the other", got)
		}
		for _, m := range []*member{a, b, c} {
			m.Close()
		}
		a.Publish(0, []byte("ch"), []byte("late"))
	})
}

// A peer that takes nothing costs a bounded queue and no time of the publisher. What does not
// fit is lost to that peer alone, and counted; one message is taken however long it is.
func TestASlowPeerLosesPublishedMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		l := n.listen("b") // which accepts nothing
		a := n.member(1, nil)
		begin := time.Now()
		a.Publish(0, []byte("ch"), make([]byte, queuedBytes+1))
		for range 3 {
			a.Publish(0, []byte("ch"), make([]byte, 1000))
		}
		if got := a.Published(); got.Dropped != 3 {
			t.Errorf("a long message and three: %+v", got)
		}
		a.peer(2).feed.drop()
		const each = 1000
		sent := 0
		for a.Published().Dropped == 3 {
			a.Publish(0, []byte("ch"), make([]byte, each))
			sent++
		}
		if least, most := queuedBytes/(each+2*frameCost), queuedBytes/each+1; sent < least || sent > most {
			t.Errorf("%d messages of %d bytes were taken, want %d to %d", sent, each, least, most)
		}
		for range 100_000 { // short ones cost more than their bytes
			a.Publish(0, nil, nil)
		}
		if got := len(a.peer(2).feed.frames); got > queuedBytes/frameCost {
			t.Errorf("%d short messages are queued", got)
		}
		if time.Since(begin) != 0 {
			t.Errorf("the publisher has waited for %v", time.Since(begin))
		}
		l.Close()
		a.Close()
	})
}

// What is published for a peer that is away is dropped and counted. It gets what is published
// when it is back, and nothing twice.
func TestPublishedMessagesReachAPeerThatIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		a := n.member(1, nil)
		for i := range 600 { // a minute
			a.Publish(0, []byte("ch"), []byte(fmt.Sprint("lost ", i)))
			elapse(100 * time.Millisecond)
		}
		if got := a.Published(); got.Dropped < 550 || got.Sent > 0 {
			t.Errorf("counted %+v", got)
		}
		n.mu.Lock()
		if n.dials < 20 || n.dials > 50 {
			t.Errorf("%d attempts in a minute", n.dials)
		}
		n.mu.Unlock()
		elapse(2 * lastDelay)
		var got board
		for range 3 {
			l := n.listen("b")
			b := n.member(2, got.listens)
			serve(t, b, l)
			got.got = nil
			for i := range 20 {
				a.Publish(0, []byte("ch"), []byte(fmt.Sprint("there ", i)))
				synctest.Wait()
			}
			elapse(2 * lastDelay)
			seen := got.all()
			if len(seen) != 20 || slices.ContainsFunc(seen, func(s string) bool { return !strings.HasPrefix(s, "0 ch there") }) {
				t.Errorf("messages to a member that is there: %d of 20: %q", len(seen), seen)
			}
			b.Close() // which ends the connection: nothing is written into it afterwards
			elapse(2 * lastDelay)
		}
		a.Close()
	})
}

// A message that was read from a connection goes before those of the next one.
func TestPublishedMessagesOfTwoConnectionsKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		first := make(chan struct{})
		got := board{wait: first}
		b := n.member(2, got.listens)
		serve(t, b, n.listen("b"))
		var conns [2]net.Conn
		for i := range conns {
			conn, err := n.dial(t.Context(), "b")
			if err != nil {
				t.Fatal(err)
			}
			conns[i] = conn
			go func() {
				h := (&hello{cluster: [16]byte{1, 2, 3}, from: 1, to: 2, follows: forPublished}).encode()
				_, _ = conn.Write(h)
				_, _ = conn.Read(make([]byte, 1))
				_, _ = conn.Write([]byte{8, 0, 0, 0, 0, 2, 0, 0, 0, 'c', 'h', byte('1' + i)})
			}()
			synctest.Wait()
		}
		if seen := got.all(); len(seen) > 0 {
			t.Errorf("got %q before the first one", seen)
		}
		close(first)
		synctest.Wait()
		if seen := got.all(); !slices.Equal(seen, []string{"0 ch 1 1", "0 ch 2 1"}) {
			t.Errorf("got %q", seen)
		}
		if _, err := conns[0].Write([]byte{1}); err == nil {
			t.Error("the first connection is still there")
		}
		b.Close()
	})
}

// Garbage among messages of channels ends its connection, and says why.
func TestGarbageAmongPublishedMessagesEndsItsConnection(t *testing.T) {
	frame := func(b ...byte) []byte { return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...) }
	for name, c := range map[string]struct {
		bytes []byte
		want  string
		deaf  bool
	}{
		"a short frame":   {bytes: frame(0, 0, 0, 0), want: "in a frame of 4 bytes"},
		"a long channel":  {bytes: frame(0, 3, 0, 0, 0, 'c', 'h'), want: "a channel of 3 bytes"},
		"a huge channel":  {bytes: frame(0, 0xff, 0xff, 0xff, 0xff), want: "a channel of 4294967295 bytes"},
		"a huge frame":    {bytes: []byte{0xff, 0xff, 0xff, 0xff}, want: "is too long"},
		"a frame cut off": {bytes: frame(0, 0, 0, 0, 0)[:6], want: "ends after 2 of 5"},
		"no use for it":   {bytes: frame(0, 0, 0, 0, 0), want: "are not taken here", deaf: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := &network{there: map[string]*listener{}}
			var got board
			b := n.member(2, got.listens)
			if c.deaf {
				b.ReceivePublished = nil
			}
			serve(t, b, n.listen("b"))
			conn, err := n.dial(context.Background(), "b")
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				h := (&hello{cluster: [16]byte{1, 2, 3}, from: 1, to: 2, follows: forPublished}).encode()
				_, _ = conn.Write(h)
				_, _ = conn.Read(make([]byte, 1))
				_, _ = conn.Write(c.bytes)
				conn.Close()
			}()
			synctest.Wait()
			if !b.logged(c.want) || len(got.all()) > 0 {
				t.Errorf("%s: logged %q, want %q; %d messages", name, b.log, c.want, len(got.all()))
			}
			b.Close()
		})
	}
}
