//go:build browser

package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

func TestShopGoesOnWithoutTheMicroservice(t *testing.T) {
	s := newStage(t)
	microservice := s.startMicroservice("*")
	v := s.newVisitor()
	v.open("/")
	v.wantThere("#degraded", false)
	if err := microservice.Stop(patience); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/product/tv", "/added/tv", "/added-sync/tv", "/confirm-purchase", "/group-notifications", "/raw-session-analytics"} {
		v.open(path)
		v.wantThere("#degraded", true)
		v.wantThere("h1", true)
	}
	v.open("/product/tv")
	v.press("#add")
	v.want("#cart-count", "1")
	v.signIn("robin", "a long night")
	s.startMicroservice("*")
	v.becomes("/", "#degraded", false)
	v.want("#cart-count", "1")
}

func TestMicroservicesShareTheVisitorsByGlob(t *testing.T) {
	s := newStage(t)
	first := s.startMicroservice("[a-m]*")
	s.startMicroservice("[n-z2-7]*")
	var low, high *visitor // of the first and the second
	for range 64 {         // all of one kind: once in 10^19 times
		v := s.newVisitor()
		id := v.id()
		v.wantThere("#raw", true)
		if strings.ContainsRune("abcdefghijklm", rune(id[0])) {
			low = v
		} else {
			high = v
		}
		if low != nil && high != nil {
			break
		}
	}
	if err := first.Stop(patience); err != nil {
		t.Fatal(err)
	}
	low.open("/")
	low.wantThere("#degraded", true)
	high.open("/")
	high.wantThere("#degraded", false)
	high.want("#total-pages", "2")
}

func TestSessionsSurviveKillOfVigil(t *testing.T) {
	s := newStage(t, "*")
	v := s.newVisitor()
	v.signIn("robin", "a long night")
	v.open("/product/teapot")
	v.press("#add-sync")
	v.want("#cart-count", "1")
	id := v.id()
	s.vigil.Kill()
	v.open("/")
	v.wantThere("#away", true)
	s.startVigil()
	// The page tries again by itself.
	s.eventually("the page that waited shows the shop", func() bool { return v.has("#user") })
	v.want("#user", "robin")
	v.want("#cart-count", "1")
	v.becomes("/product/teapot", "#total-pages", true)
	if got := v.text("#statistics"); !strings.Contains(got, "seen before") {
		t.Errorf("the teapot after the crash: got %q, want seen before", got)
	}
	if got := v.id(); got != id {
		t.Errorf("the visitor after the crash: got %s, want %s", got, id)
	}
}

func TestSignInRenewsTheSession(t *testing.T) {
	s := newStage(t, "*")
	attacker, victim := s.newVisitor(), s.newVisitor()
	attacker.open("/")
	planted := attacker.cookie()
	result(victim, command(network.SetCookie, network.SetCookieParams{Name: "session", Value: planted.Value, URL: s.address}))
	victim.open("/")
	if got := victim.cookie().Value; got != planted.Value {
		t.Fatalf("the planted cookie was not taken: got %s, want %s", got, planted.Value)
	}
	victim.signIn("robin", "a long night")
	after := victim.cookie()
	if after.Value == planted.Value {
		t.Error("the session is the planted one after the sign-in")
	}
	if !after.HTTPOnly || after.SameSite != network.CookieSameSiteLax {
		t.Errorf("the cookie: HttpOnly %v, SameSite %s; want true, Lax", after.HTTPOnly, after.SameSite)
	}
	attacker.open("/sessions")
	attacker.wantThere("#user", false)
	if got := attacker.path(); got != "/sign-in" {
		t.Errorf("the attacker's sessions: got %s, want /sign-in", got)
	}
}

func TestShopNeedsNoScripts(t *testing.T) {
	v := newStage(t, "*").newVisitor()
	result(v, command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	v.signIn("robin", "a long night")
	v.open("/product/lamp")
	v.press("#add")
	v.open("/group-notifications")
	v.press("#notices li:first-child button")
	v.wantThere("#notices .read", true)
	v.open("/confirm-purchase")
	v.wantThere("script", false)
	v.press("#purchase")
	v.open("/sessions")
	v.press("#end-all")
	v.wantThere("#user", false)
}

func TestStoredMarkupIsShownAsText(t *testing.T) {
	s := newStage(t, "*")
	v := s.newVisitor()
	const hostile = `<script>document.title='owned'</script><img src=x onerror="document.title='owned'">"'{{.}}`
	if err := s.rdb.LPush(t.Context(), "shop:notifications", hostile).Err(); err != nil {
		t.Fatal(err)
	}
	result(v, command(emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: hostile}))
	v.open("/group-notifications")
	v.want("#notices .unread:first-child p", hostile)
	v.press("#notices .unread:first-child button")
	v.want("#notices .read p", hostile)
	v.open("/added/%3Cscript%3Edocument.title='owned'%3C%2Fscript%3E")
	if got := v.text("h1"); !strings.Contains(got, "<script>") {
		t.Errorf("the name of the item: got %q, want it as it was", got)
	}
	v.signIn("robin", "a long night")
	v.open("/sessions")
	if title := result(v, chromedp.Title()); title != "Where you are signed in · Night Owl" {
		t.Errorf("title: got %q", title)
	}
	v.wantThere("script, img", false)
}
