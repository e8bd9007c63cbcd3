package main

import (
	"fmt"
	"strings"

	"github.com/vigildb/vigil/structures/glob"
)

// reason is a line of reasons.txt: why differences that fit a pattern are there.
type reason struct {
	peer, pattern, why string
	uses               int
}

// reasons are in order: of those that fit a difference, the first one counts.
type reasons []*reason

// parseReasons reads lines "peer | pattern | why"; the peer may be *.
func parseReasons(text string) (table reasons, err error) {
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) != 3 {
			return nil, fmt.Errorf("reasons.txt:%d: not three parts", i+1)
		}
		table = append(table, &reason{peer: strings.TrimSpace(parts[0]), pattern: strings.TrimSpace(parts[1]), why: strings.TrimSpace(parts[2])})
	}
	return table, nil
}

// of returns the reason of a line, "" if it has none.
func (table reasons) of(line string) string {
	peer, rest, _ := strings.Cut(line, ": ")
	for _, r := range table {
		if (r.peer == "*" || r.peer == peer) && glob.Match([]byte(r.pattern), []byte(rest)) {
			r.uses++
			return r.why
		}
	}
	return ""
}
