// Command vigil-words reads the comments of Go files, their literals that are sentences, and pages in
// Markdown, and prints the phrases in them that rules.go has something better for:
//
//	server/group.go:100: "has a member become": name the act: "moves slots", ...
//
// Its argument is the root of the tree, "." without one. It ends with exit status 1 if it finds any phrase.
// A rule has no list of files that it excepts: it is as narrow as it has to be.
package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// notRead are folders and files that the rules are not for: decisions are history, generated pages are read where they are written,
// and the rest is built.
var notRead = []string{
	"docs/adr", "docs/commands.md", "docs/configuration.md", "docs/compatibility.md",
	"bin", "dist", "data", ".git", ".ci/clients/build",
}

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	found, err := check(root, newLinter(rules), os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "vigil-words:", err)
		os.Exit(2)
	}
	if found > 0 {
		fmt.Fprintf(os.Stderr, "vigil-words: %d phrases to rewrite; cmd/vigil-words/rules.go has examples\n", found)
		os.Exit(1)
	}
}

// check prints what a linter finds in the tree below root, in the order of names and lines, and returns how many phrases these are.
func check(root string, l *linter, to io.Writer) (found int, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if slices.Contains(notRead, name) || d.IsDir() && skipped(d.Name()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".md") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines, err := checkFile(name, src, l)
		for _, line := range lines {
			fmt.Fprintln(to, line)
		}
		found += len(lines)
		return err
	})
	return found, err
}

// skipped reports whether folders of a name are never read.
func skipped(name string) bool {
	return name == "testdata" || name == "node_modules"
}

// checkFile returns a line for each phrase in a file, in their order.
func checkFile(name string, src []byte, l *linter) ([]string, error) {
	var passages []*passage
	if strings.HasSuffix(name, ".go") {
		var err error
		if passages, err = goPassages(name, src); err != nil {
			return nil, err
		}
	} else {
		if name == "CHANGELOG.md" {
			src = newestSection(src)
		}
		passages = markdownPassages(bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n")))
	}
	type at struct {
		line int
		text string
	}
	var all []at
	for _, p := range passages {
		for _, f := range l.phrases(p.text.String()) {
			line := p.line(f.at)
			all = append(all, at{line, fmt.Sprintf("%s:%d: %q: %s", name, line, f.phrase, f.rule.better)})
		}
	}
	slices.SortStableFunc(all, func(a, b at) int { return a.line - b.line })
	lines := make([]string, len(all))
	for i, a := range all {
		lines[i] = a.text
	}
	return lines, nil
}
