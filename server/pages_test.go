package server

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// What docs/scheduler.md begins with is what a user gets who types it.
func TestFirstSessionOfTheSchedulesPageIsTrue(t *testing.T) {
	page, err := os.ReadFile("../docs/scheduler.md")
	if err != nil {
		t.Fatal(err)
	}
	_, session, ok := strings.Cut(string(page), "\n```\n")
	session, _, closed := strings.Cut(session, "\n```\n")
	if !ok || !closed {
		t.Fatal("the page has no session")
	}
	c := newRig(t).dial()
	calls := strings.Split(session, "127.0.0.1:6379> ")[1:]
	for _, call := range calls {
		line, reply, _ := strings.Cut(strings.TrimSpace(call), "\n")
		if got := c.do(strings.Fields(line)...); got != replyOf(reply) {
			t.Errorf("%s: got %s, the page says %s", line, got, replyOf(reply))
		}
	}
	if len(calls) < 5 {
		t.Errorf("the page has %d calls", len(calls))
	}
}

var numberedElement = regexp.MustCompile(`(?m)^\d+\) `)

// replyOf is what redis-cli prints, as tests write replies: of arrays those without arrays in them.
func replyOf(printed string) string {
	printed = strings.ReplaceAll(printed, "(integer)", "(int)")
	if !numberedElement.MatchString(printed) {
		return printed
	}
	return "[" + strings.ReplaceAll(numberedElement.ReplaceAllString(printed, ""), "\n", " ") + "]"
}
