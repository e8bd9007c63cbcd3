package service

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/cmd/vigil-session/config"
	"github.com/vigildb/vigil/cmd/vigil-session/internal/rig"
	"github.com/vigildb/vigil/cmd/vigil-session/wire"
	"github.com/vigildb/vigil/server"
)

func viewed(thisMinute bool, total int, activity string, unique int, before bool) string {
	return fmt.Sprintf(`{"activityThisMinute":%t,"totalPages":%d,"activity":[%s],"uniquePages":%d,"previouslyVisited":%t}`,
		thisMinute, total, activity, unique, before)
}

func TestPageViewsAreCounted(t *testing.T) {
	s := perform(t, testConfig(), Options{})
	s.ask(wire.PageViewed, "s", "/", viewed(false, 1, "0,0,0,0,0", 1, false))
	s.ask(wire.PageViewed, "s", "/", viewed(true, 2, "0,0,0,0,0", 1, true))
	s.clock.Add(1)
	s.ask(wire.PageViewed, "s", "/added/tv?from=mail#top", viewed(false, 3, "0,0,0,0,1", 2, false))
	s.clock.Add(3)
	s.ask(wire.PageViewed, "s", "http://shop.example/added/tv", viewed(false, 4, "0,1,1,0,0", 2, true))
	s.clock.Add(5)
	s.ask(wire.PageViewed, "s", "/", viewed(false, 5, "1,0,0,0,0", 2, true))
	s.clock.Add(6)
	s.ask(wire.PageViewed, "s", "/", viewed(false, 6, "0,0,0,0,0", 2, true))
	s.ask(wire.PageViewed, "other", "/", viewed(false, 1, "0,0,0,0,0", 1, false))
}

// TestFilterDecidesWhetherAPageWasSeen takes filter and HyperLogLog away in turn: the
// other would say the opposite.
func TestFilterDecidesWhetherAPageWasSeen(t *testing.T) {
	s := perform(t, testConfig(), Options{})
	s.ask(wire.PageViewed, "s", "/", viewed(false, 1, "0,0,0,0,0", 1, false))
	if err := s.rdb.Del(t.Context(), "page-bloom:s").Err(); err != nil {
		t.Fatal(err)
	}
	s.ask(wire.PageViewed, "s", "/", viewed(true, 2, "0,0,0,0,0", 1, false))
	if err := s.rdb.Del(t.Context(), "sess-page-hll:s").Err(); err != nil {
		t.Fatal(err)
	}
	s.ask(wire.PageViewed, "s", "/", viewed(true, 3, "0,0,0,0,0", 1, true))
}

func TestPageViewLeavesTheDemosKeys(t *testing.T) {
	s := perform(t, testConfig(), Options{})
	s.ask(wire.PageViewed, "s", "/a", viewed(false, 1, "0,0,0,0,0", 1, false))
	ctx := t.Context()
	if n, err := s.rdb.Get(ctx, "total-pages:s").Int(); n != 1 || err != nil {
		t.Errorf("total-pages: got %d, %v", n, err)
	}
	if n, err := s.rdb.PFCount(ctx, "sess-page-hll:s").Result(); n != 1 || err != nil {
		t.Errorf("sess-page-hll: got %d, %v", n, err)
	}
	if ok, err := s.rdb.BFExists(ctx, "page-bloom:s", "/a").Result(); !ok || err != nil {
		t.Errorf("page-bloom: got %t, %v", ok, err)
	}
	minute := int64(noon.Sub(time.Date(2018, 4, 1, 0, 0, 0, 0, time.UTC)).Minutes())
	if bit, err := s.rdb.GetBit(ctx, "activity:s", minute).Result(); bit != 1 || err != nil {
		t.Errorf("activity, minute %d: got %d, %v", minute, bit, err)
	}
}

func TestMinutesBeforeTheEpochAreQuiet(t *testing.T) {
	c := testConfig()
	c.Epoch.Time = noon
	s := perform(t, c, Options{})
	for _, step := range []struct {
		minutes int64
		want    string
	}{
		{0, viewed(false, 1, "0,0,0,0,0", 1, false)},
		{2, viewed(false, 2, "0,0,0,1,0", 1, true)},
		{2, viewed(false, 3, "0,1,0,1,0", 1, true)},
		{-9, viewed(true, 4, "0,0,0,0,0", 1, true)}, // a clock that was set back
	} {
		s.clock.Add(step.minutes)
		s.ask(wire.PageViewed, "s", "/", step.want)
	}
}

