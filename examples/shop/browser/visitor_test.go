//go:build browser

package browser

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// visitor is a browser of somebody, with cookies of its own.
type visitor struct {
	t     *testing.T
	stage *stage
	ctx   context.Context
}

// newVisitor opens a browser in which the shop is unknown.
func (s *stage) newVisitor() *visitor {
	s.t.Helper()
	ctx, leave := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	s.t.Cleanup(leave)
	v := &visitor{t: s.t, stage: s, ctx: ctx}
	// The first call of a context starts its page, which would end with a shorter one.
	if err := chromedp.Do(ctx); err != nil {
		s.t.Fatal(err)
	}
	v.run(chromedp.EmulateViewport(1100, 900))
	return v
}

// run does things in the browser, within the patience of a test.
func (v *visitor) run(actions ...action) {
	v.t.Helper()
	result(v, chromedp.Steps(actions...))
}

// action is a step without a result.
type action = chromedp.Action[chromedp.Void]

// result does a thing in the browser, and returns what it answers.
func result[T any](v *visitor, a chromedp.Action[T]) T {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	got, err := chromedp.Run(ctx, a)
	if err != nil {
		v.t.Fatal(err)
	}
	return got
}

// command is an action of the browser that chromedp has no name for.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[R] {
	return func(ctx context.Context, t *chromedp.Target) (R, error) { return cdp.Call(ctx, t, c, params) }
}

// eval asks the browser about the page.
func eval[T any](v *visitor, script string) T {
	v.t.Helper()
	return result(v, chromedp.Evaluate[T](script))
}

// open goes to a path of the shop.
func (v *visitor) open(path string) {
	v.t.Helper()
	v.run(chromedp.Navigate(v.stage.address + path))
}

// press clicks on what leads to another page, and waits for that.
func (v *visitor) press(selector string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS(selector))); err != nil {
		v.t.Fatalf("press %s on %s: %v", selector, v.path(), err)
	}
}

// path is where the visitor is.
func (v *visitor) path() string {
	v.t.Helper()
	u, err := url.Parse(result(v, chromedp.Location()))
	if err != nil {
		v.t.Fatal(err)
	}
	return u.Path
}

// has says whether the page has such an element.
func (v *visitor) has(selector string) bool {
	v.t.Helper()
	return eval[int](v, "document.querySelectorAll("+quote(selector)+").length") > 0
}

// text returns the visible text of all such elements, one a line.
func (v *visitor) text(selector string) string {
	v.t.Helper()
	return eval[string](v, "Array.from(document.querySelectorAll("+quote(selector)+"), e => e.innerText.trim()).join('\\n')")
}

// want fails unless such elements have that text.
func (v *visitor) want(selector, text string) {
	v.t.Helper()
	if got := v.text(selector); got != text {
		v.t.Fatalf("%s on %s: got %q, want %q", selector, v.path(), got, text)
	}
}

// wantThere fails unless the page has such an element, or has none.
func (v *visitor) wantThere(selector string, there bool) {
	v.t.Helper()
	if v.has(selector) != there {
		v.t.Fatalf("%s on %s: got %v, want %v; the page says\n%s", selector, v.path(), !there, there, v.text("body"))
	}
}

// becomes reloads a path until the page has such an element, or has none.
func (v *visitor) becomes(path, selector string, there bool) {
	v.t.Helper()
	v.stage.eventually(path+" shows "+selector, func() bool {
		v.open(path)
		return v.has(selector) == there
	})
}

// signIn signs in; a new name makes the account.
func (v *visitor) signIn(name, password string) {
	v.t.Helper()
	v.open("/sign-in")
	v.run(setValue("#name", name), setValue("#password", password))
	v.press("#sign-in")
	v.want("#user", name)
}

// cookie is the one that names the visitor's session.
func (v *visitor) cookie() *network.Cookie {
	v.t.Helper()
	all := result(v, command(network.GetCookies, network.GetCookiesParams{URLs: []string{v.stage.address}}))
	for _, c := range all.Cookies {
		if c.Name == "session" {
			return c
		}
	}
	v.t.Fatal("the browser has no session")
	return nil
}

// id is the visitor's name for the microservice.
func (v *visitor) id() string {
	v.t.Helper()
	v.open("/raw-session-analytics")
	return v.text("main code")
}

func quote(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), "'", `\'`) + "'"
}
