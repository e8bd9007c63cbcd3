package conf

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestNothingThatWorksIsUnread finds the field of each directive by setting it,
// and looks for readers of that field in the server and its command: a
// directive without one would be accepted and do nothing.
func TestNothingThatWorksIsUnread(t *testing.T) {
	var source strings.Builder
	dirs := []string{"..", "../membership", "../window", "../../cmd/vigil-server", "."}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(filepath.Base(file), "table") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(text)
		}
	}
	probe := value{text: "x", n: 1, words: []string{"x"}, save: []SavePoint{{1, 1}},
		limits: [3]OutputLimit{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, numbers: []float64{1}}
	for _, s := range sections() {
		for _, r := range s.rows {
			if r.effect != works {
				continue
			}
			var settings Settings
			r.set(&settings, probe)
			field := ""
			for i, v := range reflect.ValueOf(settings).Fields() {
				if !v.IsZero() {
					field = i.Name
				}
			}
			if field == "" || !regexp.MustCompile(`\.`+field+`\b`).MatchString(source.String()) {
				t.Errorf("%s sets the field %q of Settings, which nothing in %q reads", r.name, field, dirs)
			}
		}
	}
}
