package glob

import (
	"strings"
	"testing"
	"time"
)

// The answers are those of redis-server 7.0.15 to KEYS.
func TestMatchAnswersAsRedis(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"a", "", false},
		{"*", "", false}, {"**", "", false}, {"*", "a", true}, {"**", "abc", true},
		{"a*", "a", true}, {"a**", "a", true}, {"*a", "a", true}, {"a*a", "a", false},
		{"h?llo", "hello", true}, {"h?llo", "hllo", false}, {"?", "ab", false},
		{"h*llo", "heeeello", true}, {"h*llo", "hll", false},
		{"*ab*ab*", "xxabyab", true}, {"*ab*ab*", "xxabyb", false},
		{"h[ae]llo", "hallo", true}, {"h[ae]llo", "hillo", false},
		{"h[^e]llo", "hallo", true}, {"h[^e]llo", "hello", false},
		{"h[a-b]llo", "hbllo", true}, {"h[b-a]llo", "hbllo", true}, {"h[a-b]llo", "hcllo", false},
		{`h\*llo`, "h*llo", true}, {`h\*llo`, "hello", false}, {`\a`, "a", true},
		{`a\`, `a\`, true}, {`a\`, "a", false},
		// Classes at their edges.
		{"[abc", "b", true}, {"[abc", "d", false}, {"[^", "x", true}, {"[", "[", false},
		{"[]", "]", false}, {"[^]", "]", true}, {"[^]x", "]x", true}, {`[\]]`, "]", true}, {`[a\-z]`, "-", true},
		{`[a\-z]`, "m", false}, {"[a-", "-", true}, {"[a-", "a", true}, {"[a-]", "]", true},
		{"[a-]", "_", true}, {"[a-]b]", "b", true}, {`[\`, `\`, true}, {"[^a-c]x", "dx", true},
		{"[a]*[b]", "a-b", true}, {"*[^a]", "aaab", true},
		// Bytes are signed in ranges.
		{"[\x80-\xff]", "\x90", true}, {"[a-\xff]", "b", false}, {"[a-\xff]", "\x10", true},
	} {
		if got := Match([]byte(c.pattern), []byte(c.text)); got != c.want {
			t.Errorf("Match(%q, %q): got %v, want %v", c.pattern, c.text, got, c.want)
		}
	}
}

// The answers are those of redis-server 7.0.15 to CONFIG GET.
func TestMatchFoldIgnoresCaseOutsideEscapes(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"MAXMEM*", "maxmemory", true}, {"maxmem*", "MAXMEMORY", true}, {`\MAX*`, "max-", true},
		{"[M]ax", "max", true}, {"[A-Z]ax", "max", true}, {"[a-z]AX", "MAX", true},
		{`[\M]ax`, "max", false}, {`[\m]ax`, "max", true}, {"[Z-a]", "z", false}, {"[^M]ax", "max", false},
	} {
		if got := MatchFold([]byte(c.pattern), []byte(c.text)); got != c.want {
			t.Errorf("MatchFold(%q, %q): got %v, want %v", c.pattern, c.text, got, c.want)
		}
	}
}

func TestLiteralFindsPatternsWithoutWildcards(t *testing.T) {
	for pattern, want := range map[string]bool{
		"": true, "abc": true, "a]b^c-d": true, "a*": false, "a?": false, "[a": false, `\a`: false,
	} {
		if got := Literal([]byte(pattern)); got != want {
			t.Errorf("Literal(%q): got %v, want %v", pattern, got, want)
		}
	}
}

// A matcher that tries every star against every position takes longer than the
// age of the universe here; one with a single remembered position takes 50
// million steps.
func TestManyStarsStayBounded(t *testing.T) {
	pattern := []byte(strings.Repeat("a*", 1000) + "b")
	text := []byte(strings.Repeat("a", 50_000))
	start := time.Now()
	if Match(pattern, text) {
		t.Error("matched a text without the last byte of the pattern")
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}

// reference is the definition: it tries everything.
func reference(p, s []byte, how letters) bool {
	switch {
	case len(p) == 0:
		return len(s) == 0
	case p[0] == '*':
		return reference(p[1:], s, how) || len(s) > 0 && reference(p, s[1:], how)
	case len(s) == 0:
		return false
	}
	n, ok := one(p, s[0], how)
	return ok && reference(p[n:], s[1:], how)
}

func FuzzGlob(f *testing.F) {
	f.Add([]byte("a*[^b-c]?\\d*"), []byte("axxbcd"))
	f.Add([]byte("[a-"), []byte("-"))
	f.Add([]byte("**[]*"), []byte("]"))
	f.Fuzz(func(t *testing.T, p, s []byte) {
		got, folded := Match(p, s), MatchFold(p, s)
		if len(p) > 12 || len(s) > 12 || len(s) == 0 {
			return
		}
		if want := reference(p, s, exact); got != want {
			t.Errorf("Match(%q, %q): got %v, want %v", p, s, got, want)
		}
		if want := reference(p, s, fold); folded != want {
			t.Errorf("MatchFold(%q, %q): got %v, want %v", p, s, folded, want)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	text := []byte("session:user:1234567890:cart")
	for _, pattern := range []string{"session:*", "*:cart", "session:*:[0-9]*:c?rt", "*a*a*a*a*b"} {
		b.Run(pattern, func(b *testing.B) {
			b.ReportAllocs()
			p := []byte(pattern)
			for b.Loop() {
				Match(p, text)
			}
		})
	}
}
