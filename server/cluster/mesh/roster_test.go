package mesh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// speak dials a member with a hello and returns the verdict.
func (n *network) speak(t *testing.T, h *hello) byte {
	t.Helper()
	conn, err := n.dial(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(h.encode()); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 1)
	if _, err := io.ReadFull(conn, reply); err != nil {
		t.Fatal(err)
	}
	return reply[0]
}

// A member is one process at one address, that of its latest start. Whoever has left is told so.
func TestAMemberIsOneProcessAtOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		var refused []string
		b := n.member(2, func(c *Config) {
			c.Refused = func(incoming bool, _ string, why error) { refused = append(refused, fmt.Sprint(incoming, " ", why)) }
		})
		serve(t, b, n.listen("b"))
		b.SetRoster(Roster{Peers: map[uint64]string{1: "a", 3: "c"}, Fixed: map[uint64]bool{1: true}, Former: map[uint64]bool{4: true}})
		for i, x := range []struct {
			from, to uint64
			follows  byte
			origin   Origin
			want     byte
		}{
			{1, 2, forMessages, Origin{"a", 5, 50}, welcome},
			{1, 2, forPublished, Origin{"a", 5, 50}, welcome},
			{1, 2, forMessages, Origin{"x", 6, 60}, elsewhere},
			{1, 2, forMessages, Origin{"a", 5, 51}, copied}, // from a copy of the directory
			{1, 2, forMessages, Origin{"a", 4, 40}, copied}, // an older one
			{1, 2, forMessages, Origin{"a", 6, 60}, welcome},
			{1, 2, forMessages, Origin{"a", 5, 50}, copied}, // the one that was there before
			{3, 2, forMessages, Origin{"anywhere", 1, 1}, welcome},
			{4, 2, forMessages, Origin{"d", 1, 1}, formerMember},
			{5, 2, forMessages, Origin{"e", 1, 1}, unknownMember},
			{2, 2, forMessages, Origin{"b", 1, 1}, sameMember},
			{0, 2, forMessages, Origin{}, unknownMember},
			{1, 0, forMessages, Origin{"a", 6, 60}, otherMember},
			{1, 2, 9, Origin{"a", 6, 60}, unknownMember},
			{0, 0, forRequest, Origin{}, welcome},
			{4, 2, forRequest, Origin{}, welcome}, // whoever has left may ask
			{0, 3, forRequest, Origin{}, otherMember},
		} {
			if got := n.speak(t, &hello{cluster: b.Cluster, from: x.from, to: x.to, follows: x.follows, origin: x.origin}); got != x.want {
				t.Errorf("%d: %+v: %v, want %v", i, x, verdicts[got], verdicts[x.want])
			}
			synctest.Wait()
		}
		if got := b.Told(3).Address; got != "anywhere" {
			t.Errorf("member 3 is at %q", got)
		}
		if len(refused) != 11 || refused[0] != `true refused member 1 at "x": the group knows the member at another address` {
			t.Errorf("%d refusals: %q", len(refused), refused)
		}
		b.Close()
	})
}

// Connections that were made before the group had agreed on an address end with that.
func TestAgreedAddressEndsConnectionsFromElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		a, b := n.member(1, func(c *Config) { c.Self.Address = "x" }), n.member(2, nil)
		serve(t, b, n.listen("b"))
		a.Send(message(1, 2, 1, 0))
		synctest.Wait()
		if b.received() != 1 {
			t.Fatalf("%d messages", b.received())
		}
		b.SetRoster(Roster{Peers: map[uint64]string{1: "a"}, Fixed: map[uint64]bool{1: true}})
		for range 20 {
			a.Send(message(1, 2, 2, 0))
			elapse(time.Second)
		}
		if b.received() > 2 || !a.logged("the group knows the member at another address") {
			t.Errorf("%d messages; logged %q", b.received(), a.log)
		}
		a.Close()
		b.Close()
	})
}

// A request gets its reply, also from a mesh without an id, and what is too long is refused.
func TestRequestsGetReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		b := n.member(2, func(c *Config) {
			c.Respond = func(_ context.Context, request []byte) []byte {
				if string(request) == "long" {
					return make([]byte, maxRequest+1)
				}
				return append([]byte("re: "), request...)
			}
		})
		serve(t, b, n.listen("b"))
		a := n.member(0, func(c *Config) { c.Peers = nil })
		for to := range uint64(3) {
			got, err := a.Ask(t.Context(), "b", to, []byte("hello"))
			if to == 1 {
				if !errors.Is(err, ErrOther) {
					t.Errorf("for another member: %q, %v", got, err)
				}
			} else if err != nil || string(got) != "re: hello" {
				t.Errorf("got %q, %v", got, err)
			}
		}
		if _, err := a.Ask(t.Context(), "b", 2, make([]byte, maxRequest+1)); err == nil {
			t.Error("a request that is too long was sent")
		}
		if _, err := a.Ask(t.Context(), "b", 2, []byte("long")); err == nil {
			t.Error("a reply that is too long has come")
		}
		if _, err := a.Ask(t.Context(), "nowhere", 2, nil); err == nil {
			t.Error("nobody has replied")
		}
		c := n.member(3, nil)
		serve(t, c, n.listen("c"))
		if got, err := a.Ask(t.Context(), "c", 3, []byte("x")); err == nil {
			t.Errorf("one that takes no requests: %q", got)
		}
		// A peer that announces a long request and sends nothing more is disconnected.
		conn, err := n.dial(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write((&hello{cluster: b.Cluster, follows: forRequest}).encode())
		_, _ = io.ReadFull(conn, make([]byte, 1))
		_, _ = conn.Write([]byte{0xff, 0xff, 0, 0})
		if _, err := io.ReadFull(conn, make([]byte, 1)); err == nil {
			t.Error("half a request got a reply")
		}
		for _, m := range []*member{a, b, c} {
			m.Close()
		}
	})
}
