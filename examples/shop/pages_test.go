package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestStatisticsFollowTheVisitor(t *testing.T) {
	r := newRig(t)
	c := r.newClient()
	c.want(c.get("/"), http.StatusOK, `id="welcome"`, `<dd id="total-pages">1</dd>`, `<dd id="unique-pages">1</dd>`, "new to you")
	a := c.get("/")
	c.want(a, http.StatusOK, `<dd id="total-pages">2</dd>`, `<dd id="unique-pages">1</dd>`, "seen before")
	if strings.Contains(a.body, `id="welcome"`) || strings.Contains(a.body, `id="inactive"`) {
		t.Error("the second page greets")
	}
	r.clock.advance(7 * time.Minute)
	c.want(c.get("/product/tv"), http.StatusOK, `id="inactive"`, `<dd id="total-pages">3</dd>`)
	r.clock.advance(2 * time.Minute)
	a = c.get("/product/tv")
	if strings.Contains(a.body, `id="inactive"`) || !strings.Contains(a.body, `<i class="on"></i>`) {
		t.Errorf("after two minutes: want an active minute and no greeting\n%s", a.body)
	}
}

func TestOnlyViewsAreCounted(t *testing.T) {
	r := newRig(t)
	c := r.newClient()
	c.do("HEAD", "/", nil)
	c.get("/nowhere")
	c.get("/product/nothing")
	c.get("/static/style.css")
	c.extra.Set("Sec-Purpose", "prefetch;prerender")
	c.get("/product/tv")
	c.extra.Del("Sec-Purpose")
	c.want(c.get("/"), http.StatusOK, `<dd id="total-pages">1</dd>`)
}

func TestAddedIsCountedWithoutWaiting(t *testing.T) {
	r := newRig(t)
	c := r.newClient()
	c.get("/")
	id := r.visitorOf(c)
	if a := c.get("/added/tv"); strings.Contains(a.body, `id="total-pages"`) || strings.Contains(a.body, `id="degraded"`) {
		t.Error("/added/tv shows statistics, or a mark for not having them")
	}
	r.eventually("the page is counted", func() bool {
		n, _ := r.rdb.Get(t.Context(), "total-pages:"+id).Int()
		return n == 3
	})
	c.want(c.get("/added-sync/tv"), http.StatusOK, `<dd id="total-pages">4</dd>`, "seen before")
}

func TestCableFollowsTelevisionAndMount(t *testing.T) {
	r := newRig(t)
	c := r.newClient()
	c.get("/added-sync/tv")
	if a := c.get("/confirm-purchase"); strings.Contains(a.body, `id="suggestion"`) {
		t.Error("the cable is suggested after the television alone")
	}
	c.get("/added-sync/tv-mount")
	c.want(c.get("/confirm-purchase"), http.StatusOK, `id="suggestion"`)
	if a := c.post("/cart", "item", suggestion, "how", "cart"); strings.Contains(a.body, `id="suggestion"`) || a.path != "/confirm-purchase" {
		t.Errorf("the cable in the cart is suggested again, at %s", a.path)
	}
}

func TestNotificationsAreReadByOneVisitor(t *testing.T) {
	r := newRig(t)
	c, other := r.newClient(), r.newClient()
	text := samples[1].(string)
	c.want(c.get("/group-notifications?seen="+url.QueryEscape(text)), http.StatusOK, "3 unread", `class="unread chosen"`)
	c.want(c.post("/group-notifications/seen", "text", text), http.StatusOK, "2 unread", `class="read"`)
	other.want(other.get("/group-notifications"), http.StatusOK, "3 unread")
}

func TestFeaturedPagesAreThoseNotSeen(t *testing.T) {
	r := newRig(t)
	c := r.newClient()
	c.get("/product/tv")
	_, body, _ := strings.Cut(c.get("/").body, `id="featured"`)
	body, _, _ = strings.Cut(body, `<footer`)
	featured, shelves, _ := strings.Cut(body, `id="shelves"`)
	if strings.Contains(featured, "/product/tv\"") || !strings.Contains(featured, "/product/tv-mount") || strings.Count(featured, `<li class="card"`) != highlights {
		t.Errorf("featured after the television was seen: %s", featured)
	}
	for _, p := range catalogue {
		if n := strings.Count(body, `href="`+p.Path()+`"`); n != 1 {
			t.Errorf("%s is there %d times, want once", p.Name, n)
		}
	}
	if strings.Count(shelves, `<li class="card seen"`) != 1 || strings.LastIndex(shelves, `<li class="card`) != strings.Index(shelves, `<li class="card seen"`) {
		t.Errorf("shelves: want the one that was seen last\n%s", shelves)
	}
	for _, p := range catalogue {
		c.get(p.Path())
	}
	if a := c.get("/"); strings.Contains(a.body, `id="featured"`) || strings.Count(a.body, `<li class="card seen"`) != len(catalogue) {
		t.Errorf("after everything was seen: want all products on the shelves\n%s", a.body)
	}
}

