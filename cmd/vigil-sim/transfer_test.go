package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/vigildb/vigil/server"
)

// served is a server in memory, its address, and a client.
func served(t *testing.T) (string, *conn) {
	t.Helper()
	srv, err := server.Open(context.Background(), server.Options{InMemory: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }() // ends with srv.Close
	t.Cleanup(func() {
		if err := srv.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, server.ErrClosed) {
			t.Error(err)
		}
	})
	c, err := dial(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return l.Addr().String(), c
}

// do makes a call that must not fail.
func (c *conn) do(t *testing.T, args ...string) any {
	t.Helper()
	c.send(args...)
	v, err := c.reply()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return v
}

// oddNames are hard on CSV, or on SCHED.ADD.
var oddNames = []string{"RATE", "rate=5", "NX", "a,b", `say "x"`, "# no comment", " space ", "two\nlines", "http://h/?rate=5", "ago", "-1", "\xff\xfe"}

// What was exported is imported, and chosen from alike.
func TestExportAndImportGiveTheSameSchedule(t *testing.T) {
	address, c := served(t)
	c.do(t, "SCHED.CREATE", "k", "POLICY", "index")
	for i, name := range oddNames {
		c.do(t, "SCHED.ADD", "k", name, "RATE", fmt.Sprint(.01*float64(i+1)), "GROUP", fmt.Sprint("g ", i%3), "DEADLINE", "900")
	}
	for i := range 2500 {
		c.do(t, "SCHED.ADD", "k", fmt.Sprint("http://h", i%50, "/", i), "WEIGHT", fmt.Sprint(1+i%7), "PRECISION", ".5", "RECALL", "-1")
	}
	for i := range 40 {
		for _, node := range c.do(t, "SCHED.NEXT", "k", "COUNT", "20").([]any) {
			if i%4 > 0 {
				c.do(t, "SCHED.OBSERVE", "k", node.(string), fmt.Sprint(i%5))
			} else {
				c.do(t, "SCHED.FAIL", "k", node.(string))
			}
		}
	}
	c.do(t, "SCHED.PAUSE", "k", "0", "NX", "a,b")
	for _, format := range []string{"csv", "json"} {
		names := len(oddNames)
		if format == "json" { // which cannot keep bytes that are no text
			c.do(t, "SCHED.REM", "k", oddNames[names-1])
		}
		var state, again, errs bytes.Buffer
		other := "copy-" + format
		c.do(t, "SCHED.CREATE", other, "POLICY", "index")
		for _, step := range []struct {
			in   *bytes.Buffer
			out  *bytes.Buffer
			args []string
		}{
			{new(bytes.Buffer), &state, []string{"-export", address, "-key", "k", "-format", format}},
			{&state, &again, []string{"-import", address, "-key", other, "-"}},
			{new(bytes.Buffer), &again, []string{"-export", address, "-key", other, "-format", format}},
		} {
			if step.in == &state {
				step.in = bytes.NewBuffer(bytes.Clone(state.Bytes()))
			}
			if code := run(context.Background(), step.args, step.in, step.out, &errs); code != 0 {
				t.Fatalf("%v: exit code %d: %s", step.args, code, errs.String())
			}
		}
		was, is := stateOf(t, state.String()), stateOf(t, again.String())
		if len(was) < 2500 || len(is) != len(was) {
			t.Fatalf("%s: %d nodes, then %d", format, len(was), len(is))
		}
		for name := range was {
			if fmt.Sprint(was[name]) != fmt.Sprint(is[name]) {
				t.Fatalf("%s, %q:\n%v\n%v", format, name, was[name], is[name])
			}
		}
		a, b := fmt.Sprint(c.do(t, "SCHED.PEEK", "k", "COUNT", "500")), fmt.Sprint(c.do(t, "SCHED.PEEK", other, "COUNT", "500"))
		if a != b {
			t.Errorf("%s: the copy chooses otherwise:\n%.300s\n%.300s", format, a, b)
		}
		if format == "csv" {
			if code, out, errs := program(t, state.String(), "-steps", "50", "-policies", "index,roundrobin", "-"); code != 0 || !strings.Contains(out, "index") {
				t.Errorf("an export is simulated: %d, %s%s", code, out, errs)
			}
		}
	}
}

// stateOf are the fields of an export by node, but for the rate of nodes that
// have an estimate, which an import takes for it.
func stateOf(t *testing.T, text string) map[string]map[string]string {
	t.Helper()
	read, nodes := readState, map[string]map[string]string{}
	if strings.HasPrefix(text, "{") {
		read = readJSONState
	}
	if err := read(strings.NewReader(text), func(_ int, field map[string]string) error {
		if field["probes"] != "0" {
			delete(field, "rate")
		}
		if recall, err := strconv.ParseFloat(field["recall"], 64); err == nil { // is computed anew
			field["recall"] = strconv.FormatFloat(recall, 'g', 12, 64)
		}
		nodes[field["name"]] = field
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return nodes
}

func TestWebIsComparedAndBadFlagsAreRefused(t *testing.T) {
	code, out, errs := program(t, "", "-web", "1200", "-warm-days", "0", "-days", "1", "-learning-days", "0")
	if code != 0 || !strings.Contains(out, "| BinaryLambdaCrawl | .") || !strings.Contains(out, "| **freshness (GREEDY)** |  | .") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	for _, args := range [][]string{{"-web", "1199"}, {"-web", "-5"}, {"-web", "2400", "-trace", "x"}, {"-web", "2400", "-demo", "zipf"},
		{"-web", "2400", "-days", "0"}, {"-trace", "x", "-every", "0"}} {
		if code, _, errs := program(t, "", args...); code != 2 || !strings.Contains(errs, "-web") && !strings.Contains(errs, "-every") {
			t.Errorf("%v: exit code %d, %s", args, code, errs)
		}
	}
	if code, _, errs := program(t, "", "-trace", t.TempDir()); code != 1 || !strings.Contains(errs, "host_hostid_isconstrained.txt") {
		t.Errorf("a directory without a trace: %d, %s", code, errs)
	}
}

func TestBadTransfersAreRefused(t *testing.T) {
	address, c := served(t)
	c.do(t, "SCHED.CREATE", "k")
	for _, x := range []struct {
		stdin, want string
		code        int
		args        []string
	}{
		{"", "-key", 2, []string{"-export", address}},
		{"", "-key", 2, []string{"-key", "k"}},
		{"", "takes no file", 2, []string{"-export", address, "-key", "k", "-"}},
		{"", "takes no file", 2, []string{"-import", address, "-key", "k"}},
		{"", "no such key", 1, []string{"-export", address, "-key", "nosuch"}},
		{"a,1\n", "no such key", 1, []string{"-import", address, "-key", "nosuch", "-"}},
		{"name,rate\na,x\n", `line 2: rate is "x"`, 1, []string{"-import", address, "-key", "k", "-"}},
		{"name,rate\na,-5\n", "lines 2 to 2: ERR", 1, []string{"-import", address, "-key", "k", "-"}},
		{"name,speed\na,5\n", "unknown column", 1, []string{"-import", address, "-key", "k", "-"}},
		{`{"name":"a","rate":`, "object 1", 1, []string{"-import", address, "-key", "k", "-"}},
		{`{"name":"a","speed":1}`, "unknown column", 1, []string{"-import", address, "-key", "k", "-"}},
		{`{"rate":1}`, "no name", 1, []string{"-import", address, "-key", "k", "-"}},
		{"", "connect", 1, []string{"-export", "127.0.0.1:1", "-key", "k"}},
	} {
		if code, _, errs := program(t, x.stdin, x.args...); code != x.code || !strings.Contains(errs, x.want) {
			t.Errorf("%v: exit code %d, %s, want %d and %q", x.args, code, errs, x.code, x.want)
		}
	}
	c.do(t, "SCHED.ADD", "k", "carriage\rreturn")
	if code, _, errs := program(t, "", "-export", address, "-key", "k"); code != 1 || !strings.Contains(errs, "-format json can") {
		t.Errorf("a carriage return in CSV: %d, %s", code, errs)
	}
	if code, out, _ := program(t, "", "-export", address, "-key", "k", "-format", "json"); code != 0 || !strings.Contains(out, `carriage\rreturn`) {
		t.Errorf("a carriage return in JSON: %d, %s", code, out)
	}
}
