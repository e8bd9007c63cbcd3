//go:build browser

package browser

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"math"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
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
		light[i] = luminance(r, g, b)
	}
	return contrast{name, light[0], ratio(light[0], light[1])}
}

func luminance(r, g, b float64) float64 {
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}

func ratio(one, other float64) float64 { return (max(one, other) + 0.05) / (min(one, other) + 0.05) }

// visible is the share of an element's pixels that stand out against its upper left corner, just within its rounding: by a contrast
// of 1.7, or by a distance of 75 in the cube of colours.
func (v *visitor) visible(selector string) float64 {
	v.t.Helper()
	box := eval[[4]float64](v, "(r => [r.x, r.y, r.width, r.height])(document.querySelector("+quote(selector)+").getBoundingClientRect())")
	text := result(v, command(page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng,
		Clip: &page.Viewport{X: box[0], Y: box[1], Width: box[2], Height: box[3], Scale: 1}})).Data
	drawn, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		v.t.Fatal(err)
	}
	const rounding = 30
	in := drawn.Bounds().Inset(rounding)
	colour := func(x, y int) (r, g, b float64) {
		c := color.NRGBAModel.Convert(drawn.At(x, y)).(color.NRGBA)
		return float64(c.R), float64(c.G), float64(c.B)
	}
	r0, g0, b0 := colour(in.Min.X, in.Min.Y)
	seen := 0
	for y := in.Min.Y; y < in.Max.Y; y++ {
		for x := in.Min.X; x < in.Max.X; x++ {
			r, g, b := colour(x, y)
			if math.Hypot(math.Hypot(r-r0, g-g0), b-b0) >= 75 || ratio(luminance(r, g, b), luminance(r0, g0, b0)) >= 1.7 {
				seen++
			}
		}
	}
	return float64(seen) / float64(in.Dx()*in.Dy())
}

// linear is the light of a channel of sRGB.
func linear(channel float64) float64 {
	c := channel / 255
	if c <= 0.04045 {
		return c / 12.92
	}
	return math.Pow((c+0.055)/1.055, 2.4)
}
