package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDocumentsAreFresh(t *testing.T) {
	const root = "../.."
	pages, err := documents(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		text, err := os.ReadFile(filepath.Join(root, "docs", p.name))
		if err != nil {
			t.Error(err)
			continue
		}
		if string(text) != p.text {
			t.Errorf("docs/%s is not what the tables say: run make docs", p.name)
		}
	}
}

func TestScriptsAreReadForWhatIsLeftOut(t *testing.T) {
	const script = "# a > b\n> GET k\n\"v\"\n# redis: skip (because)\n2> SET a|b c\n2< OK\n> PING\nPONG\n"
	found := readScript("s", script)
	if len(found) != 1 || found[0] != (difference{"s", "because", "SET a|b c"}) {
		t.Errorf("got %v", found)
	}
}

func TestEveryGroupHasATitle(t *testing.T) {
	pages, err := documents("../..")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(pages[0].text) {
		if title, ok := strings.CutPrefix(line, "## "); ok && title[0] >= 'a' && title[0] <= 'z' {
			t.Errorf("group %q has no title", strings.TrimSpace(title))
		}
	}
}
