package conf

import (
	"cmp"
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
	for i := range c.rows {
		if r := &c.rows[i]; r.shipped != "" && c.mu.values[i].text != r.shipped {
			t.Errorf("%s: the sample sets %q, want %q", r.name, c.mu.values[i].text, r.shipped)
		}
	}
	// Every line switched on gives the defaults, word for word, but for those that it sets.
	on := regexp.MustCompile(`(?m)^#([a-z])`).ReplaceAllString(sample, "$1")
	if c, err = Load([]string{"-"}, strings.NewReader(on)); err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings()) > 0 {
		t.Errorf("warnings: %q", c.Warnings())
	}
	for i := range c.rows {
		if got, want := c.mu.values[i].text, cmp.Or(c.rows[i].shipped, c.rows[i].def); got != want {
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
