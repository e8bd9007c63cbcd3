package main

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSignInRenewsIDAndToken(t *testing.T) {
	r := newRig(t)
	c := r.newClient()
	c.get("/sign-in")
	cookie, token := c.cookie(), c.token
	planted := r.newClient()
	planted.extra.Set("Cookie", "session="+cookie)
	c.signIn("robin")
	if c.cookie() == cookie || c.token == token {
		t.Error("the cookie or the token is the one from before the sign-in")
	}
	if planted.signedIn() {
		t.Error("the cookie from before the sign-in is signed in")
	}
}

func TestIndexFollowsTheSessions(t *testing.T) {
	r := newRig(t)
	c, other := r.newClient(), r.newClient()
	for _, one := range []*client{c, other} {
		one.extra.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
		one.signIn("robin")
	}
	ids, err := r.rdb.HKeys(t.Context(), sessionsKey("robin")).Result()
	if err != nil || len(ids) != 2 {
		t.Fatalf("index: got %q, %v; want two", ids, err)
	}
	for _, id := range ids {
		if n := r.rdb.Exists(t.Context(), storedSession(id)).Val(); n != 1 {
			t.Errorf("session %s of the index is not in the store of scs", id)
		}
	}
	c.want(c.get("/sessions"), http.StatusOK, "Firefox on Linux", "this one", ids[0], ids[1])
	// One of them stays in use, the other is left.
	r.clock.advance(idle - time.Minute)
	c.get("/")
	r.clock.advance(2 * time.Minute)
	left := r.rdb.HKeys(t.Context(), sessionsKey("robin")).Val()
	if len(left) != 1 || !c.signedIn() || other.signedIn() {
		t.Errorf("after %s without a page: the index has %d, the one in use is signed in %v, the other %v; want 1, true, false",
			idle, len(left), c.signedIn(), other.signedIn())
	}
	r.clock.advance(idle + time.Second)
	if left := r.rdb.HKeys(t.Context(), sessionsKey("robin")).Val(); len(left) != 0 {
		t.Errorf("when all have ended: the index has %q, want none", left)
	}
	// Nobody asks for what is over; the server finds it.
	r.eventually("nothing is left", func() bool {
		return r.rdb.Exists(t.Context(), sessionsKey("robin"), storedSession(ids[0]), storedSession(ids[1])).Val() == 0
	})
}

func TestEndedSessionCannotBeSavedBack(t *testing.T) {
	for name, end := range map[string]func(c *client, id string) answer{
		"one": func(c *client, id string) answer { return c.post("/sessions/end", "id", id) },
		"all": func(c *client, _ string) answer { return c.post("/sessions/end-all") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c, other := r.newClient(), r.newClient()
			other.signIn("robin")
			id := r.rdb.HKeys(t.Context(), sessionsKey("robin")).Val()[0]
			data := r.rdb.Get(t.Context(), storedSession(id)).Val()
			c.signIn("robin")
			c.want(end(c, id), http.StatusOK)
			// What a request does that had loaded the session before it was ended.
			if err := r.rdb.Set(t.Context(), storedSession(id), data, idle).Err(); err != nil {
				t.Fatal(err)
			}
			other.want(other.get("/"), http.StatusOK, "You were signed out from another browser.")
			if other.signedIn() {
				t.Error("the ended session is signed in")
			}
		})
	}
}

func TestOnlyOwnSessionsCanBeEnded(t *testing.T) {
	r := newRig(t)
	robin, eve := r.newClient(), r.newClient()
	robin.signIn("robin")
	id := r.rdb.HKeys(t.Context(), sessionsKey("robin")).Val()[0]
	eve.signIn("eve")
	eve.post("/sessions/end", "id", id)
	if !robin.signedIn() {
		t.Error("eve has ended a session of robin")
	}
	nobody := r.newClient()
	for _, path := range []string{"/sessions/end", "/sessions/end-all"} {
		if a := nobody.post(path, "id", id); a.path != "/sign-in" {
			t.Errorf("%s without a sign-in: got %s, want /sign-in", path, a.path)
		}
	}
}

func TestSignOutLeavesNothing(t *testing.T) {
	r := newRig(t)
	c := r.newClient()
	c.signIn("robin")
	cookie, visitor := c.cookie(), r.visitorOf(c)
	c.want(c.post("/sign-out"), http.StatusOK, "You are signed out")
	if c.cookie() == cookie || r.visitorOf(c) == visitor {
		t.Error("the session or the visitor is the one from before the sign-out")
	}
	if n := r.rdb.Exists(t.Context(), sessionsKey("robin")).Val(); n != 0 {
		t.Error("the index has the session yet")
	}
	again := r.newClient()
	again.extra.Set("Cookie", "session="+cookie)
	if again.signedIn() {
		t.Error("the cookie from before the sign-out is signed in")
	}
}

