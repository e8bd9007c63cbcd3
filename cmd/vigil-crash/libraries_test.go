package main

import (
	"strings"
	"testing"
	"time"
)

func TestProgramsOfLibrariesAreNamed(t *testing.T) {
	all, err := parseLibraries("a=run it\n  b = other\n")
	if err != nil || len(all) != 2 || all[0].name != "a" || strings.Join(all[0].words, "|") != "run|it" || strings.Join(all[1].words, "|") != "other" {
		t.Errorf("got %v, %v", all, err)
	}
	for _, bad := range []string{"a", "=run", "a=", "a=run\n\nb=run"} {
		if all, err := parseLibraries(bad); err == nil {
			t.Errorf("%q: got %v", bad, all)
		}
	}
}

// A program that leaves a number out, repeats one or says anything else is found out.
func TestAcknowledgementsOfAProgramAreChecked(t *testing.T) {
	for lines, want := range map[string]string{
		"0 1\n0 2\n3 1\n":   "",
		"0 1\n0 3\n":        `"0 3" out of turn`,
		"0 1\n0 1\n":        `"0 1" out of turn`,
		"4 1\n":             `says "4 1"`,
		"-1 1\n":            `says "-1 1"`,
		"0 1\nhello\n0 2\n": `says "hello"`,
	} {
		p := &libraryRun{lines: make(chan time.Time, 1)}
		err := p.read(strings.NewReader(lines))
		if want == "" && (err != nil || p.acked != [4]int{2, 0, 0, 1}) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v and %v, want %q", lines, p.acked, err, want)
		}
	}
}

// A value that was acknowledged and is not there is an error, and so is a program that ends.
func TestProgramThatLosesWritesOrEndsIsFound(t *testing.T) {
	for program, want := range map[string]string{
		// It says that everything is acknowledged, and writes nothing.
		"n=0; while [ $n -lt 1000000 ]; do n=$((n+1)); for k in 0 1 2 3; do echo $k $n; done; done 2>/dev/null & read _; kill $!; exit 0": "counter:0 is",
		"echo 0 1": "the program has ended",
	} {
		err := runLibraries(server, "cluster", 1, []string{"everysec"}, []library{{"sh", []string{"sh", "-c", program}}}, 1)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", program, err, want)
		}
	}
}
