package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/conf"
)

var update = flag.Bool("update", false, "write packaging/vigil-session.8")

// fact is a word of the manual page and what it means.
type fact struct{ name, doc string }

var manualFacts = [...]struct {
	title string
	facts []fact
}{
	{"ENVIRONMENT", []fact{
		{passwordVariable, "The password for the server, unless the URL of -addr has one: a list of processes shows flags."},
		{userVariable, "The user of that password; the default user if there is none."},
	}},
	{"SIGNALS", []fact{
		{"SIGTERM, SIGINT", "Stop after what was published before is answered, which takes 10 seconds at most. A second one ends the process at once."},
		{"SIGHUP", "Reads the configuration again. One that is not good is refused as a whole, and the old one stays."},
	}},
	{"EXIT STATUS", []fact{
		{"0", "The service stopped as it was asked."},
		{"1", "Something failed: the file is not good, the server has no BF commands, the address of -http is taken."},
		{"2", "Flags make no sense."},
	}},
	{"FILES", []fact{
		{"/etc/vigil/session.toml", "The configuration, where the unit file looks for it: every setting with its default and what it means."},
		{"/etc/default/vigil-session", "Flags in OPTIONS, and the password, for the unit file."},
	}},
}

// manualPage is vigil-session(8), in the macros of man.
func manualPage() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".\\\" Made from the flags of vigil-session: make docs\n.TH VIGIL\\-SESSION 8 \"\" \"vigil %s\" \"System administration\"\n", conf.Roff(commands.Version))
	b.WriteString(`.SH NAME
vigil\-session \- the microservice that keeps what follows from page views
.SH SYNOPSIS
.B vigil\-session
[\fIflags\fR]
.br
.B vigil\-session bench
[\fIflags\fR]
.SH DESCRIPTION
The service hears page views and questions that a web tier publishes on channels of a server, vigil or a Redis with the
Bloom module. It keeps for each session which pages were seen, how many and when, and pushes answers to lists from which
the web tier takes them. Several instances share the sessions by globs that do not overlap. A server that is away is
waited for. Pages that get no answer in time are shown without what it would have added.
.PP
.B vigil\-session bench
puts visitors on such a store and measures what they wait;
.B vigil\-session bench \-h
lists its flags.
.SH OPTIONS
`)
	new(options).flags().VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" {
			usage += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		tag := `\fB` + conf.Roff("-"+f.Name) + `\fR`
		if value != "" {
			tag += ` \fI` + conf.Roff(value) + `\fR`
		}
		fmt.Fprintf(&b, ".TP\n%s\n%s.\n", tag, conf.Roff(strings.ToUpper(usage[:1])+usage[1:]))
	})
	for _, s := range manualFacts {
		fmt.Fprintf(&b, ".SH %s\n", s.title)
		for _, f := range s.facts {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", conf.Roff(f.name), conf.Roff(f.doc))
		}
	}
	b.WriteString(".SH SEE ALSO\n.BR vigil\\-server (8)\n")
	return b.String()
}

func TestManualPageIsFresh(t *testing.T) {
	path := filepath.Join("packaging", "vigil-session.8")
	page := manualPage()
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != page {
		t.Errorf("%s is not what the flags say (%v): run make docs", path, err)
	}
}

// TestUnitStartsTheService reads the flags of the unit, with those of the file
// beside it, as the service does.
func TestUnitStartsTheService(t *testing.T) {
	setting := func(file, pattern string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("packaging", file))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`(?m)^`+pattern+`$`).FindAllStringSubmatch(string(text), -1)
		if len(found) != 1 {
			t.Fatalf("%s: %q is there %d times", file, pattern, len(found))
		}
		return found[0][1]
	}
	const unit = "vigil-session.service"
	words := strings.Fields(setting(unit, "ExecStart=/usr/bin/vigil-session (.*)"))
	if last := words[len(words)-1]; last != "$OPTIONS" {
		t.Fatalf("ExecStart ends with %s, want $OPTIONS", last)
	}
	args := append(words[:len(words)-1], strings.Fields(setting("vigil-session.default", `OPTIONS="(.*)"`))...)
	o, err := readOptions(args, t.Output(), t.Output())
	if err != nil || o.config != "/etc/vigil/session.toml" || o.addr != "localhost:6379" {
		t.Errorf("the unit starts a service with %+v, %v", o, err)
	}
	if got := setting(unit, "EnvironmentFile=(.*)"); got != "-/etc/default/vigil-session" {
		t.Errorf("EnvironmentFile is %s", got)
	}
	if got := setting(unit, "RestartPreventExitStatus=(.*)"); got != "2" {
		t.Errorf("flags that make no sense are tried again: %s", got)
	}
}
