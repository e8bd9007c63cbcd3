package recipes

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(root + "/docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// code joins the files that match the patterns, without tests.
func code(t *testing.T, patterns ...string) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	return all.String()
}

// blocks are the page's blocks of code in a language.
func blocks(page, language string) (found []string) {
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(page, -1) {
		found = append(found, m[1])
	}
	return found
}

// TestPageShowsTheTestedCode finds every block of Go in the files beside this test,
// letter by letter and function by function, and the others in examples/frameworks.
func TestPageShowsTheTestedCode(t *testing.T) {
	text, recipes := page(t, "session-store.md"), code(t, "*.go")
	shown := 0
	for _, block := range blocks(text, "go") {
		for function := range strings.SplitSeq(block, "\n\n//") {
			shown++
			if !strings.Contains(recipes, strings.TrimPrefix(strings.TrimSpace(function), "//")) {
				t.Errorf("not in the code:\n%s", function)
			}
		}
	}
	if shown < 10 {
		t.Errorf("the page shows %d functions, want all the recipes", shown)
	}
	for language, pattern := range map[string]string{"js": "node/*.js", "python": "*.py", "php": "*.php", "ruby": "*.rb"} {
		examples, shown := code(t, root+"/examples/frameworks/"+pattern), blocks(text, language)
		if len(shown) == 0 {
			t.Errorf("the page shows nothing in %s", language)
		}
		for _, block := range shown {
			if !strings.Contains(examples, "[documented]\n"+block) {
				t.Errorf("not in examples/frameworks:\n%s", block)
			}
		}
	}
}

// The same of the sessions that are JSON documents.
func TestPageOfDocumentsShowsTheTestedCode(t *testing.T) {
	examples, shown := code(t, root+"/examples/frameworks/node/*.js"), blocks(page(t, "json.md"), "js")
	if len(shown) != 2 {
		t.Errorf("the page shows %d blocks, want the store and the pages", len(shown))
	}
	for _, block := range shown {
		if !strings.Contains(examples, "[documented]\n"+block) {
			t.Errorf("not in examples/frameworks:\n%s", block)
		}
	}
}

// TestPageNamesWhatIsThere looks for the tests and functions that the page names.
func TestPageNamesWhatIsThere(t *testing.T) {
	text := page(t, "session-store.md")
	declared := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(\w+)\(`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(source, -1) {
			declared[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`(Test\\w+)`|`(?:\\w+\\.)?([A-Z][a-z]\\w+)`(?: in `server| beside| does)").FindAllStringSubmatch(text, -1)
	if len(names) < 25 {
		t.Errorf("the page names %d tests and functions", len(names))
	}
	for _, m := range names {
		if name := m[1] + m[2]; !declared[name] {
			t.Errorf("the page names %s, which is not there", name)
		}
	}
}
