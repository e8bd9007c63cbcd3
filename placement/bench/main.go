package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	list := flags.String("n", "10,100,1000,10000", "numbers of units, separated by commas")
	markdown := flags.Bool("markdown", false, "print Markdown")
	into := flags.String("into", "", "put the Markdown between the marks of this file instead")
	figures := flags.String("figures", "", "draw the figures into this directory instead")
	png := flags.Bool("png", false, "draw PNG beside SVG")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *figures != "" {
		return draw(*figures, *png)
	}
	sizes, err := parseSizes(*list)
	if err != nil {
		return err
	}
	sections, err := study(sizes, usual())
	if err != nil {
		return err
	}
	switch {
	case *into != "":
		return insert(*into, sections)
	case *markdown:
		return writeMarkdown(os.Stdout, sections, facts())
	}
	return writeText(os.Stdout, sections)
}

func parseSizes(list string) ([]int, error) {
	var out []int
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 4 || n > 50000 {
			return nil, fmt.Errorf("%q is not a number of units from 4 to 50000", word)
		}
		out = append(out, n)
	}
	return out, nil
}

// study measures all candidates, those that take different capacities twice.
func study(sizes []int, e effort) ([]section, error) {
	var out []section
	for _, n := range sizes {
		equal := section{n: n, capacities: "equal"}
		mixed := section{n: n, capacities: "1 to 100"}
		for _, c := range append(ours(), peers()...) {
			r, err := measure(c, equalWeights(n), e)
			if err != nil {
				return nil, err
			}
			equal.rows = append(equal.rows, r)
			if !c.weighted {
				continue
			}
			if r, err = measure(c, mixedWeights(n), e); err != nil {
				return nil, err
			}
			mixed.rows = append(mixed.rows, r)
		}
		out = append(out, equal, mixed)
	}
	return out, nil
}

// The marks between which a document holds the tables.
const (
	beginMark = "<!-- tables: make placement-table -->\n"
	endMark   = "<!-- end of tables -->\n"
)

// errMarks is returned when a document has no place for the tables.
var errMarks = errors.New("the marks for the tables are not there")

func insert(path string, sections []section) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := bytes.Cut(old, []byte(beginMark))
	_, tail, ended := bytes.Cut(rest, []byte(endMark))
	if !ok || !ended {
		return fmt.Errorf("%s: %w", path, errMarks)
	}
	var b bytes.Buffer
	b.Write(head)
	b.WriteString(beginMark)
	if err := writeMarkdown(&b, sections, facts()); err != nil {
		return err
	}
	b.WriteString(endMark)
	b.Write(tail)
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// facts say where figures come from.
func facts() []string {
	commit := "unknown"
	if out, err := exec.Command("git", "log", "-1", "--format=%h", "--", "..").Output(); err == nil {
		commit = strings.TrimSpace(string(out))
	}
	return []string{
		"machine: " + processor() + ", " + strconv.Itoa(runtime.NumCPU()) + " cores, " +
			runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version(),
		"commit of placement: " + commit,
		"command: `make placement-table`",
	}
}

// processor returns what the system calls it, where there is such a file.
func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return "unknown processor"
}
