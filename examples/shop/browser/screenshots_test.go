//go:build browser

package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// maxImage keeps the documents light.
const maxImage = 150 << 10

// shot is a screenshot of a page as somebody sees it.
type shot struct {
	name          string
	width, height int64
	scheme, path  string
}

var shots = []shot{
	{"shop-day", 1100, 1000, "light", "/"},
	{"shop-night", 1100, 1000, "dark", "/"},
	{"shop-cart", 1100, 900, "light", "/confirm-purchase"},
	{"shop-notifications", 1100, 560, "dark", "/group-notifications"},
	{"shop-sessions", 1100, 560, "light", "/sessions"},
	{"shop-phone-day", phoneWidth, 740, "light", "/product/turntable"},
	{"shop-phone-night", phoneWidth, 740, "dark", "/"},
	{"shop-phone-cart", phoneWidth, 740, "dark", "/confirm-purchase"},
}

// TestScreenshotsShowTheShop draws a shop in use. With -screenshots they are kept.
func TestScreenshotsShowTheShop(t *testing.T) {
	dir := *screenshots
	if dir == "" {
		dir = t.TempDir()
	}
	s := newStage(t, "*")
	v, other := s.newVisitor(), s.newVisitor()
	other.signIn("robin", "a long night")
	v.signIn("robin", "a long night")
	for _, path := range []string{"/product/tv", "/product/tv-mount"} {
		v.open(path)
		v.press("#add-sync") // which has been counted when the page is there
	}
	v.open("/group-notifications")
	v.press("#notices li:nth-child(3) button")
	v.open("/")
	for _, one := range shots {
		v.prefer(one.scheme)
		if one.width == phoneWidth {
			v.run(chromedp.EmulateViewport(one.width, one.height, chromedp.EmulateMobile, chromedp.EmulateScale(2)))
		} else {
			v.run(chromedp.EmulateViewport(one.width, one.height))
		}
		v.open(one.path)
		v.wantThere("#degraded", false)
		text := result(v, command(page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})).Data
		if len(text) > maxImage {
			t.Errorf("%s has %d bytes, more than %d", one.name, len(text), maxImage)
		}
		if err := os.WriteFile(filepath.Join(dir, one.name+".png"), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
