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
// letter by letter and function by function.
func TestPageShowsTheTestedCode(t *testing.T) {
	recipes, shown := code(t, "*.go"), 0
	for _, block := range blocks(page(t, "session-store.md"), "go") {
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
}

// documented are the parts of the files in examples/frameworks between lines that end in [documented] and [end], with their files.
func documented(t *testing.T) map[string]string {
	t.Helper()
	parts := map[string]string{}
	part := regexp.MustCompile(`(?s)\[documented\]\n(.*?\n)[^\n]*\[end\]`)
	err := filepath.WalkDir(root+"/examples/frameworks", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range part.FindAllSubmatch(text, -1) {
			parts[string(m[1])] = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// TestPagesShowTheTestedConfigurations finds every block that is to be pasted in examples/frameworks, whose files make frameworks
// runs, and the other way round. Only what the page calls untested is not there.
func TestPagesShowTheTestedConfigurations(t *testing.T) {
	parts, found := documented(t), 0
	tested, _, ok := strings.Cut(page(t, "frameworks.md"), "\n## Not tested\n")
	if !ok {
		t.Error("the page does not say what is not tested")
	}
	json := blocks(page(t, "json.md"), "js")
	if len(json) != 2 {
		t.Errorf("docs/json.md shows %d blocks, want the store and the pages", len(json))
	}
	for _, block := range append(json, blocks(tested, `\w+`)...) {
		if parts[block] == "" {
			t.Errorf("not in examples/frameworks:\n%s", block)
		}
		found++
		delete(parts, block)
	}
	for block, path := range parts {
		t.Errorf("%s: no page shows\n%s", path, block)
	}
	if found < 15 {
		t.Errorf("the pages show %d configurations", found)
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
