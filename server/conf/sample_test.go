package conf

import (
	"regexp"
	"strings"
	"testing"
)

func TestSampleIsTheDefaultsAndComplete(t *testing.T) {
	sample := Sample()
	c, err := Load([]string{"-"}, strings.NewReader(sample))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings()) > 0 || c.Settings().ThrowAway {
		t.Errorf("the sample as it is: %q, throw-away %v", c.Warnings(), c.Settings().ThrowAway)
	}
	// Every line switched on gives the same, word for word.
	on := regexp.MustCompile(`(?m)^#([a-z])`).ReplaceAllString(sample, "$1")
	if c, err = Load([]string{"-"}, strings.NewReader(on)); err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings()) > 0 {
		t.Errorf("warnings: %q", c.Warnings())
	}
	for i := range c.rows {
		if got, want := c.mu.values[i].text, c.rows[i].def; got != want {
			t.Errorf("%s: the sample says %q, the default is %q", c.rows[i].name, got, want)
		}
		if !strings.Contains(on, "\n"+c.rows[i].name+" ") {
			t.Errorf("%s is not in the sample", c.rows[i].name)
		}
	}
	for line := range strings.Lines(sample) {
		if len(line) > 120 {
			t.Errorf("long line: %s", line)
		}
	}
}

func TestRoffEscapes(t *testing.T) {
	for text, want := range map[string]string{".TH": `\&.TH`, "'x": `\&'x`, `a\b-c`: `a\eb\-c`, "plain": "plain"} {
		if got := Roff(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