func TestComboNeedsAllItsPages(t *testing.T) {
	c := testConfig()
	c.Combos = append(c.Combos, config.Combo{Name: "tea", Pages: []string{"/pot"}}, config.Combo{Name: "empty"})
	s := perform(t, c, Options{})
	s.ask(wire.Combo, "s", "1", `0`)
	s.ask(wire.PageViewed, "s", "/added/tv", viewed(false, 1, "0,0,0,0,0", 1, false))
	s.ask(wire.Combo, "s", "1", `0`)
	s.ask(wire.PageViewed, "s", "/added/tv-mount", viewed(true, 2, "0,0,0,0,0", 2, false))
	for _, payload := range []string{"1", "", "anything", "hdmi-cable", "[]"} {
		s.ask(wire.Combo, "s", payload, `1`)
	}
	s.ask(wire.Combo, "s", "tea", `0`)
	s.ask(wire.Combo, "s", "empty", `"[]"`)
	s.ask(wire.Combo, "other", "1", `0`)
}

func TestComboWithoutPagesIsTextOfAnEmptyList(t *testing.T) {
	c := testConfig()
	c.Combos = nil
	s := perform(t, c, Options{})
	s.ask(wire.Combo, "s", "1", `"[]"`)
}

func TestNotificationsHaveTheFormOfTheDemo(t *testing.T) {
	s := perform(t, testConfig(), Options{})
	s.ask(wire.Notifications, "s", `["a <b> & c","ü"]`,
		`"[{\"text\":\"a <b> & c\",\"seen\":true,\"link\":\"?seen=a <b> & c\"},{\"text\":\"ü\",\"seen\":true,\"link\":\"?seen=ü\"}]"`)
	s.ask(wire.MarkNotificationSeen, "s", "a <b> & c", `"a <b> & c"`)
	s.ask(wire.Notifications, "s", `["a <b> & c","ü"]`,
		`"[{\"text\":\"a <b> & c\",\"seen\":false,\"link\":\"?seen=a <b> & c\"},{\"text\":\"ü\",\"seen\":true,\"link\":\"?seen=ü\"}]"`)
	s.ask(wire.Notifications, "s", `[]`, `"[]"`)
	s.ask(wire.Notifications, "other", `["ü"]`, `"[{\"text\":\"ü\",\"seen\":true,\"link\":\"?seen=ü\"}]"`)
}

func TestNotificationsSayUnreadInTheFormOfVigil(t *testing.T) {
	c := testConfig()
	c.Wire = config.Vigil
	s := perform(t, c, Options{})
	s.ask(wire.MarkNotificationSeen, "s", "a&b", `"a&b"`)
	s.ask(wire.Notifications, "s", `["a&b","c"]`,
		`"[{\"text\":\"a&b\",\"seen\":false,\"link\":\"?seen=a%26b\",\"unread\":false},{\"text\":\"c\",\"seen\":true,\"link\":\"?seen=c\",\"unread\":true}]"`)
}

func TestFeaturedPagesAreThoseNotVisited(t *testing.T) {
	s := perform(t, testConfig(), Options{})
	s.ask(wire.FeaturedPages, "s", `["/c","/a","/b"]`, `"[\"/c\",\"/a\",\"/b\"]"`)
	s.ask(wire.PageViewed, "s", "/a", viewed(false, 1, "0,0,0,0,0", 1, false))
	s.ask(wire.FeaturedPages, "s", `["/c","/a","/b"]`, `"[\"/c\",\"/b\"]"`)
	s.ask(wire.FeaturedPages, "s", `["/a"]`, `"[]"`)
	s.ask(wire.FeaturedPages, "s", `[]`, `"[]"`)
}

func TestEmptyPayloadStandsForTheConfiguredTexts(t *testing.T) {
	c := testConfig()
	c.Featured, c.Notifications = []string{"/x"}, []string{"y"}
	s := perform(t, c, Options{})
	s.ask(wire.FeaturedPages, "s", "", `"[\"/x\"]"`)
	s.ask(wire.Notifications, "s", "", `"[{\"text\":\"y\",\"seen\":true,\"link\":\"?seen=y\"}]"`)
}

func TestServerWithoutFiltersIsAskedForNone(t *testing.T) {
	c := testConfig()
	c.Filters = false
	s := perform(t, c, Options{})
	s.ask(wire.PageViewed, "s", "/added/tv", viewed(false, 1, "0,0,0,0,0", 1, false))
	s.ask(wire.PageViewed, "s", "/added/tv", viewed(true, 2, "0,0,0,0,0", 1, true))
	s.ask(wire.PageViewed, "s", "/added/tv-mount", viewed(true, 3, "0,0,0,0,0", 2, false))
	s.ask(wire.Combo, "s", "1", `0`)
	s.ask(wire.FeaturedPages, "s", `["/added/tv"]`, `"[\"/added/tv\"]"`)
	s.ask(wire.MarkNotificationSeen, "s", "n", `"n"`)
	s.ask(wire.Notifications, "s", `["n"]`, `"[{\"text\":\"n\",\"seen\":true,\"link\":\"?seen=n\"}]"`)
	stats, err := s.rdb.Info(t.Context(), "commandstats").Result()
	if err != nil || strings.Contains(stats, "cmdstat_bf.") {
		t.Errorf("BF commands were sent: %v\n%s", err, stats)
	}
}

