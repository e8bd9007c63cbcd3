package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/conf"
)

func TestDocumentsAreFresh(t *testing.T) {
	const root = "../.."
	pages, err := documents(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		text, err := os.ReadFile(filepath.Join(root, p.path))
		if err != nil {
			t.Error(err)
			continue
		}
		if string(text) != p.text {
			t.Errorf("%s is not what the tables say: run make docs", p.path)
		}
	}
}

func TestCommandsAreCountedOnce(t *testing.T) {
	table, err := commands.NewTable([]commands.Group{{Name: "g", Commands: []commands.Command{
		{Name: "A", Arity: -2, Since: "1.0.0", Cost: "O(1)", Summary: "Groups."},
		{Name: "A B", Arity: 2, Since: "1.0.0", Cost: "O(1)", Summary: "Does.", Run: func(*commands.Ctx) error { return nil }},
		{Name: "C", Arity: 1, Since: "1.0.0", Cost: "O(1)", Summary: "Does.", Run: func(*commands.Ctx) error { return nil }},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := countCommands("x 9 commands with 99 subcommands y", table)
	if want := "x 2 commands with 1 subcommands y"; got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for _, text := range []string{"", "9 commands", "9 commands with 9 subcommands, 8 commands with 8 subcommands"} {
		if _, err := countCommands(text, table); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestScriptsAreReadForSkippedCalls(t *testing.T) {
	const script = "# a > b\n> GET k\n\"v\"\n# redis: skip (because)\n2> SET a|b c\n2< OK\n> PING\nPONG\n" +
		"# redis: skip from 7.2 (x (y))\n# valkey: skip (z)\n> TIME\n(any)\n"
	found := readScript("s", script)
	want := []difference{{"s", "SET a|b c", "all", "because"}, {"s", "TIME", "Redis from 7.2", "x (y)"}, {"s", "TIME", "Valkey", "z"}}
	if !slices.Equal(found, want) {
		t.Errorf("got %v, want %v", found, want)
	}
}

func TestEveryGroupHasATitle(t *testing.T) {
	pages, err := documents("../..")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(pages[1].text) {
		if title, ok := strings.CutPrefix(line, "## "); ok && title[0] >= 'a' && title[0] <= 'z' {
			t.Errorf("group %q has no title in groupTitles (documents.go)", strings.TrimSpace(title))
		}
	}
}

// TestManualPageIsSound checks the page by the rules of man(7) that it needs, so
// that the test runs where no formatter is: known macros, known escapes, no line
// of text that begins with an order.
func TestManualPageIsSound(t *testing.T) {
	macros := map[string]int{".TH": 5, ".SH": -1, ".SS": -1, ".TP": 0, ".PP": 0, ".br": 0, ".B": -1, ".BR": 2}
	page := manualPage()
	wantsTag := false
	for i, line := range strings.Split(strings.TrimSuffix(page, "\n"), "\n") {
		if strings.HasPrefix(line, `.\"`) {
			continue
		}
		if rest := regexp.MustCompile(`\\(e|-|&|fB|fI|fR)`).ReplaceAllString(line, ""); strings.Contains(rest, `\`) {
			t.Errorf("line %d: unknown escape: %s", i+1, line)
		}
		macro, arguments, _ := strings.Cut(line, " ")
		n, known := macros[macro]
		switch {
		case line == "", strings.HasPrefix(line, "'"), strings.HasPrefix(line, ".") && !known:
			t.Errorf("line %d is no text and no macro: %q", i+1, line)
		case known && n < 0 && arguments == "", known && n == 0 && arguments != "":
			t.Errorf("line %d: wrong number of arguments: %s", i+1, line)
		case wantsTag && macro != ".B" && strings.HasPrefix(line, "."):
			t.Errorf("line %d: .TP without a tag: %s", i+1, line)
		case strings.Count(line, `\fB`)+strings.Count(line, `\fI`) > 0 && !strings.Contains(line, `\fR`):
			t.Errorf("line %d: a font without an end: %s", i+1, line)
		}
		wantsTag = macro == ".TP"
	}
	for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "DIRECTIVES", "SIGNALS", "EXIT STATUS", "FILES"} {
		if strings.Count(page, "\n.SH "+section+"\n") != 1 {
			t.Errorf("section %s is missing or there twice", section)
		}
	}
	for _, o := range options {
		if !strings.Contains(page, conf.Roff(o.name)) {
			t.Errorf("%s is not in the page", o.name)
		}
	}
}

// The newest section of the changelog is that of the version, or of what comes after
// it. The others are older, each once.
func TestChangelogHasASectionForTheVersion(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	var sections []string
	for _, m := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(string(text), -1) {
		sections = append(sections, m[1])
	}
	if len(sections) > 0 && sections[0] == "Unreleased" {
		sections = sections[1:]
	}
	if len(sections) == 0 || sections[0] != commands.Version {
		t.Fatalf("sections of CHANGELOG.md: %q, want %s first", sections, commands.Version)
	}
	for i, s := range sections {
		if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(s) || i > 0 && s >= sections[i-1] {
			t.Errorf("sections of CHANGELOG.md: %q, want falling versions", sections)
		}
	}
}
