package window

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// chart is lines over time, drawn as the attributes of an SVG picture whose
// coordinates are chartWidth by chartHeight.
type chart struct {
	Title             string
	Now               string // the newest value, for people
	Top, Half, Bottom string // of the scale
	Lines             []line
	Area              string   // the path of what is under the first line
	Times             []string // along the axis, evenly from the first to the last
	Summary           string   // in words
	Empty             bool
}

// line is one of a chart.
type line struct {
	Name, Now string // what it shows, if there are several
	Path      string
	Class     string // how it looks; "" for the first one
}

// lineClasses are those of lines by their place.
var lineClasses = []string{"", "second", "third"}

const (
	chartWidth, chartHeight = 600, 120
	sparkPoints             = 120
)

// draw makes a chart of values, the newest last, with room for
// length: what is missing is missing on the left. NaN is a gap.
func draw(title string, values []float64, length int, show func(float64) string) chart {
	return drawTo(title, values, length, show, nice)
}

// drawSizes is draw for bytes, which have other round numbers.
func drawSizes(title string, values []float64, length int, show func(float64) string) chart {
	return drawTo(title, values, length, show, niceSize)
}

func drawTo(title string, values []float64, length int, show func(float64) string, round func(float64) float64) chart {
	low, high := extent(values)
	if math.IsInf(low, 1) {
		return emptyChart(title)
	}
	top := round(high)
	c := chart{Title: title, Top: show(top), Half: show(top / 2), Bottom: "0", Now: newest(values, show), Lines: make([]line, 1)}
	c.Lines[0].Path, c.Area = path(values, length, 0, top)
	c.Summary = title + ": now " + c.Now + ", lowest " + show(low) + ", highest " + show(high)
	return c
}

func emptyChart(title string) chart {
	return chart{Title: title, Empty: true, Now: "–", Summary: title + ": nothing yet"}
}

// newest is the last of values, for people.
func newest(values []float64, show func(float64) string) string {
	if last := values[len(values)-1]; !math.IsNaN(last) {
		return show(last)
	}
	return "–"
}

// drawPair draws two lines on one scale that need not begin at 0, as the ratio of
// the two is what counts.
func drawPair(title string, names [2]string, first, second []float64, show func(float64) string) chart {
	low, high := extent(append(append([]float64(nil), first...), second...))
	if math.IsInf(low, 1) {
		return emptyChart(title)
	}
	pad := max((high-low)/8, high/200)
	low, high = max(0, low-pad), high+pad
	c := chart{Title: title, Top: show(high), Bottom: show(low)}
	c.Summary = title + " from " + show(low) + " to " + show(high)
	c.draw(names[:], [][]float64{first, second}, len(first), low, high, show)
	return c
}

// drawTimes draws lines of times in us, the last of them the longest, on a scale whose steps are powers of ten: what most
// calls take and what few take are seen together.
func drawTimes(title string, names []string, values [][]float64, length int) chart {
	low, high := extent(slices.Concat(values...))
	if math.IsInf(low, 1) {
		return emptyChart(title)
	}
	from, to := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	if to <= from {
		to = from + 1
	}
	logs := make([][]float64, len(values))
	for i := range values {
		for _, v := range values[i] {
			logs[i] = append(logs[i], math.Log10(v))
		}
	}
	c := chart{Title: title, Top: micros(math.Pow(10, to)), Bottom: micros(math.Pow(10, from))}
	c.Half = micros(math.Pow(10, (from+to)/2))
	c.Summary = title + " from " + micros(low) + " to " + micros(high)
	c.draw(names, logs, length, from, to, func(v float64) string { return micros(math.Pow(10, v)) })
	return c
}

// draw adds lines.
func (c *chart) draw(names []string, values [][]float64, length int, low, high float64, show func(float64) string) {
	for i := range values {
		l := line{Name: names[i], Class: lineClasses[i], Now: newest(values[i], show)}
		l.Path, _ = path(values[i], length, low, high)
		c.Lines = append(c.Lines, l)
	}
}

// axis labels n points of the time that a chart shows, which ends at a time.
func axis(end time.Time, shows time.Duration, n int) (all []string) {
	for i := range n {
		all = append(all, end.Add(-shows*time.Duration(n-1-i)/time.Duration(n-1)).Format("15:04"))
	}
	return all
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
