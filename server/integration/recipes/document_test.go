package recipes

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentShowsTheTestedCode finds every block of Go in docs/session-store.md in
// the files beside this test, letter by letter and function by function.
func TestDocumentShowsTheTestedCode(t *testing.T) {
	page, err := os.ReadFile("../../../docs/session-store.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	shown := 0
	for _, block := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		for function := range strings.SplitSeq(block[1], "\n\n//") {
			shown++
			if !strings.Contains(code.String(), strings.TrimPrefix(strings.TrimSpace(function), "//")) {
				t.Errorf("not in the code:\n%s", function)
			}
		}
	}
	for _, name := range regexp.MustCompile("`([A-Z][A-Za-z]+)`(?: in `server| beside| does)").FindAllStringSubmatch(string(page), -1) {
		if !strings.Contains(code.String(), "\nfunc "+name[1]+"(") {
			t.Errorf("the page names %s, which is not there", name[1])
		}
	}
	if shown < 10 {
		t.Errorf("the page shows %d functions, want all the recipes", shown)
	}
}
