package server

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
)

// flagsApart are the commands that differ from Redis in these flags, and why.
var flagsApart = map[string]struct {
	flags []string
	why   string
}{
	"watch":   {[]string{"no_multi"}, "as in Valkey 9.1: what a transaction watches amid its calls it would watch too late"},
	"migrate": {[]string{"no_multi", "noscript"}, "its keys would be locked while the other server replies"},
}

// Clients of a cluster and proxies decide by flags and tips where a command goes.
func TestCommandsHaveTheFlagsAndTipsOfRedis(t *testing.T) {
	text, err := os.ReadFile("testdata/command_flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]*commands.Command{}
	for _, row := range newRig(t).srv.table.All() {
		rows[row.FullName()] = row
	}
	seen := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		seen++
		left, right, _ := strings.Cut(line, ";")
		words := strings.Fields(left)
		name, flags, tips := words[0], words[1:], strings.Fields(right)
		row := rows[name]
		if row == nil {
			t.Errorf("there is no %s", name)
			continue
		}
		flags = append(flags, flagsApart[name].flags...)
		have, haveTips := row.FlagNames(), strings.Fields(row.Tips)
		if row.Is(commands.Blocking) { // whether scripts may call it is the business of the transcripts of scripts
			flags, have = without(flags, "noscript"), without(have, "noscript")
		}
		for _, list := range [][]string{flags, have, tips, haveTips} {
			slices.Sort(list)
		}
		if !slices.Equal(have, flags) {
			t.Errorf("%s: flags are %s, want %s", name, have, flags)
		}
		if !slices.Equal(haveTips, tips) {
			t.Errorf("%s: tips are %s, want %s", name, haveTips, tips)
		}
	}
	if seen < 300 {
		t.Errorf("testdata/command_flags.txt has %d commands", seen)
	}
}

func without(list []string, word string) []string {
	return slices.DeleteFunc(list, func(w string) bool { return w == word })
}
