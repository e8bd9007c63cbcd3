//go:build browser

package browser

import (
	"fmt"
	"math"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// phoneWidth is that of a small phone, in pixels of the stylesheet.
const phoneWidth = 360

var phone = chromedp.EmulateViewport(phoneWidth, 740, chromedp.EmulateMobile)

func setValue(selector, text string) action { return chromedp.SetValue(chromedp.CSS(selector), text) }

// prefer makes the browser prefer light or dark.
func (v *visitor) prefer(scheme string) {
	v.t.Helper()
	result(v, command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}))
}

// contrast is how readable the faintest text of a page is.
type contrast struct {
	scheme            string
	background, ratio float64
}

// contrast measures the soft text on the paper. Luminance and ratio are those of WCAG 2.1.
func (v *visitor) contrast(name string) contrast {
	v.t.Helper()
	v.prefer(name)
	colours := eval[[2]string](v, `[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('.small')).color]`)
	var light [2]float64
	for i, c := range colours {
		var r, g, b float64
		if _, err := fmt.Sscanf(c, "rgb(%f, %f, %f)", &r, &g, &b); err != nil {
			v.t.Fatalf("colour %q: %v", c, err)
		}
		light[i] = 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
	}
	return contrast{name, light[0], (max(light[0], light[1]) + 0.05) / (min(light[0], light[1]) + 0.05)}
}

// linear is the light of a channel of sRGB.
func linear(channel float64) float64 {
	c := channel / 255
	if c <= 0.04045 {
		return c / 12.92
	}
	return math.Pow((c+0.055)/1.055, 2.4)
}
