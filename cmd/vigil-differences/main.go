package main

import (
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
)

//go:embed reasons.txt
var reasonsText string

func main() {
	vigil := flag.String("vigil", "", "address of a vigil server")
	peers := map[string]*string{"redis": flag.String("redis", "", "address of a Redis"), "valkey": flag.String("valkey", "", "address of a Valkey")}
	flag.Parse()
	unexplained, err := run(os.Stdout, *vigil, peers)
	if err != nil {
		fmt.Fprintln(os.Stderr, "vigil-differences:", err)
		os.Exit(2)
	}
	if unexplained > 0 {
		os.Exit(1)
	}
}

// run compares vigil with each peer that has an address, and returns how many lines have no reason, and reasons no line.
func run(out io.Writer, vigil string, peers map[string]*string) (unexplained int, err error) {
	table, err := parseReasons(reasonsText)
	if err != nil {
		return 0, err
	}
	ours, err := factsOf(vigil)
	if err != nil {
		return 0, fmt.Errorf("vigil: %w", err)
	}
	compared := map[string]bool{}
	for _, peer := range []string{"redis", "valkey"} {
		if *peers[peer] == "" {
			continue
		}
		theirs, err := factsOf(*peers[peer])
		if err != nil {
			return 0, fmt.Errorf("%s: %w", peer, err)
		}
		compared[peer] = true
		for _, line := range differences(peer, ours, theirs) {
			reason := table.of(line)
			if reason == "" {
				unexplained++
				reason = "NO REASON"
			}
			fmt.Fprintf(out, "%s | %s\n", line, reason)
		}
	}
	for _, r := range table {
		if r.uses == 0 && (r.peer == "*" || compared[r.peer]) {
			unexplained++
			fmt.Fprintf(out, "%s: no difference is like %q | NO DIFFERENCE\n", r.peer, r.pattern)
		}
	}
	return unexplained, nil
}

// differences lists in what facts differ, in the order of their names. Of what only one has nothing else is listed.
func differences(peer string, ours, theirs facts) (lines []string) {
	names := make([]string, 0, len(ours)+len(theirs))
	for name := range ours {
		names = append(names, name)
	}
	for name := range theirs {
		if _, both := ours[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		a, here := ours[name]
		b, there := theirs[name]
		switch {
		case a.of != "" && (!ours.has(a.of) || !theirs.has(a.of)), b.of != "" && (!ours.has(b.of) || !theirs.has(b.of)):
		case !there:
			lines = append(lines, fmt.Sprintf("%s: %s: only here", peer, name))
		case !here:
			lines = append(lines, fmt.Sprintf("%s: %s: not here", peer, name))
		case a.value != b.value:
			lines = append(lines, fmt.Sprintf("%s: %s: %q, there %q", peer, name, a.value, b.value))
		}
	}
	return lines
}
