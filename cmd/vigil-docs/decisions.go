package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// decision is an ADR: its number of four digits, what it decides, and others that its Status mentions.
type decision struct {
	number, title, file string
	mentions            []string
}

var (
	decisionTitle  = regexp.MustCompile(`^# (\d{4})\. (\S.*)$`)
	decisionNumber = regexp.MustCompile(`\b0\d{3}\b`)
)

// decisions reads the ADRs of a folder in their order. Each begins with `# NNNN. Title`, its number in the name of the file too, and has a
// paragraph Status.
func decisions(folder string) (all []decision, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "[0-9]*.md"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		d, err := readDecision(filepath.Base(path), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

func readDecision(file, text string) (d decision, err error) {
	title, rest, _ := strings.Cut(text, "\n")
	m := decisionTitle.FindStringSubmatch(title)
	_, status, ok := strings.Cut(rest, "\n## Status\n")
	switch {
	case m == nil || !strings.HasPrefix(file, m[1]+"-"):
		return d, fmt.Errorf("%s begins with %q, want its number, a period and a title", file, title)
	case !ok:
		return d, fmt.Errorf("%s has no Status", file)
	}
	status, _, _ = strings.Cut(status, "\n## ")
	d = decision{m[1], m[2], file, nil}
	for _, number := range decisionNumber.FindAllString(status, -1) {
		if number != d.number && !slices.Contains(d.mentions, number) {
			d.mentions = append(d.mentions, number)
		}
	}
	return d, nil
}

// decisionPage lists the ADRs. Beside each are earlier ones that it continues and later ones that amend it: if the Status of a decision
// mentions another one, the later of the two amends the earlier.
func decisionPage(all []decision) (string, error) {
	earlier, later := map[string][]string{}, map[string][]string{}
	known := map[string]decision{}
	for _, d := range all {
		if other, ok := known[d.number]; ok {
			return "", fmt.Errorf("%s and %s have one number", other.file, d.file)
		}
		known[d.number] = d
	}
	for _, d := range all {
		for _, other := range d.mentions {
			if _, ok := known[other]; !ok {
				return "", fmt.Errorf("%s mentions %s, which is not there", d.file, other)
			}
			from, to := min(d.number, other), max(d.number, other)
			if !slices.Contains(later[from], to) {
				later[from], earlier[to] = append(later[from], to), append(earlier[to], from)
			}
		}
	}
	links := func(numbers []string) string {
		slices.Sort(numbers)
		var out []string
		for _, n := range numbers {
			out = append(out, fmt.Sprintf("[%s](%s)", n, known[n].file))
		}
		return strings.Join(out, ", ")
	}
	var b strings.Builder
	b.WriteString(`# Decisions

<!-- Made from the Status of each: make docs -->

Why vigil is as it is: each page says what was asked, what was decided and what was rejected. They
are kept as they were written; where a later one amends an earlier one, both say so in their Status,
and this index does.

| | decision | goes on with | completed or amended by |
|---|---|---|---|
`)
	for _, d := range all {
		fmt.Fprintf(&b, "| [%s](%s) | %s | %s | %s |\n", d.number, d.file, d.title, links(earlier[d.number]), links(later[d.number]))
	}
	return b.String(), nil
}