func TestPanelShowsWhatWasPublishedAndKnown(t *testing.T) {
	r := newRig(t)
	c := r.newClient()
	visitor := r.visitorOf(c)
	a := c.get("/")
	c.want(a, http.StatusOK, "PUBLISH ss:pageview:"+visitor+":… /<", "PUBLISH ss:featuredpages:"+visitor+":… [8 products]", "What is known of your visit", `id="verdict">answered in `)
	if n := strings.Count(a.body, ">answered in "); n != 3 {
		t.Errorf("the page says %d times in how many ms it was answered, want it of both messages and of the page\n%s", n, a.body)
	}
	a = c.get("/added/tv")
	c.want(a, http.StatusOK, "PUBLISH ss:pageview:"+visitor+":… /added/tv", "the page did not wait", "published, not waited for")
	c.want(c.get("/nowhere"), http.StatusNotFound, "asks for nothing", "nothing was asked")
}

func TestPanelStaysFoldedAndGoesBackToItsPage(t *testing.T) {
	c := newRig(t).newClient()
	c.want(c.get("/product/tv"), http.StatusOK, `id="panel" open>`)
	a := c.post("/panel", "panel", "folded", "from", "/product/tv")
	c.want(a, http.StatusOK, `id="panel">`, "Keep this open")
	if a.path != "/product/tv" {
		t.Errorf("folding led to %s, want the page that it was on", a.path)
	}
	c.want(c.get("/"), http.StatusOK, `id="panel">`)
	c.want(c.post("/panel", "panel", "open", "from", "/"), http.StatusOK, `id="panel" open>`)
	for _, elsewhere := range []string{"", "//example.com", "https://example.com", `/\example.com`, "/\r\nX: y", "/\t/example.com"} {
		if a := c.post("/panel", "panel", "open", "from", elsewhere); a.path != "/" || a.status != http.StatusOK {
			t.Errorf("from %q: got %s %d, want the front page", elsewhere, a.path, a.status)
		}
	}
}

func TestPagesDoWithoutTheMicroservice(t *testing.T) {
	r := newRigWithoutMicroservice(t)
	c := r.newClient()
	for _, path := range []string{"/", "/product/tv", "/added/tv", "/added-sync/tv", "/confirm-purchase", "/group-notifications", "/raw-session-analytics", "/sign-in"} {
		c.want(c.get(path), http.StatusOK, `id="degraded"`)
	}
	c.want(c.get("/group-notifications"), http.StatusOK, "not known right now", samples[2].(string)[:20])
	c.want(c.post("/group-notifications/seen", "text", samples[2].(string)), http.StatusOK, "could not be noted")
	c.want(c.post("/cart", "item", "tv"), http.StatusOK, "Thank you for adding")
	c.signIn("robin")
}

func TestSilentMicroserviceCostsNoMoreThanTheBudget(t *testing.T) {
	const budget = 50 * time.Millisecond
	r := newRigWithoutMicroservice(t, func(o *options) { o.Budget = budget })
	sub := r.rdb.PSubscribe(t.Context(), "ss:*")
	defer sub.Close()
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c := r.newClient()
	c.want(c.get("/"), http.StatusOK, `id="degraded"`)
	// Two questions at once, not one after the other; the rest is for a busy machine.
	if took := time.Since(began); took < budget || took > 10*time.Second {
		t.Errorf("the page took %s, want %s and a little", took, budget)
	}
}

func TestLateAnswersAreForNobody(t *testing.T) {
	r := newRigWithoutMicroservice(t, func(o *options) { o.Budget = 20 * time.Millisecond })
	sub := r.rdb.PSubscribe(t.Context(), "ss:pageview:*")
	defer sub.Close()
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := r.newClient()
	c.want(c.get("/product/tv"), http.StatusOK, `id="degraded"`)
	m, err := sub.ReceiveMessage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list := "async" + strings.TrimPrefix(m.Channel, "ss")
	for range 2 {
		r.rdb.LPush(t.Context(), list, `{"totalPages": 4711}`)
	}
	if a := c.get("/product/tv"); strings.Contains(a.body, "4711") {
		t.Error("a late answer came to another page")
	}
}

func TestAnswersThatMakeNoSenseDegrade(t *testing.T) {
	r := newRigWithoutMicroservice(t)
	answers := make(chan string, 1)
	ctx, stop := context.WithCancel(t.Context())
	sub := r.rdb.PSubscribe(ctx, "ss:*")
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // ends with stop
		defer close(done)
		text := ""
		for {
			m, err := sub.ReceiveMessage(ctx)
			if err != nil {
				return
			}
			select {
			case text = <-answers:
			default:
			}
			r.rdb.LPush(ctx, "async"+strings.TrimPrefix(m.Channel, "ss"), text)
		}
	}()
	defer func() { stop(); sub.Close(); <-done }()
	c := r.newClient()
	for _, text := range []string{"null of something", "{", `[[[]]]`, `"{\"a\":`, "\xff\xfe", `{"totalPages":"many"}`, strings.Repeat("9", 5000)} {
		answers <- text
		for _, path := range []string{"/", "/group-notifications", "/confirm-purchase"} {
			c.want(c.get(path), http.StatusOK, "</html>", `id="degraded"`)
		}
	}
}

