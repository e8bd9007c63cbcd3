package main

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// changeForms has a form for every change that would succeed with its token.
func changeForms(r *rig, id string) map[string]url.Values {
	return map[string]url.Values{
		"/cart":                     {"item": {"tv"}},
		"/cart/remove":              {"item": {"lamp"}},
		"/purchase":                 {},
		"/group-notifications/seen": {"text": {samples[0].(string)}},
		"/sign-in":                  {"name": {"somebody-else"}, "password": {"a long night"}},
		"/sign-out":                 {},
		"/sessions/end":             {"id": {id}},
		"/sessions/end-all":         {},
		"/panel":                    {"panel": {"folded"}, "from": {"/"}},
	}
}

func TestEveryChangeNeedsItsToken(t *testing.T) {
	r := newRig(t)
	c, other := r.newClient(), r.newClient()
	c.signIn("robin")
	c.post("/cart", "item", "lamp")
	other.get("/sign-in")
	ids := r.rdb.HKeys(t.Context(), sessionsKey("robin")).Val()
	if len(ids) != 1 {
		t.Fatalf("sessions of robin: got %d, want 1", len(ids))
	}
	forms := changeForms(r, ids[0])
	before, seen := r.contents("shop:"), r.contents("notification:")
	right := c.token
	for path := range r.shop.changes() {
		form, ok := forms[path]
		if !ok {
			t.Fatalf("no form for %s: add one, to see that it needs its token", path)
		}
		for name, token := range map[string]string{"none": "", "another": newToken(), "of another session": other.token, "longer": right + "A"} {
			form.Set("token", token)
			if a := c.do("POST", path, form); a.status != http.StatusForbidden {
				t.Errorf("%s with a token that is %s: got %d, want 403", path, name, a.status)
			}
		}
		form.Set("token", right)
		if a := c.do("POST", path+"?token="+right, url.Values{}); a.status != http.StatusForbidden {
			t.Errorf("%s with its token in the address: got %d, want 403", path, a.status)
		}
		if a := c.do("GET", path+"?"+form.Encode(), nil); a.status == http.StatusOK && path != "/sign-in" {
			t.Errorf("GET %s: got 200, want no such page", path)
		}
		c.extra.Set("Sec-Fetch-Site", "cross-site")
		if a := c.do("POST", path, form); a.status != http.StatusForbidden {
			t.Errorf("%s from another site: got %d, want 403", path, a.status)
		}
		c.extra.Del("Sec-Fetch-Site")
	}
	after := r.contents("shop:")
	// A request renews the time of the session's field, which DUMP tells.
	delete(before, sessionsKey("robin"))
	delete(after, sessionsKey("robin"))
	if !maps.Equal(before, after) {
		t.Errorf("the store has changed: got %q, want %q", after, before)
	}
	if after := r.contents("notification:"); !maps.Equal(seen, after) {
		t.Errorf("a notification was marked: got %q", after)
	}
	c.token = right
	if a := c.post("/cart", "item", "tv"); a.status != http.StatusOK || a.path != "/added/tv" {
		t.Errorf("with the right token: got %d at %s", a.status, a.path)
	}
}

func TestPagesChangeNothing(t *testing.T) {
	r := newRig(t)
	c := r.newClient()
	c.signIn("robin")
	c.post("/cart", "item", "lamp")
	before := r.contents("shop:")
	seen := r.contents("notification:")
	for _, path := range []string{"/", "/product/tv", "/added/tv", "/added-sync/tv", "/confirm-purchase", "/raw-session-analytics", "/sign-in",
		"/group-notifications?seen=" + url.QueryEscape(samples[0].(string)), "/nowhere", "/static/style.css"} {
		c.get(path)
	}
	after := r.contents("shop:")
	delete(before, sessionsKey("robin"))
	delete(after, sessionsKey("robin"))
	if !maps.Equal(before, after) || !maps.Equal(seen, r.contents("notification:")) {
		t.Errorf("the store has changed: got %q, want %q", after, before)
	}
}

func TestHeadersDefendTheVisitor(t *testing.T) {
	r := newRigWithoutMicroservice(t)
	for _, path := range []string{"/", "/nowhere", "/static/style.css", "/static/"} {
		a := r.newClient().get(path)
		for name, want := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
			"X-Frame-Options": "DENY", "Referrer-Policy": "same-origin", "Strict-Transport-Security": ""} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
	if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("the policy is %q, want one without exceptions", policy)
	}
	if a := r.newClient().get("/"); strings.Contains(a.body, "<script") || strings.Contains(a.body, "style=") {
		t.Error("the page has a script or a style of its own, which the policy forbids")
	}
}

func TestCookiesAreForTheShopOnly(t *testing.T) {
	for _, proxied := range []bool{false, true} {
		r := newRigWithoutMicroservice(t, func(o *options) { o.Proxied = proxied })
		a := r.newClient().get("/")
		got := a.header.Get("Set-Cookie")
		for part, want := range map[string]bool{"HttpOnly": true, "SameSite=Lax": true, "Path=/": true, "Domain": false,
			"Secure": proxied, "__Host-session=": proxied} {
			if strings.Contains(got, part) != want {
				t.Errorf("proxied %v: the cookie is %q, want %s: %v", proxied, got, part, want)
			}
		}
		if got := a.header.Get("Strict-Transport-Security") != ""; got != proxied {
			t.Errorf("proxied %v: Strict-Transport-Security is there: %v", proxied, got)
		}
	}
}

