package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// compatibilityHead is the part that is written by hand, which the scripts cannot tell.
//
//go:embed compatibility.md
var compatibilityHead string

// difference is a call that a script does not make to a real Redis.
type difference struct{ script, reason, call string }

// compatibility collects the intended differences from the scripts.
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
## Calls with other replies in Redis

The scripts in commands/*/testdata fix the reply to every call they make. The calls
that redis-server supports are also made to a real one (make conformance-redis), which
returns the same replies except for these calls:

| script | call | why |
|---|---|---|
`)
	for _, d := range found {
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", d.script, strings.ReplaceAll(d.call, "|", `\|`), d.reason)
	}
	return b.String(), nil
}

// readScript finds the calls that are marked to be skipped.
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
