package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/cmd/vigil-session/config"
	"github.com/vigildb/vigil/cmd/vigil-session/internal/rig"
	"github.com/vigildb/vigil/cmd/vigil-session/webtier"
	"github.com/vigildb/vigil/cmd/vigil-session/wire"
	"github.com/vigildb/vigil/server"
)

func view(session string, id int) wire.Request {
	return wire.Request{Command: wire.PageViewed, Session: session, ID: fmt.Sprint(id)}
}

func TestPageViewsOfASessionDoNotOvertakeEachOther(t *testing.T) {
	c := testConfig()
	c.Limits.PerSession = 1000
	s := perform(t, c, Options{})
	const views, sessions = 200, 5
	for i := range views {
		for session := range sessions {
			s.publish(view(fmt.Sprint(session), i), "/")
		}
	}
	for session := range sessions {
		for i := range views {
			list := wire.Names{}.List(view(fmt.Sprint(session), i))
			got, err := s.rdb.BLPop(t.Context(), patient, list).Result()
			var v wire.PageView
			if err != nil || json.Unmarshal([]byte(got[1]), &v) != nil || v.TotalPages != int64(i+1) {
				t.Fatalf("view %d of session %d: got %v, %v; want totalPages %d", i, session, got, err, i+1)
			}
		}
	}
}

