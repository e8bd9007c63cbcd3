package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestEveryPageBeginsWithAnExampleAndIsOnTheMap: a reader finds a page in docs/README.md, and sees on its first screen what it is for, in
// words, and something to paste.
func TestEveryPageBeginsWithAnExampleAndIsOnTheMap(t *testing.T) {
	const docs = "../../docs"
	paths, err := filepath.Glob(docs + "/*.md")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d pages, %v", len(paths), err)
	}
	index, err := os.ReadFile(docs + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?m)^(    |\t|```)")
	for _, path := range paths {
		name := filepath.Base(path)
		if name == "README.md" {
			continue
		}
		if !strings.Contains(string(index), "("+name+")") {
			t.Errorf("%s is not on the map", name)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfterN(string(text), "\n", 26)
		head := strings.Join(lines[:min(25, len(lines)-1)], "")
		before, _, _ := strings.Cut(head, "\n## ")
		if at := example.FindStringIndex(head); at == nil || len(before) < 80 {
			t.Errorf("%s does not begin with what it is for and an example", name)
		}
	}
	for _, link := range regexp.MustCompile(`\]\(([^):]+)\)`).FindAllStringSubmatch(string(index), -1) {
		if _, err := os.Stat(filepath.Join(docs, link[1])); err != nil {
			t.Errorf("the map leads to nothing: %v", err)
		}
	}
}

// TestProseOfPagesFitsATerminal: what people write is at most 100 columns wide. Tables, examples and generated pages are not looked at.
func TestProseOfPagesFitsATerminal(t *testing.T) {
	const columns = 100
	generated := map[string]bool{"benchmarks.md": true, "commands.md": true, "configuration.md": true}
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/adr/*.md"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			if !generated[filepath.Base(path)] {
				wantNarrow(t, path, columns)
			}
		}
	}
}

func wantNarrow(t *testing.T, path string, columns int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	example := false
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			example = !example
		}
		if !example && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "|") && utf8.RuneCountInString(line) > columns {
			t.Errorf("%s:%d has %d columns, and %d fit: %s", path, i+1, utf8.RuneCountInString(line), columns, line)
		}
	}
}
