package webtier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/cmd/vigil-session/wire"
)

func TestAskReturnsTheAnswerToItsOwnRequest(t *testing.T) {
	s := start(t)
	// Every answer comes twice, and one for a request that nobody made with it.
	respond(t, s, func(ctx context.Context, rdb *redis.Client, r wire.Request, payload string) {
		push(ctx, t, rdb, wire.Request{Command: r.Command, Session: r.Session, ID: "foreign"}, "foreign")
		push(ctx, t, rdb, r, payload)
		push(ctx, t, rdb, r, payload+" again")
	})
	web, _ := dial(t, s, Options{Budget: patient})
	var wg sync.WaitGroup
	for visitor := range 8 {
		wg.Go(func() {
			for page := range 50 {
				want := fmt.Sprintf("%d of %d", page, visitor)
				got, err := web.Ask(t.Context(), "pageview", "same", want)
				if err != nil || string(got) != want && string(got) != want+" again" {
					t.Errorf("ask %q: got %q, %v", want, got, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestRequestIDsAreNeverTheSame(t *testing.T) {
	s := start(t)
	seen := make(chan string, 200)
	respond(t, s, func(ctx context.Context, rdb *redis.Client, r wire.Request, payload string) {
		seen <- r.ID
	})
	web, _ := dial(t, s, Options{Budget: patient})
	ids := map[string]bool{}
	for range 200 {
		if err := web.Tell(t.Context(), "pageview", "s", "/"); err != nil {
			t.Fatal(err)
		}
		id := <-seen
		if ids[id] || len(id) < 26 {
			t.Fatalf("id %q: short, or drawn before", id)
		}
		ids[id] = true
	}
}

func TestPageDegradesAtOnceWithoutASubscriber(t *testing.T) {
	web, _ := dial(t, start(t), Options{Budget: time.Hour})
	if _, err := web.Ask(t.Context(), "pageview", "s", "/"); !errors.Is(err, ErrNoSubscriber) || !errors.Is(err, ErrDegraded) {
		t.Errorf("Ask: got %v, want ErrNoSubscriber", err)
	}
	if err := web.Tell(t.Context(), "pageview", "s", "/"); !errors.Is(err, ErrNoSubscriber) {
		t.Errorf("Tell: got %v, want ErrNoSubscriber", err)
	}
}

func TestLateAnswerIsGivenToNobodyAndExpires(t *testing.T) {
	s := start(t)
	asked := make(chan wire.Request, 2)
	respond(t, s, func(_ context.Context, _ *redis.Client, r wire.Request, _ string) { asked <- r })
	web, rdb := dial(t, s, Options{Budget: 20 * time.Millisecond})
	if _, err := web.Ask(t.Context(), "pageview", "s", "/"); !errors.Is(err, ErrNoAnswer) {
		t.Fatalf("silent microservice: got %v, want ErrNoAnswer", err)
	}
	first := <-asked
	// The page has gone, but its BLPOP may still take what comes for it.
	for len(web.waiting) > 0 {
		<-time.After(time.Millisecond)
	}
	push(t.Context(), t, rdb, first, "late")
	if got, err := web.Ask(t.Context(), "pageview", "s", "/"); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("next request: got %q, %v; want ErrNoAnswer", got, err)
	}
	if second := <-asked; second.ID == first.ID {
		t.Errorf("both requests are called %q", first.ID)
	}
	if n, err := rdb.LLen(t.Context(), wire.Names{}.List(first)).Result(); n != 1 || err != nil {
		t.Errorf("late answer: %d on its list, %v; want 1, read by nobody", n, err)
	}
}

// TestListOfAMissedAnswerIsGivenAnExpiry: an answer may come between the end of the
// wait and the expiry, from a microservice that sets none.
func TestListOfAMissedAnswerIsGivenAnExpiry(t *testing.T) {
	lists := make(chan string, 2)
	silent := script(t, func(c net.Conn, got []byte) bool {
		words := strings.Split(string(got), "\r\n")
		reply := strings.Repeat("-ERR unknown command\r\n", bytes.Count(got, []byte("*")))
		switch {
		case len(words) > 6 && words[2] == "publish":
			reply = ":1\r\n"
		case len(words) > 6 && words[2] == "blpop":
			lists <- words[4]
			reply = "*-1\r\n"
		case len(words) > 6 && words[2] == "pexpire":
			lists <- words[4] + " " + words[6]
			reply = ":1\r\n"
		}
		_, err := c.Write([]byte(reply))
		return err == nil
	})
	rdb := redis.NewClient(Pool(&redis.Options{Addr: silent}, 1))
	defer rdb.Close()
	if _, err := New(rdb, Options{Budget: patient}).Ask(t.Context(), "pageview", "s", "/"); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("got %v, want ErrNoAnswer", err)
	}
	if len(lists) != 2 {
		t.Fatalf("%d commands about the list, want BLPOP and PEXPIRE", len(lists))
	}
	if waited, expires := <-lists, <-lists; expires != waited+" 500" {
		t.Errorf("waited for %q, and gave an expiry to %q", waited, expires)
	}
}

func TestPageDegradesWhenTheStoreIsDown(t *testing.T) {
	s := start(t)
	web, _ := dial(t, s, Options{Budget: patient})
	s.Stop(t)
	if _, err := web.Ask(t.Context(), "pageview", "s", "/"); !errors.Is(err, ErrStore) || !errors.Is(err, ErrDegraded) {
		t.Errorf("got %v, want ErrStore", err)
	}
}

func TestStuckStoreHoldsNoPageAndPilesNothingUp(t *testing.T) {
	stuck := script(t, func(net.Conn, []byte) bool { return true }) // takes everything, says nothing
	rdb := redis.NewClient(&redis.Options{Addr: stuck, MaxRetries: -1, ReadTimeout: time.Hour, DialTimeout: time.Hour})
	defer rdb.Close()
	web := New(rdb, Options{Budget: 10 * time.Millisecond, Waiting: 2})
	for i, want := range []error{ErrStore, ErrStore, ErrBusy, ErrBusy} {
		if _, err := web.Ask(t.Context(), "pageview", "s", "/"); !errors.Is(err, want) {
			t.Errorf("page %d: got %v, want %v", i, err, want)
		}
	}
}

func TestAskEndsWithItsContext(t *testing.T) {
	s := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	respond(t, s, func(context.Context, *redis.Client, wire.Request, string) { cancel() })
	web, _ := dial(t, s, Options{Budget: time.Hour})
	_, err := web.Ask(ctx, "pageview", "s", "/")
	if !errors.Is(err, context.Canceled) || !errors.Is(err, ErrDegraded) {
		t.Errorf("got %v, want ErrDegraded and context.Canceled", err)
	}
	s.Stop(t) // ends the wait that was left behind
}

func TestPageViewIsNeverPublishedTwice(t *testing.T) {
	var published atomic.Int64
	dying := script(t, func(c net.Conn, got []byte) bool {
		if !bytes.Contains(got, []byte("publish")) {
			_, err := c.Write([]byte(strings.Repeat("-ERR unknown command\r\n", bytes.Count(got, []byte("*")))))
			return err == nil
		}
		published.Add(1)
		return false // heard, but the reply is lost
	})
	rdb := redis.NewClient(&redis.Options{Addr: dying, Protocol: 2, MaxRetries: 5})
	defer rdb.Close()
	if err := New(rdb, Options{Budget: patient}).Tell(t.Context(), "pageview", "s", "/"); !errors.Is(err, ErrStore) {
		t.Errorf("got %v, want ErrStore", err)
	}
	if n := published.Load(); n != 1 {
		t.Errorf("published %d times, want once", n)
	}
}

func TestSessionsThatNoChannelCanNameAreRefused(t *testing.T) {
	web, _ := dial(t, start(t), Options{})
	for _, session := range []string{"", "a:b", ":", strings.Repeat("x", wire.MaxID+1)} {
		_, err := web.Ask(t.Context(), "pageview", session, "/")
		if !errors.Is(err, wire.ErrMalformed) || errors.Is(err, ErrDegraded) {
			t.Errorf("session %.10q: got %v, want ErrMalformed", session, err)
		}
	}
}

func TestFullPoolCostsAPageItsBudgetAtMost(t *testing.T) {
	s := start(t)
	respond(t, s, func(context.Context, *redis.Client, wire.Request, string) {})
	rdb := redis.NewClient(Pool(&redis.Options{Network: "unix", Addr: s.Addr}, 2))
	defer rdb.Close()
	web := New(rdb, Options{Budget: 50 * time.Millisecond})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := web.Ask(t.Context(), "pageview", "s", "/"); !errors.Is(err, ErrDegraded) {
				t.Errorf("got %v, want ErrDegraded", err)
			}
		})
	}
	wg.Wait()
}
