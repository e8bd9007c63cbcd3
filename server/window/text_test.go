package window

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFiguresAreShortForPeople(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{count(0), "0"}, {count(7), "7"}, {count(999), "999"}, {count(1000), "1k"}, {count(1234), "1.23k"}, {count(999_499), "999k"},
		{count(999_999), "1M"}, {count(12_345_678), "12.3M"}, {count(1.5), "1.5"}, {count(0.061), "0.061"}, {count(0.000123), "0.000123"}, {count(1.2e-7), "1.20e-07"}, {digits(0.00456), "0.00456"}, {digits(0.5), "0.5"}, {digits(0), "0"}, {count(1e18), "1000000T"},
		{size(0), "0 B"}, {size(1023), "1023 B"}, {size(1024), "1 KiB"}, {size(1 << 30), "1 GiB"}, {size(1<<30 - 1), "1 GiB"},
		{micros(0.5), "0.5 µs"}, {micros(999), "999 µs"}, {micros(1500), "1.5 ms"}, {micros(2e6), "2 s"},
		{span(119), "119 s"}, {span(7200), "2 h"}, {span(600), "10 min"}, {span(86400 * 3), "3 days"},
		{percent(0), "0 %"}, {percent(0.00001), "< 0.1 %"}, {percent(0.5), "50 %"}, {percent(1), "100 %"},
		{plural(1, "table"), "1 table"}, {plural(2, "table"), "2 tables"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestNamesAreMadePrintable(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"}, {"ünïcode ✓", "ünïcode ✓"}, {"a\nb", `"a\nb"`}, {"\xff", `"\xff"`}, {"\u202ex", `"\u202ex"`}, {"", ""},
		{strings.Repeat("x", 100), strings.Repeat("x", 10) + "…"}, {strings.Repeat("✓", 11), strings.Repeat("✓", 10) + "…"},
	} {
		if got := printable(c.in, 10); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzNamesArePrintable(f *testing.F) {
	f.Add("a\xffb", 10)
	f.Add(strings.Repeat("✓", 50), 3)
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = 1 + most&127
		got := printable(s, most)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > most+1 || strings.ContainsAny(got, "\x00\r\n") {
			t.Errorf("%q: got %q", s, got)
		}
	})
}

func TestScalesAreRound(t *testing.T) {
	for v, want := range map[float64]float64{0: 1, 0.3: 0.4, 1: 1, 3: 4, 4.5: 5, 7: 10, 99: 100, 101: 200, 1e-9: 1e-9} {
		if got := nice(v); math.Abs(got-want) > 1e-6*want {
			t.Errorf("nice(%v): got %v, want %v", v, got, want)
		}
	}
}

func TestScalesOfSizesAreRoundToo(t *testing.T) {
	for v, want := range map[float64]float64{0: 1, 900: 1000, 1024: 1024, 3000: 4096, 1.1 * (1 << 20): 2 << 20, 5e9: 5 << 30} {
		if got := niceSize(v); got != want {
			t.Errorf("niceSize(%v): got %v, want %v", v, got, want)
		}
	}
}

func TestPathsBreakAtGaps(t *testing.T) {
	nan := math.NaN()
	line, area := path([]float64{0, 10, nan, 5, nan, 10}, 6, 0, 10)
	if want := "M0 120L120 0M360 60h0M600 0h0"; line != want {
		t.Errorf("line: got %s, want %s", line, want)
	}
	if want := "M0 120L120 0L120 120L0 120ZM360 60L360 120L360 120ZM600 0L600 120L600 120Z"; area != want {
		t.Errorf("area: got %s, want %s", area, want)
	}
	if c := draw("x", []float64{nan, nan}, 5, count); !c.Empty || len(c.Lines) > 0 || c.Area != "" {
		t.Errorf("nothing but gaps: %+v", c)
	}
	if c := draw("x", []float64{math.Inf(1)}, 5, count); !c.Empty {
		t.Errorf("an infinity: %+v", c)
	}
}

func TestMeansOfNeighboursKeepTheNewest(t *testing.T) {
	got := coarse([]float64{1, 2, 3, 4, 5, 6, 7}, 12, 4)
	if len(got) != 3 || got[0] != 1 || got[1] != 3 || got[2] != 6 {
		t.Errorf("got %v, want [1 3 6]", got)
	}
}

func TestTimesHaveAScaleOfPowersOfTen(t *testing.T) {
	nan := math.NaN()
	c := drawTimes("x", []string{"p50", "p99"}, [][]float64{{10, nan}, {nan, 1000}}, 2)
	if c.Top != "1 ms" || c.Half != "100 µs" || c.Bottom != "10 µs" || c.Lines[0].Now != "–" || c.Lines[1].Now != "1 ms" {
		t.Errorf("got %+v", c)
	}
	if c.Lines[0].Path != "M0 120h0" || c.Lines[1].Path != "M600 0h0" {
		t.Errorf("paths: %+v", c.Lines)
	}
	if c := drawTimes("x", []string{"p50"}, [][]float64{{nan}}, 1); !c.Empty {
		t.Errorf("nothing but gaps: %+v", c)
	}
	if c := drawTimes("x", []string{"p50"}, [][]float64{{10}}, 1); c.Top != "100 µs" || strings.Contains(c.Lines[0].Path, "NaN") {
		t.Errorf("a single value: %+v", c)
	}
}
