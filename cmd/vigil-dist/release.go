package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/vigildb/vigil/commands"
)

// release is what all files of a run have in common.
type release struct {
	version string    // in names of files and packages
	date    time.Time // of the commit, UTC
	profile string    // by which the programs are compiled, "off" for none; ADR 0046
}

// currentRelease asks git what is checked out.
func currentRelease() (*release, error) {
	line, err := output(exec.Command("git", "log", "-1", "--format=%H %ct"))
	if err != nil {
		return nil, fmt.Errorf("a release needs a git clone: %w", err)
	}
	commit, stamp, _ := strings.Cut(line, " ")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || len(commit) < 8 {
		return nil, fmt.Errorf("git log answered %q", line)
	}
	tags, err := output(exec.Command("git", "tag", "--points-at", "HEAD"))
	if err != nil {
		return nil, err
	}
	date := time.Unix(seconds, 0).UTC()
	return &release{version: versionAt(commit, date, strings.Fields(tags)), date: date}, nil
}

// versionAt is vigil's version at a commit with its tag. At any other it goes on
// with the commit's time, so that package managers see later ones as newer, and the
// commit.
func versionAt(commit string, date time.Time, tags []string) string {
	for _, tag := range tags {
		if tag == "v"+commands.Version {
			return commands.Version
		}
	}
	return fmt.Sprintf("%s+git%s.%s", commands.Version, date.Format("20060102.150405"), commit[:8])
}

// output runs a command and returns what it printed, without the white space
// around it. The error includes its output.
func output(c *exec.Cmd) (string, error) {
	out, err := c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
