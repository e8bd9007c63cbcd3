package recipes

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// visits makes three visits with the cookie of the first, and one after out, and
// returns what they showed.
func visits(t *testing.T, handler http.Handler) string {
	t.Helper()
	var cookie, shown string
	for _, path := range []string{"/", "/", "/", "/out", "/"} {
		r := httptest.NewRequest("GET", path, nil)
		if cookie != "" {
			r.Header.Set("Cookie", cookie)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if c := w.Result().Cookies(); cookie == "" && len(c) > 0 {
			cookie = c[0].Name + "=" + c[0].Value
		}
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		shown += w.Body.String()
	}
	return shown
}

// lives checks the one key with a prefix: it goes after ttl, not much sooner.
func lives(t *testing.T, rdb *redis.Client, clock *testClock, prefix string, ttl time.Duration) {
	t.Helper()
	keys, err := rdb.Keys(t.Context(), prefix+"*").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("sessions: %v, %v; want one", keys, err)
	}
	if got := rdb.TTL(t.Context(), keys[0]).Val(); got > ttl || got < ttl-time.Minute {
		t.Errorf("the session lives %v, want %v", got, ttl)
	}
	clock.advance(ttl)
	if n := rdb.Exists(t.Context(), keys[0]).Val(); n != 0 {
		t.Error("the session does not end")
	}
}

func TestSCSKeepsItsSessions(t *testing.T) {
	rdb, clock := start(t)
	sessions := SCS(rdb)
	shown := visits(t, sessions.LoadAndSave(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/out" {
			if err := sessions.Destroy(r.Context()); err != nil {
				t.Error(err)
			}
			return
		}
		n := sessions.GetInt(r.Context(), "views") + 1
		sessions.Put(r.Context(), "views", n)
		fmt.Fprint(w, n)
	})))
	if shown != "1231" {
		t.Errorf("the visits showed %s, want 1231", shown)
	}
	lives(t, rdb, clock, "scs:session:", 30*time.Minute)
}

func TestGorillaKeepsItsSessions(t *testing.T) {
	rdb, clock := start(t)
	store, err := Gorilla(rdb.Options().Addr, []byte("a secret of thirty-two bytes....."))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	shown := visits(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := store.Get(r, "app")
		if err != nil {
			t.Error(err)
		}
		n, _ := session.Values["views"].(int)
		session.Values["views"] = n + 1
		if r.URL.Path == "/out" {
			session.Options.MaxAge = -1
		}
		if err := session.Save(r, w); err != nil {
			t.Error(err)
		}
		if r.URL.Path != "/out" {
			fmt.Fprint(w, n+1)
		}
	}))
	if shown != "1231" {
		t.Errorf("the visits showed %s, want 1231", shown)
	}
	lives(t, rdb, clock, "session_", 30*time.Minute)
}
