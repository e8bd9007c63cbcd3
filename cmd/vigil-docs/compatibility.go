package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// compatibilityHead is the part that is written by hand, which the scripts cannot tell.
//
//go:embed compatibility.md
var compatibilityHead string

// difference is a call that a script does not make to some real servers.
type difference struct{ script, call, servers, reason string }

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
are also made to the redis-server of Debian (make conformance-redis), and to the newest
Redis and Valkey (make conformance-newest): those calls which they have, since Valkey
counts as Redis 7.2 with some newer commands. They return the same replies, but for
these calls:

| script | call | servers | why |
|---|---|---|---|
`)
	for _, d := range found {
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", d.script, strings.ReplaceAll(d.call, "|", `\|`), d.servers, d.reason)
	}
	return b.String(), nil
}

// readScript finds the calls that are marked to be skipped (server/conformance_script_test.go
// has the form of the marks).
func readScript(name, text string) (found []difference) {
	var marks []difference
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := skipMark.FindStringSubmatch(line); m != nil {
			servers := map[string]string{"redis": "Redis", "valkey": "Valkey"}[m[1]] + m[2]
			if servers == "Redis" {
				servers = "all"
			}
			marks = append(marks, difference{script: name, servers: servers, reason: m[3]})
			continue
		}
		sender, call, ok := strings.Cut(line, "> ")
		if !ok || strings.Trim(sender, "0123456789") != "" {
			continue
		}
		for _, d := range marks {
			d.call = call
			found = append(found, d)
		}
		marks = nil
	}
	return found
}

var skipMark = regexp.MustCompile(`^# (redis|valkey): skip((?: (?:before|from) [0-9.]+)?) \((.+)\)$`)
