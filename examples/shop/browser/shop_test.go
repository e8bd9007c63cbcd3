//go:build browser

package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

func TestFirstVisitIsWelcomedOnce(t *testing.T) {
	v := newStage(t, "*").newVisitor()
	v.open("/")
	v.wantThere("#welcome", true)
	v.want("#total-pages", "1")
	v.open("/")
	v.wantThere("#welcome", false)
	v.wantThere("#inactive", false)
	v.want("#total-pages", "2")
	v.want("#unique-pages", "1")
}

func TestReturnAfterFiveMinutesIsNoticed(t *testing.T) {
	s := newStage(t, "*")
	v := s.newVisitor()
	id := v.id()
	v.wantThere("#welcome", true)
	// Five minutes pass: the minutes in which the visitor was active move out of sight.
	if n, err := s.rdb.Del(t.Context(), "activity:"+id).Result(); n != 1 || err != nil {
		t.Fatalf("DEL activity: got %d, %v; want 1", n, err)
	}
	v.open("/")
	v.wantThere("#inactive", true)
	v.open("/")
	v.wantThere("#inactive", false)
}

func TestSeenProductsMakeRoomForUnseen(t *testing.T) {
	v := newStage(t, "*").newVisitor()
	v.open("/")
	v.want("#featured .name", "Dusk television\nSwing wall mount\nBraided HDMI cable")
	v.wantThere(".card.seen", false)
	v.press("#featured a[href='/product/tv-mount']")
	v.want("h1", "Swing wall mount")
	v.open("/")
	v.want("#featured .name", "Dusk television\nBraided HDMI cable\nHearth soundbar")
	v.want(".card.seen .name", "Swing wall mount")
	v.want("#shelf .name", "Hush headphones\nHarvest moon lamp\nSlow turntable\nMidnight teapot\nSwing wall mount")
	for _, item := range []string{"tv", "hdmi-cable", "soundbar", "headphones", "lamp", "turntable", "teapot"} {
		v.open("/product/" + item)
	}
	v.open("/")
	v.wantThere("#featured", false)
	v.wantThere("#all-seen", true)
}

func TestPanelFoldsAwayAndStaysSo(t *testing.T) {
	v := newStage(t, "*").newVisitor()
	v.open("/product/tv")
	v.want("#this-page", "new to you")
	if got := v.text("#statistics .sent"); !strings.Contains(got, "PUBLISH ss:pageview:") || !strings.Contains(got, "/product/tv") || !strings.Contains(got, " ms") {
		t.Errorf("the panel says %q, want what was published, and when it was answered", got)
	}
	v.run(chromedp.Click(chromedp.CSS("#panel summary"))) // folds it at once, on this page
	v.want("#this-page", "")
	v.open("/product/tv")
	v.want("#this-page", "seen before")
	v.press("#fold")
	if got := v.path(); got != "/product/tv" {
		t.Errorf("folding leads to %s, want the page that it was on", got)
	}
	v.want("#this-page", "")
	v.open("/")
	v.want("#this-page", "")
	v.run(chromedp.Click(chromedp.CSS("#panel summary")))
	v.press("#fold")
	v.want("#this-page", "seen before")
}

func TestCableIsSuggestedAfterTelevisionAndMount(t *testing.T) {
	v := newStage(t, "*").newVisitor()
	v.open("/product/tv")
	v.press("#add")
	if got := v.path(); got != "/added/tv" {
		t.Fatalf("after adding: got %s, want /added/tv", got)
	}
	v.wantThere(".tick", true)
	v.open("/confirm-purchase")
	v.wantThere("#suggestion", false)
	v.open("/product/tv-mount")
	v.press("#add")
	// The page did not wait for the microservice, which may be behind.
	v.becomes("/confirm-purchase", "#suggestion", true)
	v.press("#add-suggestion")
	v.wantThere("#suggestion", false)
	v.want("#lines li a:not(.picture)", "Dusk television\nSwing wall mount\nBraided HDMI cable")
	v.want("#total", "€747.00")
	v.press("#lines li:first-child button")
	v.want("#total", "€98.00")
	v.press("#purchase")
	v.wantThere("#flash", true)
	v.wantThere("#cart-count", false)
}

func TestOnlyTheCriticalPathWaitsForStatistics(t *testing.T) {
	v := newStage(t, "*").newVisitor()
	v.open("/product/lamp")
	v.press("#add")
	v.wantThere("#total-pages", false)
	v.wantThere("#degraded", false)
	v.open("/product/lamp")
	v.press("#add-sync")
	if got := v.path(); got != "/added-sync/lamp" {
		t.Fatalf("after adding: got %s, want /added-sync/lamp", got)
	}
	v.wantThere("#total-pages", true)
	v.want("#cart-count", "2")
}

