package main

import (
	"strings"
	"testing"
)

func TestRulesFindTheirExamplesAndNothingElse(t *testing.T) {
	for i := range rules {
		r := &rules[i]
		alone := newLinter(rules[i : i+1])
		if len(r.wrong) == 0 || len(r.right) == 0 || r.better == "" {
			t.Errorf("%s: want examples of both kinds and what is better", r.name)
		}
		for _, text := range r.wrong {
			if len(alone.phrases(text)) == 0 {
				t.Errorf("%s: not found in %q", r.name, text)
			}
		}
		for _, text := range r.right {
			for _, f := range newLinter(rules).phrases(text) {
				t.Errorf("%s: %s finds %q in %q", r.name, f.rule.name, f.phrase, text)
			}
		}
	}
}

func TestCommentsLiteralsAndPagesAreReadButNoCode(t *testing.T) {
	l := newLinter(rules)
	for _, c := range []struct{ name, src, want string }{
		{"a.go", "package a\n\n// F takes pages, of\n// which some are there.\nfunc F() {}\n", "a.go:3: \"of which\""},
		{"a.go", "package a\n\nvar x = 1 // it waits as far as it can\n", "a.go:3: \"as far as\""},
		{"a.go", "package a\n\n/* One.\nThe member who leads. */\n", "a.go:4: \"member who\""},
		{"a.go", "package a\n\nvar err = \"it waits as far as it can\"\n", "a.go:3: \"as far as\""},
		{"a_test.go", "package a\n\nvar err = \"it waits as far as it can\"\n", ""},
		{"a.go", "package a\n\nvar s = `one as far as two three`\nvar t = \"as far as\"\n", ""},
		{"a.go", "package a\n\n// F:\n//\n//\tas far as code\n//\n// and no more.\nfunc F() {}\n", ""},
		{"a.md", "# A\n\nIt goes on\nto run.\n", "a.md:3: \"goes on to\""},
		{"a.md", "# A\n\n- It goes on\n- to run\n\nIt goes on\n\nto run `as far as` code\n\n    as far as\n\n```\nas far as\n```\n", ""},
		{"a.md", "| a | lets go of it |\n", "a.md:1: \"lets go of\""},
		{"CHANGELOG.md", "# Changes\n\n## 0.2.0\n\nAs far as that.\n\n## 0.1.0\n\nIt was as far as this.\n", ""},
		{"CHANGELOG.md", "# Changes\n\n## 0.2.0\n\nIt was as far as this.\n", "CHANGELOG.md:5: \"as far as\""},
	} {
		lines, err := checkFile(c.name, []byte(c.src), l)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(lines, "\n")
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) || len(lines) > 1 {
			t.Errorf("%s %q: got %q, want %q", c.name, c.src, got, c.want)
		}
	}
	if _, err := checkFile("a.go", []byte("package"), l); err == nil {
		t.Error("a file that is no Go was read")
	}
}
