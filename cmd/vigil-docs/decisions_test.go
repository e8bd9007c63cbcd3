package main

import (
	"strings"
	"testing"
)

func TestDecisionsSayWhatAmendsThem(t *testing.T) {
	third, err := readDecision("0003-c.md", "# 0003. Third\n\n## Status\nAccepted. Replaces what 0001 says.\n\n## Context\nAs 0002 has it.\n")
	if err != nil {
		t.Fatal(err)
	}
	all := []decision{{"0001", "First", "0001-a.md", []string{"0003"}}, {"0002", "Second", "0002-b.md", nil}, third}
	page, err := decisionPage(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		"| [0001](0001-a.md) | First |  | [0003](0003-c.md) |\n",
		"| [0002](0002-b.md) | Second |  |  |\n",
		"| [0003](0003-c.md) | Third | [0001](0001-a.md) |  |\n",
	} {
		if !strings.Contains(page, row) {
			t.Errorf("no row %q in\n%s", row, page)
		}
	}
}

func TestDecisionsThatCannotBeListedAreRefused(t *testing.T) {
	for file, text := range map[string]string{
		"0003-c.md": "# 0004. Other number\n\n## Status\nAccepted.\n",
		"0004-d.md": "# 0004: Colon\n\n## Status\nAccepted.\n",
		"0005-e.md": "# 0005. Title\n\nStatus: accepted\n",
	} {
		if _, err := readDecision(file, text); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
	one := decision{"0001", "First", "0001-a.md", []string{"0009"}}
	if _, err := decisionPage([]decision{one}); err == nil {
		t.Error("one that mentions a decision which is not there is listed")
	}
	one.mentions = nil
	if _, err := decisionPage([]decision{one, one}); err == nil {
		t.Error("two of one number are listed")
	}
}