func TestKeysOfASessionShareATTLThatPageViewsRenew(t *testing.T) {
	clock := &rig.Clock{}
	c := testConfig()
	c.SessionTTL.Duration = time.Hour
	s := performOn(t, rig.Start(t, server.Options{Seed: 1, Clock: clock}), c, Options{})
	keys := []string{"total-pages:s", "sess-page-hll:s", "activity:s", "page-bloom:s", "notification:s"}
	exist := func(want int64) {
		t.Helper()
		if n, err := s.rdb.Exists(t.Context(), keys...).Result(); n != want || err != nil {
			t.Errorf("keys: got %d, %v; want %d", n, err, want)
		}
	}
	s.ask(wire.MarkNotificationSeen, "s", "n", `"n"`)
	s.ask(wire.PageViewed, "s", "/", viewed(false, 1, "0,0,0,0,0", 1, false))
	clock.Advance(40 * time.Minute)
	exist(5)
	s.ask(wire.PageViewed, "s", "/", viewed(true, 2, "0,0,0,0,0", 1, true)) // the microservice's clock stands
	clock.Advance(40 * time.Minute)
	exist(5)
	clock.Advance(21 * time.Minute)
	exist(0)
	// A session that only reads notifications is forgotten as well.
	s.ask(wire.MarkNotificationSeen, "s", "n", `"n"`)
	clock.Advance(61 * time.Minute)
	exist(0)
}

func TestSessionsLastForEverWithoutATTL(t *testing.T) {
	c := testConfig()
	c.SessionTTL.Duration = 0
	s := perform(t, c, Options{})
	s.ask(wire.MarkNotificationSeen, "s", "n", `"n"`)
	s.ask(wire.PageViewed, "s", "/", viewed(false, 1, "0,0,0,0,0", 1, false))
	for _, key := range []string{"total-pages:s", "sess-page-hll:s", "activity:s", "page-bloom:s", "notification:s"} {
		if ttl, err := s.rdb.TTL(t.Context(), key).Result(); ttl != -1 || err != nil {
			t.Errorf("%s: got TTL %v, %v; want none", key, ttl, err)
		}
	}
}

func TestAnswerThatNobodyTakesExpires(t *testing.T) {
	clock := &rig.Clock{}
	s := performOn(t, rig.Start(t, server.Options{Seed: 1, Clock: clock}), config.Default(), Options{})
	r := wire.Request{Command: wire.Combo, Session: "s", ID: "r"}
	s.publish(r, "1")
	s.expectCount(wire.Combo, answered, 1)
	ttl, err := s.rdb.PTTL(t.Context(), wire.Names{}.List(r)).Result()
	if err != nil || ttl > 500*time.Millisecond || ttl == -1 {
		t.Errorf("TTL of an answer: got %v, %v; want 500 ms at most", ttl, err)
	}
	clock.Advance(500 * time.Millisecond)
	if got := s.answers(r); len(got) != 0 {
		t.Errorf("after 500 ms: got %q, want nothing", got)
	}
}

func TestPathnameIsTheDemos(t *testing.T) {
	for page, want := range map[string]string{
		"/": "/", "/added/tv": "/added/tv", "/a?b=/c": "/a", "/a#b": "/a", "/a%20b?c": "/a%20b", "/a b": "/a%20b", "//x/y": "//x/y",
		"http://h": "/", "http://h/": "/", "http://h:80/p/q?x#y": "/p/q", "https://h?x": "/", "p/q": "p/q", "/?": "/", "/%zz": "/%zz",
		"/a\tb\nc\rd": "/a%09b%0Ac%0Dd", " /a \n": "/a", "/a\\b?c\\d": "/a/b", "http://h/a b": "/a%20b", "/a|b{c}^`\"<>'ü;": "/a|b{c}^`\"<>'ü;",
	} {
		if got, err := pathname(page); got != want || err != nil {
			t.Errorf("%q: got %q, %v; want %q", page, got, err, want)
		}
	}
	for _, page := range []string{"", "?a", "#a", "http://h\x00/", "http://[/", "mailto:a@b"} {
		if got, err := pathname(page); !errors.Is(err, errPayload) {
			t.Errorf("%q: got %q, %v; want errPayload", page, got, err)
		}
	}
}