func TestEachVisitorGetsHisOwnAnswers(t *testing.T) {
	s := perform(t, testConfig(), Options{})
	var wg sync.WaitGroup
	for visitor := range 40 {
		wg.Go(func() {
			session := fmt.Sprint("visitor", visitor)
			for page := range 10 {
				text := fmt.Sprint(session, " sees ", page)
				if got, err := s.web.Ask(t.Context(), wire.MarkNotificationSeen, session, text); string(got) != `"`+text+`"` || err != nil {
					t.Errorf("%s: got %s, %v", text, got, err)
				}
				if v, err := s.web.PageView(t.Context(), session, "/"); v.TotalPages != int64(page+1) || err != nil {
					t.Errorf("page %d of %s: got %+v, %v", page, session, v, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestNonsenseIsCountedAndAnswersNobody(t *testing.T) {
	c := testConfig()
	c.Limits.Payload, c.Limits.Items = 1000, 3
	s := perform(t, c, Options{})
	for _, channel := range []string{
		"ss:pageview:s:r:x", "ss:combo:s::", "ss:combo:s:r:",
		"ss:pageview:s:" + strings.Repeat("r", wire.MaxID+1), "ss:pageview:" + strings.Repeat("s", 1<<20) + ":r",
	} {
		if err := s.rdb.Publish(t.Context(), channel, "/").Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range []struct{ command, payload string }{
		{wire.Notifications, "not JSON"}, {wire.Notifications, `{"a":1}`}, {wire.Notifications, `null`}, {wire.Notifications, `[1]`},
		{wire.Notifications, `["a","b","c","d"]`}, {wire.Notifications, `["` + strings.Repeat("x", 1000) + `"]`},
		{wire.FeaturedPages, "["}, {wire.FeaturedPages, `"a"`},
		{wire.PageViewed, ""}, {wire.PageViewed, "?"}, {wire.PageViewed, "/" + strings.Repeat("x", 1000)},
	} {
		s.publish(wire.Request{Command: r.command, Session: "s", ID: "r"}, r.payload)
	}
	s.ask(wire.PageViewed, "s", "/", viewed(false, 1, "0,0,0,0,0", 1, false)) // comes after all of these
	s.expectCount(wire.Notifications, refused, 6)
	s.expectCount(wire.FeaturedPages, refused, 2)
	s.expectCount(wire.PageViewed, refused, 3)
	s.until("5 malformed channels", func() bool { return metricValue(t, s, "vigil_session_malformed_total") == 5 })
	if keys, err := s.rdb.Keys(t.Context(), "async:*").Result(); len(keys) != 0 || err != nil {
		t.Errorf("answers to nonsense: %q, %v", keys, err)
	}
}

func TestUnknownCommandIsCounted(t *testing.T) {
	s := perform(t, testConfig(), Options{})
	s.service.hear("ss:delete-everything:s:r", "")
	if got := metricValue(t, s, "vigil_session_malformed_total"); got != 1 {
		t.Errorf("got %v, want 1", got)
	}
}

func TestFloodOfNonsenseDoesNotFloodTheLog(t *testing.T) {
	s := perform(t, testConfig(), Options{})
	for range 5000 {
		s.service.hear("ss:nonsense", "")
	}
	if n := s.log.lines("without a request"); n == 0 || n > 100 {
		t.Errorf("%d lines for 5,000 messages", n)
	}
	if got := metricValue(t, s, "vigil_session_malformed_total"); got != 5000 {
		t.Errorf("counted %v, want 5000", got)
	}
}

func TestForeignKeyFailsItsSessionOnly(t *testing.T) {
	s := perform(t, testConfig(), Options{})
	s.rdb.LPush(t.Context(), "total-pages:s", "not a counter")
	s.publish(view("s", 1), "/")
	s.expectCount(wire.PageViewed, failed, 1)
	if got := s.answers(view("s", 1)); len(got) != 0 {
		t.Errorf("answer made of an error: %q", got)
	}
	s.ask(wire.PageViewed, "other", "/", viewed(false, 1, "0,0,0,0,0", 1, false))
	if n := s.log.lines("WRONGTYPE"); n != 1 {
		t.Errorf("the log tells of it %d times, want once\n%s", n, s.log)
	}
}

// hold keeps one request in the pipeline of the only worker, so that what
// comes next waits in its queue.
func (s *stage) hold() {
	s.t.Helper()
	s.pipes.close()
	s.publish(wire.Request{Command: wire.Combo, Session: "holder", ID: "0"}, "1")
	s.until("held", func() bool { return s.pipes.held.Load() > 0 })
}

func TestFullQueueDropsTheNewestAndCountsThem(t *testing.T) {
	c := testConfig()
	c.Limits.Workers, c.Limits.Queue, c.Limits.PerSession = 1, 20, 5
	s := perform(t, c, Options{})
	s.hold()
	for i := range 8 {
		s.publish(view("flood", i), "/")
	}
	for i := range 30 {
		s.publish(view(fmt.Sprint("guest", i), i), "/")
	}
	s.until("33 dropped or waiting", func() bool {
		return s.count(wire.PageViewed, full)+s.count(wire.PageViewed, flood)+s.service.waiting() == 38
	})
	s.pipes.open()
	s.expectCount(wire.PageViewed, answered, 20)
	s.expectCount(wire.PageViewed, flood, 3)
	s.expectCount(wire.PageViewed, full, 15)
	for i := range 8 {
		if got := len(s.answers(view("flood", i))); got != 1 && i < 5 {
			t.Errorf("view %d of the flood: %d answers, want 1", i, got)
		} else if got != 0 && i >= 5 {
			t.Errorf("view %d of the flood was dropped, and answered", i)
		}
	}
	s.ask(wire.PageViewed, "flood", "/", viewed(true, 6, "0,0,0,0,0", 1, true))
}

func TestRequestOlderThanTheBudgetIsCountedButNotAnswered(t *testing.T) {
	c := testConfig()
	c.Limits.Workers = 1
	s := perform(t, c, Options{})
	s.hold()
	s.publish(view("s", 1), "/")
	s.publish(wire.Request{Command: wire.Combo, Session: "s", ID: "1"}, "1")
	s.until("both wait", func() bool { return s.service.waiting() == 2 })
	s.clock.Add(2) // minutes; the budget is one
	s.pipes.open()
	s.expectCount(wire.PageViewed, late, 1)
	s.expectCount(wire.Combo, late, 2)
	if keys, err := s.rdb.Keys(t.Context(), "async:*").Result(); len(keys) != 0 || err != nil {
		t.Errorf("late answers: %q, %v", keys, err)
	}
	s.ask(wire.PageViewed, "s", "/", viewed(true, 2, "0,0,0,0,0", 1, true))
}

func TestStopAnswersWhatWasPublishedBefore(t *testing.T) {
	c := testConfig()
	c.Limits.Workers = 2
	s := perform(t, c, Options{})
	const views = 300
	for i := range views {
		s.publish(view(fmt.Sprint("s", i), i), "/")
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	s.expectCount(wire.PageViewed, answered, views)
	if _, err := s.web.PageView(t.Context(), "s", "/"); !errors.Is(err, webtier.ErrNoSubscriber) {
		t.Errorf("after the stop: got %v, want ErrNoSubscriber", err)
	}
}

func TestInstancesShareTheSessionsByGlob(t *testing.T) {
	srv := rig.Start(t, server.Options{Seed: 1})
	low := performOn(t, srv, testConfig(), Options{Glob: "[a-m]*"})
	high := performOn(t, srv, testConfig(), Options{Glob: "[n-z]*"})
	for _, session := range []string{"anna", "mia", "nora", "zoe", "zoe"} {
		if _, err := low.web.PageView(t.Context(), session, "/"); err != nil {
			t.Errorf("%s: %v", session, err)
		}
	}
	low.expectCount(wire.PageViewed, answered, 2)
	high.expectCount(wire.PageViewed, answered, 3)
	if _, err := low.web.PageView(t.Context(), "Anna", "/"); !errors.Is(err, webtier.ErrNoSubscriber) {
		t.Errorf("session of nobody: got %v, want ErrNoSubscriber", err)
	}
	if err := low.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := low.web.PageView(t.Context(), "anna", "/"); !errors.Is(err, webtier.ErrNoSubscriber) {
		t.Errorf("after its instance stopped: got %v, want ErrNoSubscriber", err)
	}
	if v, err := high.web.PageView(t.Context(), "zoe", "/"); v.TotalPages != 3 || err != nil {
		t.Errorf("the other instance: got %+v, %v", v, err)
	}
}

func TestServiceSurvivesARestartOfTheServer(t *testing.T) {
	s := perform(t, testConfig(), Options{})
	s.ask(wire.PageViewed, "s", "/", viewed(false, 1, "0,0,0,0,0", 1, false))
	s.server.Stop(t)
	s.until("not ready", func() bool { return !s.service.Ready() })
	if _, err := s.web.PageView(t.Context(), "s", "/"); !errors.Is(err, webtier.ErrStore) {
		t.Errorf("while the server is down: got %v, want ErrStore", err)
	}
	s.server.Restart(t, server.Options{Seed: 2})
	s.until("ready again", s.service.Ready)
	s.ask(wire.PageViewed, "s", "/", viewed(false, 1, "0,0,0,0,0", 1, false)) // a server in memory forgot
	if n := metricValue(t, s, "vigil_session_subscriptions_total"); n != 2 {
		t.Errorf("subscribed %v times, want 2", n)
	}
}

func TestServiceWaitsForAServerThatIsNotThereYet(t *testing.T) {
	srv := rig.Start(t, server.Options{Seed: 1})
	srv.Stop(t)
	rdb := redis.NewClient(ClientOptions(&redis.Options{Network: "unix", Addr: srv.Addr}, 1))
	defer rdb.Close()
	tries := make(chan struct{}, 1000) // more than there is time for
	s := New(rdb, testConfig(), Options{Backoff: func(int) time.Duration {
		tries <- struct{}{}
		return time.Millisecond
	}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-tries
	<-tries
	srv.Restart(t, server.Options{Seed: 1})
	for !s.Ready() {
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestServerWithoutFiltersIsRefusedAtTheStart(t *testing.T) {
	srv := rig.Start(t, server.Options{Seed: 1})
	for _, filters := range []bool{true, false} {
		rdb := redis.NewClient(ClientOptions(&redis.Options{Network: "unix", Addr: srv.Addr}, 1))
		defer rdb.Close()
		hook := &gate{}
		hook.noModule.Store(true)
		rdb.AddHook(hook)
		c := testConfig()
		c.Filters = filters
		s := New(rdb, c, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		if filters {
			if err := <-ended; !errors.Is(err, ErrNoFilters) {
				t.Errorf("got %v, want ErrNoFilters", err)
			}
		} else {
			for !s.Ready() {
				<-time.After(time.Millisecond)
			}
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("without filters: %v", err)
			}
		}
		cancel()
	}
}

func TestReloadTakesEffectAndKeepsWhatNeedsARestart(t *testing.T) {
	s := perform(t, testConfig(), Options{})
	s.ask(wire.Combo, "s", "1", `0`)
	c := testConfig()
	c.Combos = []config.Combo{{Name: "empty"}}
	if kept := s.service.Reload(c); len(kept) != 0 {
		t.Errorf("kept %q, want nothing", kept)
	}
	s.ask(wire.Combo, "s", "1", `"[]"`)
	c.Limits.PerSession = 3
	s.service.Reload(c)
	if got := s.service.queues[0].perSession; got != 3 {
		t.Errorf("%d may wait of a session, want 3", got)
	}
	c.Names.Channels, c.Limits.Workers, c.Limits.Queue = "other", 9, 9999
	if kept := s.service.Reload(c); !slices.Equal(kept, []string{"names", "limits.workers", "limits.queue"}) {
		t.Errorf("kept %q", kept)
	}
	s.ask(wire.Combo, "s", "1", `"[]"`) // on the old channel
}

// TestClientSendsNothingTwice: a MULTI that was sent again would count a page twice.
func TestClientSendsNothingTwice(t *testing.T) {
	for _, retries := range []int{0, 3} {
		if got := ClientOptions(&redis.Options{MaxRetries: retries}, 4).MaxRetries; got != -1 {
			t.Errorf("of %d retries %d are left, want -1, which is none", retries, got)
		}
	}
}

func TestBackoffGrowsToItsBound(t *testing.T) {
	for n, most := range map[int]time.Duration{0: 50 * time.Millisecond, 3: 400 * time.Millisecond, 7: 5 * time.Second, 1000: 5 * time.Second} {
		for range 100 {
			if got := backoff(n); got < most/2 || got > most {
				t.Fatalf("failure %d: got %v, want %v to %v", n, got, most/2, most)
			}
		}
	}
}

// FuzzHear: whatever is published, the microservice goes on, and writes answers
// on lists of the session and request that the channel names only.
func FuzzHear(f *testing.F) {
	f.Add("ss:pageview:s:r", "/added/tv")
	f.Add("ss:notifications:s:r", `["a"]`)
	f.Add("ss:featuredpages:s:r", `["\ud800"]`)
	f.Add("ss:combo:s:r:x", "")
	f.Add("ss:mark-notification-seen:\x00:*", "\xff")
	f.Fuzz(func(t *testing.T, channel, payload string) {
		r, err := wire.Names{}.Parse(channel)
		if err != nil || plans[r.Command] == nil {
			return
		}
		set := newSettings(testConfig())
		w, err := plans[r.Command](set, message{Request: r, payload: payload}, noon)
		if err != nil {
			if !errors.Is(err, errPayload) {
				t.Errorf("%q %q: %v", channel, payload, err)
			}
			return
		}
		for _, call := range w.calls {
			if key := fmt.Sprint(call[1]); !strings.HasSuffix(key, ":"+r.Session) {
				t.Errorf("%q: call %q touches another session", channel, call)
			}
		}
		if len(w.calls) > 0 {
			// Replies that no server gives must not be answered with.
			if text, err := w.answer(make([]any, len(w.calls))); err == nil && r.Command != wire.MarkNotificationSeen {
				t.Errorf("%q: answer %s made of nothing", channel, text)
			}
		} else if text, err := w.answer(nil); err != nil || !json.Valid(text) {
			t.Errorf("%q %q: answer %s, %v", channel, payload, text, err)
		}
	})
}
