package window

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// maxLabel bounds names of keys in labels, maxName those on pages.
	maxLabel = 128
	maxName  = 80
)

// printable is a name that a client chose, as people and Prometheus can take it:
// what is no text is quoted as Go quotes it, what is long is cut.
func printable(s string, most int) string {
	odd := !utf8.ValidString(s)
	for _, r := range s[:min(len(s), 4*most)] {
		odd = odd || !unicode.IsPrint(r)
	}
	cut := false
	if len(s) > 4*most { // the quoting need not see the rest
		s, cut = s[:4*most], true
	}
	if odd {
		s = strconv.QuoteToASCII(s)
	}
	s = strings.ToValidUTF8(s, "") // a character that was cut
	if utf8.RuneCountInString(s) > most {
		s, cut = string([]rune(s)[:most]), true
	}
	if cut {
		s += "…"
	}
	return s
}

func name(s string) string { return printable(s, maxName) }

// count is a number for people: 950, 12.3k, 4.56M.
func count(v float64) string {
	a := math.Abs(v)
	switch {
	case a < 1000 && v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a < 10:
		return digits(v)
	case a < 1000:
		return trim(v, 1)
	}
	for _, unit := range []string{"k", "M", "G", "T"} {
		if v /= 1000; math.Abs(v) < 999.5 || unit == "T" {
			return digits(v) + unit
		}
	}
	return ""
}

// digits shows three of them that count.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return trim(v, 0)
	case a >= 10:
		return trim(v, 1)
	case a >= 1 || a == 0:
		return trim(v, 2)
	case a < 1e-4:
		return strconv.FormatFloat(v, 'e', 2, 64)
	}
	return trim(v, 2-int(math.Floor(math.Log10(math.Abs(v)))))
}

func trim(v float64, places int) string {
	s := strconv.FormatFloat(v, 'f', places, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// size is a number of bytes for people.
func size(v float64) string {
	if math.Abs(v) < 1024 {
		return strconv.FormatFloat(v, 'f', 0, 64) + " B"
	}
	for _, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if v /= 1024; math.Abs(v) < 1023.5 || unit == "TiB" {
			return digits(v) + " " + unit
		}
	}
	return ""
}

// micros is a time given in microseconds, for people.
func micros(v float64) string {
	switch {
	case v < 1000:
		return digits(v) + " µs"
	case v < 1e6:
		return digits(v/1000) + " ms"
	}
	return span(v / 1e6)
}

// span is a time given in seconds, for people.
func span(v float64) string {
	switch {
	case v < 120:
		return digits(v) + " s"
	case v < 120*60:
		return fmt.Sprintf("%.0f min", v/60)
	case v < 48*3600:
		return fmt.Sprintf("%.0f h", v/3600)
	}
	return fmt.Sprintf("%.0f days", v/86400)
}

// percent is a share for people.
func percent(v float64) string {
	if v > 0 && v < 0.001 {
		return "< 0.1 %"
	}
	return trim(v*100, 1) + " %"
}

// ago is the time since t.
func ago(now, t time.Time) string {
	if gone := now.Sub(t).Seconds(); gone >= 1 {
		return span(math.Floor(gone)) + " ago"
	}
	return "just now"
}

// plural is a number with its noun.
func plural(n float64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}