func TestStoreHoldsNoCookie(t *testing.T) {
	r := newRig(t)
	c := r.newClient()
	c.signIn("robin")
	c.get("/group-notifications")
	cookie := c.cookie()
	if len(cookie) < 40 {
		t.Fatalf("the cookie is %q, want 256 bits", cookie)
	}
	all := r.contents("")
	if len(all) < 5 {
		t.Fatalf("the store has %d keys, too few to prove anything", len(all))
	}
	for key, value := range all {
		if strings.Contains(key+value, cookie) || strings.Contains(key+value, "a long night") {
			t.Errorf("%s tells the cookie or the password", key)
		}
	}
}

func TestBadRequestsAreRefusedAndHarmless(t *testing.T) {
	r := newRig(t)
	c := r.newClient()
	c.get("/sign-in")
	long := strings.Repeat("x", 20<<10)
	for _, one := range []struct {
		what   string
		answer answer
		status int
	}{
		{"a form without end", c.post("/cart", "item", long), http.StatusBadRequest},
		{"an unknown product", c.post("/cart", "item", "../../etc/passwd"), http.StatusNotFound},
		{"a notification of nobody", c.post("/group-notifications/seen", "text", "made up"), http.StatusNotFound},
		{"a page that is not there", c.get("/product/%00%ff"), http.StatusNotFound},
		{"an item of any bytes", c.get("/added/%00%ff%0a'\"<"), http.StatusOK},
		{"a query that is none", c.get("/?a;b&%zz"), http.StatusOK},
		{"a percent sign", c.get("/added/100%25"), http.StatusOK},
		{"a folder of files", c.get("/static/../main.go"), http.StatusNotFound},
		{"a method of its own", c.do("DELETE", "/cart", nil), http.StatusMethodNotAllowed},
	} {
		if one.answer.status != one.status {
			t.Errorf("%s: got %d, want %d", one.what, one.answer.status, one.status)
		}
	}
	cut, err := net.Dial("tcp", strings.TrimPrefix(r.address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer cut.Close()
	fmt.Fprintf(cut, "POST /cart HTTP/1.1\r\nHost: shop\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 500\r\n\r\ntoken=")
	if err := cut.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if text, _ := io.ReadAll(cut); !strings.HasPrefix(string(text), "HTTP/1.1 400") {
		t.Errorf("a form that is cut off: got %.40q, want 400", text)
	}
	for _, cookie := range []string{"", "x", strings.Repeat("y", 6000), "a:b", "../../x", "%00"} {
		c := r.newClient()
		c.extra.Set("Cookie", "session="+cookie)
		if a := c.get("/"); a.status != http.StatusOK || strings.Contains(a.header.Get("Set-Cookie"), "session="+cookie+";") {
			t.Errorf("cookie %.20q: got %d, and it was taken", cookie, a.status)
		}
	}
	if log := r.log.String(); strings.Contains(log, "panic") {
		t.Error(log)
	}
}

func TestGuessingPasswordsIsSlow(t *testing.T) {
	r := newRigWithoutMicroservice(t, func(o *options) { o.Proxied = true; o.Budget = 1 })
	at := func(address string) *client {
		c := r.newClient()
		// The cookie is for https only, which the jar obeys: it is sent by hand.
		c.extra.Set("X-Forwarded-For", "192.0.2.99, "+address)
		c.extra.Set("Cookie", strings.SplitN(c.get("/sign-in").header.Get("Set-Cookie"), ";", 2)[0])
		return c
	}
	try := func(c *client, name, password string) int {
		return c.post("/sign-in", "name", name, "password", password).status
	}
	c := at("198.51.100.1")
	if _, err := r.shop.accounts.check(t.Context(), "robin", "a long night"); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if got := try(c, "robin", "guess number "+strconv.Itoa(i)); got != http.StatusUnprocessableEntity {
			t.Fatalf("guess %d: got %d, want 422", i, got)
		}
	}
	a := c.post("/sign-in", "name", " ROBIN ", "password", "a long night")
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("the sixth try: got %d, Retry-After %q; want 429 even with the password", a.status, a.header.Get("Retry-After"))
	}
	c.extra.Set("X-Forwarded-For", "203.0.113.7, 198.51.100.1")
	if got := try(c, "robin", "a long night"); got != http.StatusTooManyRequests {
		t.Errorf("with a forged address: got %d, want 429", got)
	}
	r.rdb.Del(t.Context(), "shop:tries:198.51.100.1")
	if got := try(at("198.51.100.2"), "robin", "the wrong one"); got != http.StatusUnprocessableEntity {
		t.Errorf("from another address: got %d, want 422", got)
	}
	// Many names from one network, of version 6.
	for i := range 40 {
		host := at("2001:db8::" + strconv.Itoa(i))
		want := http.StatusUnprocessableEntity
		if i >= 30 {
			want = http.StatusTooManyRequests
		}
		if got := try(host, "name-"+strconv.Itoa(i), "short"); got != want {
			t.Fatalf("name %d: got %d, want %d", i, got, want)
		}
	}
	r.clock.advance(limitsFor("", "")[0].window)
	if got := try(at("198.51.100.1"), "robin", "the wrong one"); got != http.StatusUnprocessableEntity {
		t.Errorf("a minute later: got %d, want 422", got)
	}
}
