package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// compatibilityHead is written by hand: what is not to be found in the scripts.
//
//go:embed compatibility.md
var compatibilityHead string

// difference is a call that a script does not make of a real Redis.
type difference struct{ script, reason, call string }

// compatibility collects the wanted differences from the scripts.
func compatibility(root string) (string, error) {
	files, err := filepath.Glob(filepath.Join(root, "commands", "*", "testdata", "*.txt"))
	if err != nil {
		return "", err
	}
	if len(files) == 0 {
		return "", fmt.Errorf("no scripts under %s", root)
	}
	sort.Strings(files)
	var found []difference
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read script: %w", err)
		}
		family := filepath.Base(filepath.Dir(filepath.Dir(file)))
		name := family + "/" + strings.TrimSuffix(filepath.Base(file), ".txt")
		found = append(found, readScript(name, string(text))...)
	}
	var b strings.Builder
	b.WriteString(compatibilityHead)
	b.WriteString(`
## Calls that Redis answers otherwise

The scripts in commands/*/testdata pin the reply to every call they make. Those of
commands that a redis-server has are made of one too (make conformance-redis), and
it answers the same, but for these calls:

| script | call | why |
|---|---|---|
`)
	for _, d := range found {
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", d.script, strings.ReplaceAll(d.call, "|", `\|`), d.reason)
	}
	return b.String(), nil
}

// readScript finds the calls marked to be left out.
func readScript(name, text string) (found []difference) {
	reason := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if order, ok := strings.CutPrefix(line, "# redis: skip"); ok {
			reason = strings.Trim(order, " ()")
			continue
		}
		sender, call, ok := strings.Cut(line, "> ")
		if !ok || strings.Trim(sender, "0123456789") != "" {
			continue
		}
		if reason != "" {
			found = append(found, difference{name, reason, call})
			reason = ""
		}
	}
	return found
}
