package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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
