//go:build browser

package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// maxImage keeps the documents light.
const maxImage = 200 << 10

// The widths of a phone and of a desk, at which screenshots are made.
const (
	narrow = 390
	wide   = 1280
)

// shot is a screenshot of a page as somebody sees it.
type shot struct {
	name          string
	width, height int64
	scheme, path  string
}

// shots are those of the documents.
var shots = []shot{
	{"shop-day", wide, 1100, "light", "/"},
	{"shop-night", wide, 1100, "dark", "/"},
	{"shop-cart", wide, 900, "light", "/confirm-purchase"},
	{"shop-notifications", wide, 700, "dark", "/group-notifications"},
	{"shop-sessions", wide, 700, "light", "/sessions"},
	{"shop-phone-day", narrow, 780, "light", "/product/turntable"},
	{"shop-phone-night", narrow, 780, "dark", "/"},
	{"shop-phone-cart", narrow, 780, "dark", "/confirm-purchase"},
}

// everyShot is of each page that shows something, at both widths, by day and by night.
func everyShot() []shot {
	var all []shot
	for name, path := range map[string]string{"front": "/", "product": "/product/tv-mount", "cart": "/confirm-purchase", "notifications": "/group-notifications", "sessions": "/sessions"} {
		for _, width := range []int64{narrow, wide} {
			for _, scheme := range []string{"light", "dark"} {
				all = append(all, shot{fmt.Sprintf("%s-%d-%s", name, width, scheme), width, 900, scheme, path})
			}
		}
	}
	return all
}

// shopInUse is a shop whose visitor has seen some pages and has a full cart.
func shopInUse(t *testing.T) *visitor {
	t.Helper()
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
	return v
}

// look opens the page of a shot as the shot has it.
func (v *visitor) look(one shot) {
	v.t.Helper()
	v.prefer(one.scheme)
	if one.width == wide {
		v.run(chromedp.EmulateViewport(one.width, one.height))
	} else {
		v.run(chromedp.EmulateViewport(one.width, one.height, chromedp.EmulateMobile, chromedp.EmulateScale(2)))
	}
	v.open(one.path)
	v.wantThere("#degraded", false)
}

// TestScreenshotsShowTheShop draws a shop in use. With -screenshots they are kept.
func TestScreenshotsShowTheShop(t *testing.T) {
	dir := *screenshots
	if dir == "" {
		dir = t.TempDir()
	}
	v := shopInUse(t)
	for _, one := range shots {
		v.look(one)
		text := result(v, command(page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})).Data
		if len(text) > maxImage {
			t.Errorf("%s has %d bytes, more than %d", one.name, len(text), maxImage)
		}
		if err := os.WriteFile(filepath.Join(dir, one.name+".png"), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPagesFitPhonesAndDesksByDayAndByNight draws each page whole, and looks for what a person would find wrong with it. With
// -every the pictures are kept.
func TestPagesFitPhonesAndDesksByDayAndByNight(t *testing.T) {
	v := shopInUse(t)
	for _, one := range everyShot() {
		v.look(one)
		if got := eval[int64](v, "document.documentElement.scrollWidth"); got > one.width {
			t.Errorf("%s is %d pixels wide", one.name, got)
		}
		if right := eval[[]float64](v, "Array.from(document.querySelectorAll('#lines strong'), e => e.getBoundingClientRect().right)"); one.path == "/confirm-purchase" &&
			(len(right) != 3 || slices.Max(right)-slices.Min(right) > 0.5) {
			t.Errorf("%s: sums and total end at %v, want one line", one.name, right)
		}
		text := result(v, command(page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng, CaptureBeyondViewport: new(true)})).Data
		if *every != "" {
			if err := os.WriteFile(filepath.Join(*every, one.name+".png"), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestPicturesAreAsVisibleByNightAsByDay counts the pixels of each drawing that stand out against the colour behind it.
func TestPicturesAreAsVisibleByNightAsByDay(t *testing.T) {
	v := newStage(t, "*").newVisitor()
	for _, item := range []string{"tv", "tv-mount", "hdmi-cable", "soundbar", "headphones", "lamp", "turntable", "teapot"} {
		share := map[string]float64{}
		for _, scheme := range []string{"light", "dark"} {
			v.look(shot{item, wide, 900, scheme, "/product/" + item})
			share[scheme] = v.visible(".product .picture")
		}
		if share["light"] < 0.02 || share["dark"] < 0.75*share["light"] {
			t.Errorf("%s: %.3f of the picture stand out by day, %.3f by night", item, share["light"], share["dark"])
		}
	}
}
