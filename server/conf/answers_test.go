package conf

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

func glob(pattern, name string) bool {
	ok, _ := path.Match(pattern, name)
	return ok
}

// TestAnswersAreThoseOfRedis runs the recorded CONFIG GET and CONFIG SET.
func TestAnswersAreThoseOfRedis(t *testing.T) {
	text, err := os.ReadFile("testdata/answers.txt")
	if err != nil {
		t.Fatal(err)
	}
	c := New()
	var words []string
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if command, ok := strings.CutPrefix(line, "> "); ok {
			if words, ok = splitWords(command); !ok {
				t.Fatalf("line %d: %s", i+1, line)
			}
			continue
		}
		if got := reply(c, words); got != line {
			t.Errorf("testdata/answers.txt:%d: CONFIG %s: got %s, want %s", i+1, strings.Join(words, " "), got, line)
		}
	}
}

func reply(c *Config, words []string) string {
	if words[0] == "GET" {
		var parts []string
		for _, p := range c.Get(words[1:], glob) {
			parts = append(parts, fmt.Sprintf("%q %q", p.Name, p.Value))
		}
		slices.Sort(parts)
		return "[" + strings.Join(parts, " ") + "]"
	}
	if err := c.Set(Caller{}, pairsOf(words[1:]...)); err != nil {
		return "(error) " + err.Error()
	}
	return "OK"
}

func pairsOf(words ...string) []Pair {
	var pairs []Pair
	for i := 0; i < len(words); i += 2 {
		pairs = append(pairs, Pair{words[i], words[i+1]})
	}
	return pairs
}
