package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/vigildb/vigil/scheduler"
)

// program runs the program and returns its exit code and what it wrote.
func program(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// tableOf runs the program with -format csv and returns the table by policy and
// column.
func tableOf(t *testing.T, stdin string, args ...string) map[string]map[string]float64 {
	t.Helper()
	code, out, errs := program(t, stdin, append([]string{"-format", "csv"}, args...)...)
	if code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, errs)
	}
	records, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]map[string]float64{}
	for _, r := range records[1:] {
		table[r[0]] = map[string]float64{}
		for i, cell := range r[2:] {
			if table[r[0]][records[0][i+2]], err = strconv.ParseFloat(cell, 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	return table
}

func TestTableHasEveryPolicyAboveTheBounds(t *testing.T) {
	table := tableOf(t, "", "-demo", "pow2", "-steps", "20000")
	if len(table) < 4 {
		t.Fatalf("policies: got %d", len(table))
	}
	for name, r := range table {
		if !(r["LB1"] <= r["LB2"] && r["LB2"] <= r["LB3"] && r["cost"] >= r["LB3"]*0.98) {
			t.Errorf("%s: got %v, want bounds in order below the cost", name, r)
		}
	}
	if r := table["index"]["ratio"]; r > 1.02 {
		t.Errorf("index costs %g x LB3, want at most 1.02", r)
	}
	if r := table["memoryless"]["cost"]; math.Abs(r-5.4698) > 0.3 {
		t.Errorf("memoryless costs %g, want about 5.47 (Theorem 3)", r)
	}
}

func TestTableIHasBothOptima(t *testing.T) {
	for demo, want := range map[string]float64{"table1": 282.8253, "table1-equal": 471.3825} {
		table := tableOf(t, "", "-demo", demo, "-steps", "4000", "-policies", "whittle,roundrobin")
		if got := table["whittle"]["reward"]; math.Abs(got-want) > 1e-3 {
			t.Errorf("%s: whittle earns %g, want %g", demo, got, want)
		}
		for name, r := range table {
			if r["ratio"] > 1+1e-9 {
				t.Errorf("%s: %s earns more than the bound: %v", demo, name, r)
			}
		}
	}
}

func TestSameSeedSameTable(t *testing.T) {
	args := []string{"-demo", "zipf", "-steps", "3000", "-policies", "index,memoryless", "-estimator", "change", "-change-at", "2000"}
	_, a, _ := program(t, "", append(args, "-seed", "5")...)
	_, b, _ := program(t, "", append(args, "-seed", "5")...)
	_, c, _ := program(t, "", append(args, "-seed", "6")...)
	if a != b {
		t.Errorf("two runs of one seed differ:\n%s\n%s", a, b)
	}
	if a == c {
		t.Error("the seed makes no difference")
	}
}

func TestNodesComeFromAFileOrTheStandardInput(t *testing.T) {
	const nodes = "# a comment\na,0.9\nb,0.5,,,,1\nc, 0.1, 1\n"
	want := 2.8 // the cycle of these rates
	file := filepath.Join(t.TempDir(), "nodes.csv")
	if err := os.WriteFile(file, []byte(nodes), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-"}, {file}} {
		table := tableOf(t, nodes, append([]string{"-steps", "2520", "-warm", "2520", "-policies", "index"}, args...)...)
		if got := table["index"]["cost"]; math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: index costs %g, want %g", args, got, want)
		}
	}
}

func TestRatesAreEstimatedFromObservations(t *testing.T) {
	e, err := scheduler.EstimatorNamed("change")
	if err != nil {
		t.Fatal(err)
	}
	f, err := demos.Open("testdata/observations.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	nodes, err := readObservations(f, e, 40, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []node{{"blog", scheduler.Params{Rate: 0.1}}, {"news", scheduler.Params{Rate: 2}}, {"quiet", scheduler.Params{Rate: 0.01}}} {
		if got := nodes[i]; got.name != want.name || got.Rate < want.Rate/2 || got.Rate > want.Rate*2 {
			t.Errorf("got %s at %g, want %s at about %g", got.name, got.Rate, want.name, want.Rate)
		}
	}
	// The order of lines makes no difference, and a step may be longer.
	half, err := readObservations(strings.NewReader("a,20,4\na,0,9\na,10,4\n"), e, 40, 10)
	if err != nil || math.Abs(half[0].Rate-8.5/3) > 1e-9 {
		t.Errorf("got %v, %v, want a rate of 8.5/3", half, err)
	}
}

func TestBadInputIsToldByItsLine(t *testing.T) {
	for _, c := range []struct{ name, input, want string }{
		{"no number", "name,rate\na,1\nb,x\n", `line 3: rate is "x"`},
		{"negative", "a,1\nb,-1\n", `line 2: rate is "-1"`},
		{"nan", "a,nan\nb,1\n", `line 1: rate is "nan"`},
		{"twice", "a,1\n\nb,1\na,2\n", `line 4: node "a" was on line 1`},
		{"column", "name,speed\na,1\n", `line 1: unknown column "speed", available: name,rate`},
		{"fields", "a,1,1,1,1,1,1,1\n", "line 1: 8 fields"},
		{"cost", "a,1,1,0,1,0\n", "line 1: node \"a\": scheduler: cost"},
		{"no name", "a,1\n,2\n", "line 2: a node has no name"},
		{"no rate", "a,1\nb\n", `line 2: node "b" has neither`},
		{"quotes", "a,1\n\"b,1\n", "line 2"},
		{"empty", "# nothing\n", "no lines"},
		{"header", "name,rate\n", "no nodes"},
	} {
		code, out, errs := program(t, c.input, "-steps", "10", "-")
		if code != 1 || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d, %q, want 1 and %q", c.name, code, errs, c.want)
		}
	}
	for _, c := range []struct{ name, input, want string }{
		{"once", "a,0,1\nb,1,1\nb,2,1\n", "line 1 is its only observation"},
		{"same step", "a,0,1\na,0.2,1\n", "line 2 is in the same step as line 1"},
		{"items", "a,0,1\na,1,-1\n", `line 2: items is "-1"`},
		{"time", "a,soon,1\na,1,1\n", `line 1: unknown column "a"`},
	} {
		code, _, errs := program(t, c.input, "-steps", "10", "-observations", "-")
		if code != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d, %q, want 1 and %q", c.name, code, errs, c.want)
		}
	}
}

func TestFlagsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{}, {"-demo", "zipf", "-"}, {"-demo", "nosuch"}, {"-demo", "observations"}, {"-demo", "zipf", "-probes", "0"}, {"-demo", "zipf", "-steps", "0"},
		{"-demo", "zipf", "-warm", "-2"}, {"-demo", "zipf", "-drift", "-1"}, {"-demo", "zipf", "-drift", "nan"},
		{"-demo", "zipf", "-revert", "1"}, {"-demo", "zipf", "-explore", "2"}, {"-demo", "zipf", "-format", "xml"},
		{"-demo", "zipf", "-items", "many"}, {"-demo", "zipf", "-model", "none"}, {"-demo", "zipf", "-estimator", "best"},
		{"-demo", "zipf", "-window", "0"}, {"-observations", "-", "-step", "0"}, {"a.csv", "b.csv"}, {"-colour"},
	} {
		if code, out, errs := program(t, "", args...); code != 2 || out != "" || errs == "" {
			t.Errorf("%v: exit code %d, %q %q, want 2 and a reason", args, code, out, errs)
		}
	}
	for _, args := range [][]string{{"nosuch.csv"}, {"-demo", "zipf", "-policies", "best"}, {"-demo", "zipf", "-policies", "lspe"}} {
		if code, _, errs := program(t, "", args...); code != 1 || errs == "" {
			t.Errorf("%v: exit code %d, %q, want 1 and a reason", args, code, errs)
		}
	}
	if code, _, errs := program(t, "", "-h"); code != 0 || !strings.Contains(errs, "usage: vigil-sim") {
		t.Errorf("-h: exit code %d, %q", code, errs)
	}
}

func TestFormatsSayTheSame(t *testing.T) {
	args := []string{"-demo", "table1", "-steps", "100", "-policies", "whittle"}
	code, out, errs := program(t, "", append(args, "-format", "json")...)
	var rows []row
	if err := json.Unmarshal([]byte(out), &rows); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v: %s", code, err, errs)
	}
	table := tableOf(t, "", args...)
	if len(rows) != 1 || rows[0].Value != table["whittle"]["reward"] || rows[0].Bound != table["whittle"]["bound"] {
		t.Errorf("JSON %+v, CSV %v", rows, table)
	}
	_, text, _ := program(t, "", args...)
	if lines := strings.Split(strings.TrimSpace(text), "\n"); len(lines) != 2 || !strings.Contains(lines[1], strconv.FormatFloat(rows[0].Value, 'f', 4, 64)) {
		t.Errorf("text: %s", text)
	}
}

func TestFiguresCanBeRead(t *testing.T) {
	for demo, names := range map[string][]string{"pow2": {"cost-over-bound", "recovery"}, "table1": {"reward-over-bound", "learning"}} {
		dir := filepath.Join(t.TempDir(), "new")
		if code, _, errs := program(t, "", "-demo", demo, "-steps", "400", "-figures", dir); code != 0 {
			t.Fatalf("%s: exit code %d: %s", demo, code, errs)
		}
		for _, name := range names {
			drawing, err := os.ReadFile(filepath.Join(dir, name+".svg"))
			if err != nil {
				t.Fatal(err)
			}
			for d := xml.NewDecoder(bytes.NewReader(drawing)); ; {
				if _, err := d.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Fatalf("%s.svg: %v", name, err)
				}
			}
			f, err := os.Open(filepath.Join(dir, name+".png"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := png.Decode(f); err != nil {
				t.Errorf("%s.png: %v", name, err)
			}
			f.Close()
		}
	}
}

func TestUnknownKindOfFigureIsAnError(t *testing.T) {
	code, _, errs := program(t, "", "-demo", "pow2", "-steps", "40", "-figures", t.TempDir(), "-kinds", "bmp")
	if code != 1 || !strings.Contains(errs, "bmp") {
		t.Errorf("exit code %d, %q, want 1 and the kind", code, errs)
	}
}

func TestInterruptEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var errs bytes.Buffer
	if code := run(ctx, []string{"-demo", "zipf", "-steps", "1000000000000"}, nil, io.Discard, &errs); code != 1 || !strings.Contains(errs.String(), "canceled") {
		t.Errorf("exit code %d, %q, want 1", code, errs.String())
	}
}

func FuzzInput(f *testing.F) {
	f.Add("name,rate\na,1\n")
	f.Add("a,1,2,3\nb,4\n")
	f.Add("\"a\nb\",1e300\n#x\n,,,")
	f.Fuzz(func(t *testing.T, text string) {
		nodes, err := readNodes(strings.NewReader(text))
		for _, n := range nodes {
			if err == nil && (n.Check() != nil || n.name == "") {
				t.Errorf("accepted %+v", n)
			}
		}
		e, found := scheduler.EstimatorNamed("change")
		if found != nil {
			t.Fatal(found)
		}
		nodes, err = readObservations(strings.NewReader(text), e, 40, 1)
		for _, n := range nodes {
			if err == nil && n.Check() != nil {
				t.Errorf("estimated %+v", n)
			}
		}
	})
}
