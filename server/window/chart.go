package window

import (
	"math"
	"strconv"
	"strings"
)

// chart is a line over time, drawn as the attributes of an SVG picture whose
// coordinates are chartWidth by chartHeight.
type chart struct {
	Title     string
	Now       string // the newest value, for people
	Top, Half string // of the scale
	Line      string // a path
	Area      string // the path of what is under it
	Summary   string // in words
	Second    string // the path of a second line on the same scale
	Empty     bool
}

const (
	chartWidth, chartHeight = 600, 120
	sparkPoints             = 120
)

// draw makes a chart of values, the newest last, of which there is room for
// length: what is missing is missing on the left. NaN is a gap.
func draw(title string, values []float64, length int, show func(float64) string) chart {
	return drawTo(title, values, length, show, nice)
}

// drawSizes is draw for bytes, which have other round numbers.
func drawSizes(title string, values []float64, length int, show func(float64) string) chart {
	return drawTo(title, values, length, show, niceSize)
}

func drawTo(title string, values []float64, length int, show func(float64) string, round func(float64) float64) chart {
	c := chart{Title: title}
	low, high := extent(values)
	if math.IsInf(low, 1) {
		c.Empty, c.Now, c.Summary = true, "–", title+": nothing yet"
		return c
	}
	top := round(high)
	c.Top, c.Half = show(top), show(top/2)
	c.Line, c.Area = path(values, length, 0, top)
	c.Now = "–"
	if last := values[len(values)-1]; !math.IsNaN(last) {
		c.Now = show(last)
	}
	c.Summary = title + ": now " + c.Now + ", lowest " + show(low) + ", highest " + show(high)
	return c
}

// drawPair draws two lines on one scale that need not begin at 0, as the ratio of
// the two is what counts.
func drawPair(title string, first, second []float64, show func(float64) string) chart {
	low, high := extent(append(append([]float64(nil), first...), second...))
	if math.IsInf(low, 1) {
		return chart{Title: title, Empty: true, Summary: title + ": nothing yet"}
	}
	pad := max((high-low)/8, high/200)
	low, high = max(0, low-pad), high+pad
	c := chart{Title: title, Top: show(high), Half: show(low)}
	c.Line, _ = path(first, len(first), low, high)
	c.Second, _ = path(second, len(second), low, high)
	c.Summary = title + " from " + show(low) + " to " + show(high)
	return c
}

// extent returns the lowest and the highest value; infinities if there is none.
func extent(values []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}

// nice is the least round number that is not below v.
func nice(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 2, 4, 5, 10} {
		if v <= step*unit*(1+1e-9) {
			return step * unit
		}
	}
	return 10 * unit
}

// niceSize is nice in units of 1024.
func niceSize(v float64) float64 {
	unit := 1.0
	for v >= 1024*unit {
		unit *= 1024
	}
	return nice(v/unit) * unit
}

// path draws a line, and the area under it.
func path(values []float64, length int, low, high float64) (line, area string) {
	x := func(i int) string {
		return coordinate(chartWidth * float64(length-len(values)+i) / max(1, float64(length-1)))
	}
	var l, a strings.Builder
	open, from := false, 0
	end := func(i int) {
		if open {
			if i-1 == from {
				l.WriteString("h0") // a dot, as line ends are round
			}
			a.WriteString("L" + x(i-1) + " " + strconv.Itoa(chartHeight) + "L" + x(from) + " " + strconv.Itoa(chartHeight) + "Z")
		}
		open = false
	}
	for i, v := range values {
		if math.IsNaN(v) {
			end(i)
			continue
		}
		verb := "L"
		if !open {
			verb, open, from = "M", true, i
		}
		point := verb + x(i) + " " + coordinate(chartHeight*(1-(v-low)/max(1e-300, high-low)))
		l.WriteString(point)
		a.WriteString(point)
	}
	end(len(values))
	return l.String(), a.String()
}

func coordinate(v float64) string { return trim(v, 1) }

// coarse takes the mean of neighbours, so that at most n points are left of an
// hour's length.
func coarse(values []float64, length, n int) []float64 {
	every := (length + n - 1) / n
	if every <= 1 {
		return values
	}
	var out []float64
	for end := len(values); end > 0; end -= every {
		sum, count := 0.0, 0
		for _, v := range values[max(0, end-every):end] {
			if !math.IsNaN(v) {
				sum, count = sum+v, count+1
			}
		}
		mean := math.NaN()
		if count > 0 {
			mean = sum / float64(count)
		}
		out = append(out, mean)
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// bar is a horizontal bar: widths in percent of the widest.
type bar struct {
	Name, Note, Value string
	Width             string // of what stays, or of the whole
	Change            string // width of what comes or goes; "" for nothing
	Start             string // where that begins
	Gains             bool   // it comes
}

func width(share float64) string { return trim(100*max(0, min(1, share)), 2) }