func TestStoreAwayIsSaidOnce(t *testing.T) {
	r := newRigWithoutMicroservice(t)
	c := r.newClient()
	c.get("/")
	if err := r.vigil.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, a := range []answer{c.get("/"), c.get("/sessions"), c.post("/cart", "item", "tv")} {
		c.want(a, http.StatusServiceUnavailable, `id="away"`)
		if strings.Count(a.body, "<!DOCTYPE") != 1 || a.header.Get("Retry-After") == "" {
			t.Errorf("%s: want one page and Retry-After, got %v\n%s", a.path, a.header, a.body)
		}
	}
}

// failing fails the commands of a name: a store that is refusing writes.
type failing struct{ name string }

func (f failing) DialHook(next redis.DialHook) redis.DialHook { return next }
func (f failing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (f failing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == f.name {
			err := errors.New("MISCONF the disk is full")
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func TestPageThatCannotBeSavedIsNotShown(t *testing.T) {
	r := newRigWithoutMicroservice(t)
	c := r.newClient()
	c.get("/sign-in")
	r.shop.opts.Redis.AddHook(failing{"set"})
	for _, a := range []answer{c.get("/"), c.get("/nowhere"), c.post("/cart", "item", "tv")} {
		c.want(a, http.StatusServiceUnavailable, `id="away"`)
		if strings.Count(a.body, "<!DOCTYPE") != 1 || strings.Contains(a.body, "Things for long evenings") || a.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: want the page that says so alone, got %v\n%s", a.path, a.header, a.body)
		}
	}
}

func TestSignInThatCannotBeIndexedFails(t *testing.T) {
	r := newRigWithoutMicroservice(t)
	c := r.newClient()
	c.get("/sign-in")
	r.shop.opts.Redis.AddHook(failing{"hsetex"})
	c.want(c.post("/sign-in", "name", "robin", "password", "a long night"), http.StatusServiceUnavailable, `id="away"`)
	if c.signedIn() {
		t.Error("signed in without a field in the index")
	}
}

func TestCartLosesNoClick(t *testing.T) {
	r := newRigWithoutMicroservice(t)
	c := r.newClient()
	c.get("/sign-in")
	var wait sync.WaitGroup
	for _, item := range []string{"tv", "tv", "tv", "lamp", "lamp", "teapot"} {
		wait.Go(func() {
			form := url.Values{"token": {c.token}, "item": {item}}
			w, err := c.http.PostForm(c.address+"/cart", form)
			if err != nil {
				t.Error(err)
				return
			}
			w.Body.Close()
		})
	}
	wait.Wait()
	c.want(c.get("/confirm-purchase"), http.StatusOK, "3 × €649.00", "2 × €59.00", "1 × €34.00", `<strong id="total">€2099.00</strong>`)
}

func TestCartHoldsNineOfEach(t *testing.T) {
	r := newRigWithoutMicroservice(t)
	c := r.newClient()
	for range maxPieces + 3 {
		c.post("/cart", "item", "lamp")
	}
	c.want(c.get("/confirm-purchase"), http.StatusOK, "9 × €59.00")
	c.post("/cart/remove", "item", "lamp")
	c.want(c.get("/confirm-purchase"), http.StatusOK, "nothing in it")
}

func TestStoredTextIsEscaped(t *testing.T) {
	r := newRig(t)
	const hostile = `<script>alert(1)</script>" onload="alert(2)`
	r.rdb.LPush(t.Context(), noticesKey, hostile, strings.Repeat("long", maxNotice))
	c := r.newClient()
	c.extra.Set("User-Agent", hostile)
	c.signIn("robin")
	for _, path := range []string{"/group-notifications", "/group-notifications?seen=" + url.QueryEscape(hostile), "/sessions", "/added/" + url.PathEscape(hostile)} {
		a := c.get(path)
		if strings.Contains(a.body, "<script") || strings.Contains(a.body, `" onload`) || strings.Contains(a.body, "longlong") {
			t.Errorf("%s shows what was stored as markup, or too much of it\n%s", path, a.body)
		}
	}
}

func TestEveryProductIsDrawn(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range catalogue {
		if p.Drawing() == "" || p.Price <= 0 || p.Line == "" || p.Story == "" || seen[p.Item] {
			t.Errorf("%s: want a name of its own, a drawing, a price, a line and a story", p.Item)
		}
		seen[p.Item] = true
	}
	if !seen[suggestion] || !seen["tv"] || !seen["tv-mount"] {
		t.Error("the catalogue does not have the products of the paper's combination")
	}
}