func TestNotificationsAreReadOneByOne(t *testing.T) {
	s := newStage(t, "*")
	v, other := s.newVisitor(), s.newVisitor()
	v.open("/group-notifications")
	v.wantThere("#notices .read", false)
	all := strings.Split(v.text("#notices .unread p"), "\n")
	if len(all) != 3 {
		t.Fatalf("unread: got %q, want three", all)
	}
	v.press("#notices li:nth-child(2) button")
	v.want("#notices .read p", all[1])
	v.want("#notices .unread p", all[0]+"\n"+all[2])
	other.open("/group-notifications")
	other.want("#notices .unread p", strings.Join(all, "\n"))
	// One more for all of them.
	if err := s.rdb.LPush(t.Context(), "shop:notifications", "The owl has landed").Err(); err != nil {
		t.Fatal(err)
	}
	v.open("/group-notifications")
	v.want("#notices .unread p", "The owl has landed\n"+all[0]+"\n"+all[2])
	// The demo's link brings one forward and changes nothing.
	v.open("/group-notifications?seen=The+owl+has+landed")
	v.want("#notices .chosen.unread p", "The owl has landed")
}

func TestLogOutEverywhereEndsBothBrowsers(t *testing.T) {
	s := newStage(t, "*")
	v, other, third := s.newVisitor(), s.newVisitor(), s.newVisitor()
	for _, one := range []*visitor{v, other, third} {
		one.signIn("robin", "a long night")
	}
	v.open("/sessions")
	if got := strings.Count(v.text("#sessions li"), "Signed in"); got != 3 {
		t.Fatalf("sessions: got %d, want 3", got)
	}
	v.wantThere("#sessions .here", true)
	v.press("#sessions li:not(:has(.here)) button") // the latest active of the others
	v.want("#flash", "That browser is signed out.")
	third.open("/")
	third.wantThere("#user", false)
	other.open("/sessions")
	other.want("#user", "robin")
	other.press("#end-all")
	other.wantThere("#user", false)
	v.open("/")
	v.wantThere("#user", false)
	if n, err := s.rdb.Exists(t.Context(), "shop:sessions:robin").Result(); n != 0 || err != nil {
		t.Fatalf("the index of sessions: got %d, %v; want none", n, err)
	}
}

func TestSignInTakesAWrongPasswordForNobody(t *testing.T) {
	s := newStage(t, "*")
	s.newVisitor().signIn("robin", "a long night")
	v := s.newVisitor()
	v.open("/sign-in")
	v.run(setValue("#name", "robin"), setValue("#password", "a short night"))
	v.press("#sign-in")
	v.wantThere("#wrong", true)
	v.wantThere("#user", false)
}

func TestNoPageIsWiderThanAPhone(t *testing.T) {
	s := newStage(t, "*")
	v := s.newVisitor()
	if err := s.rdb.LPush(t.Context(), "shop:notifications", strings.Repeat("a-word-without-end", 30)).Err(); err != nil {
		t.Fatal(err)
	}
	v.run(phone)
	v.signIn("a-name-of-24-characters-", "a long night")
	v.open("/product/tv")
	v.press("#add")
	v.open("/product/tv-mount")
	v.press("#add-sync")
	for _, path := range []string{"/", "/product/tv", "/added/tv", "/added-sync/tv-mount", "/confirm-purchase", "/group-notifications",
		"/raw-session-analytics", "/sessions", "/sign-in", "/nowhere", "/added/" + strings.Repeat("endless", 40)} {
		v.open(path)
		if wide := eval[int](v, "document.documentElement.scrollWidth"); wide > phoneWidth {
			t.Errorf("%s is %d pixels wide, more than %d", path, wide, phoneWidth)
		}
	}
}

func TestDarkModeFollowsTheBrowser(t *testing.T) {
	v := newStage(t, "*").newVisitor()
	v.open("/")
	light, dark := v.contrast("light"), v.contrast("dark")
	if light.background < 0.7 || dark.background > 0.1 {
		t.Errorf("luminance of the paper: got %.2f by day and %.2f by night", light.background, dark.background)
	}
	for _, c := range []contrast{light, dark} {
		// 4.5 is what WCAG 2.1 asks of text (level AA).
		if c.ratio < 4.5 {
			t.Errorf("%s: text has a contrast of %.1f, want 4.5", c.scheme, c.ratio)
		}
	}
}