// visitorOf is what the microservice calls the client.
func (r *rig) visitorOf(c *client) string {
	r.t.Helper()
	_, rest, _ := strings.Cut(c.get("/raw-session-analytics").body, "<main")
	_, rest, _ = strings.Cut(rest, "<code>")
	id, _, ok := strings.Cut(rest, "<")
	if !ok || len(id) != 26 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		r.t.Fatalf("visitor: got %q, want 26 letters and digits", id)
	}
	return id
}

func TestSecondSignInEndsTheFirst(t *testing.T) {
	r := newRig(t)
	c := r.newClient()
	c.signIn("robin")
	c.post("/sign-in", "name", "alex", "password", "a long night")
	if n := r.rdb.HLen(t.Context(), sessionsKey("robin")).Val(); n != 0 {
		t.Errorf("robin has %d sessions, want none", n)
	}
	if n := r.rdb.HLen(t.Context(), sessionsKey("alex")).Val(); n != 1 {
		t.Errorf("alex has %d sessions, want 1", n)
	}
}

func TestAccountsCheckNamesAndPasswords(t *testing.T) {
	r := newRigWithoutMicroservice(t)
	a := r.shop.accounts
	for _, one := range []struct {
		name, password string
		fresh          bool
		err            error
	}{
		{"robin", "a long night", true, nil},
		{"robin", "a long night", false, nil},
		{"robin", "another one", false, errWrong},
		{"robin", "short", false, errBadPassword},
		{"alex", strings.Repeat("é", 37), false, errBadPassword}, // 74 bytes
		{"alex", strings.Repeat("p", 72), true, nil},
		{"alex", strings.Repeat("p", 71) + "q", false, errWrong},
		{"", "a long night", false, errBadName},
		{"x", "a long night", false, errBadName},
		{"-dash", "a long night", false, errBadName},
		{"UPPER", "a long night", false, errBadName},
		{"with space", "a long night", false, errBadName},
		{"a:colon", "a long night", false, errBadName},
		{"new\nline", "a long night", false, errBadName},
		{"robin\n", "a long night", false, errBadName},
		{strings.Repeat("n", 25), "a long night", false, errBadName},
	} {
		fresh, err := a.check(t.Context(), one.name, one.password)
		if fresh != one.fresh || !errors.Is(err, one.err) {
			t.Errorf("%q with %.12q: got %v, %v; want %v, %v", one.name, one.password, fresh, err, one.fresh, one.err)
		}
	}
}

func TestOneOfManyGetsANewName(t *testing.T) {
	r := newRigWithoutMicroservice(t)
	const many = 8
	fresh := make(chan bool, many)
	for i := range many {
		go func() {
			mine, err := r.shop.accounts.check(t.Context(), "robin", "password of "+string(rune('a'+i)))
			if err != nil && !errors.Is(err, errWrong) {
				t.Error(err)
			}
			fresh <- mine
		}()
	}
	winners := 0
	for range many {
		if <-fresh {
			winners++
		}
	}
	if winners != 1 {
		t.Errorf("%d got the name, want 1", winners)
	}
}

func TestListIsInOrderOfUse(t *testing.T) {
	r := newRigWithoutMicroservice(t)
	want := map[string]time.Duration{"a": 20 * time.Minute, "b": 10 * time.Minute, "c": 0}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if err := r.shop.index.add(t.Context(), "robin", signedIn{ID: id, Agent: id}); err != nil {
			t.Fatal(err)
		}
		if id != "c" {
			r.clock.advance(10 * time.Minute)
		}
	}
	r.rdb.HSet(t.Context(), sessionsKey("robin"), "foreign", "not json")
	list, err := r.shop.index.list(t.Context(), "robin")
	if err != nil || len(list) != 3 || list[0].ID+list[1].ID+list[2].ID != "cba" {
		t.Fatalf("list: got %v, %v; want c, b, a", list, err)
	}
	for _, s := range list {
		if d := s.Idle - want[s.ID]; d < 0 || d > time.Minute {
			t.Errorf("%s has been idle for %s, want %s", s.ID, s.Idle, want[s.ID])
		}
	}
}
