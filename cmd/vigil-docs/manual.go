package main

import (
	"fmt"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/conf"
)

// options of the command that are no directives.
var options = [...]struct{ name, doc string }{
	{"--check --dir DIR", "Reads a store that nobody has open, or a snapshot, and tells what is damaged."},
	{"--restore SNAPSHOT --dir NEW", "Makes a new store of a snapshot."},
	{"--recover truncate", "Starts without what a damaged log holds behind the damage, and says what that was."},
	{"--version", "Prints the version of Redis that is followed, the commit, and vigil's own version."},
	{"--help", "Prints a summary."},
}

// signalTexts say what signals do.
var signalTexts = [...]struct{ name, doc string }{
	{"SIGTERM, SIGINT", "End the server: everything acknowledged is written first. SIGTERM again changes nothing."},
	{"SIGINT while the server ends", "Ends it at once. What is lost then is what a crash loses."},
	{"SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2, SIGXFSZ", "Do nothing. A log file goes on to be written under its old name after a rename."},
}

// exitTexts say what the exit status means.
var exitTexts = [...]struct{ name, doc string }{
	{"0", "The server ended as it was asked, or a check found all sound."},
	{"1", "The server could not start, or not close its store, or was ended by a second SIGINT; or a check found damage."},
	{"2", "A check or a restore could not be done."},
}

// manualPage is vigil-server(8).
func manualPage() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".\\\" Made from the table in server/conf: make docs\n.TH VIGIL\\-SERVER 8 \"\" \"vigil %s\" \"System administration\"\n", conf.Roff(commands.Version))
	b.WriteString(".SH NAME\nvigil\\-server \\- a server for sessions that speaks Redis's protocol and keeps everything\n")
	b.WriteString(".SH SYNOPSIS\n.B vigil\\-server\n[\\fIfile\\fR] [\\fB\\-\\-\\fIdirective value\\fR ...]\n")
	for _, o := range options[:2] {
		fmt.Fprintf(&b, ".br\n.B vigil\\-server\n%s\n", conf.Roff(o.name))
	}
	b.WriteString(".SH DESCRIPTION\n")
	fmt.Fprintf(&b, "The server follows Redis %s in commands, replies and directives, and keeps its data in the directory\n.BR dir ,\n"+
		"which one server has open at a time. A first argument without a dash is a configuration file;\n.B \\-\nreads standard input too.\n"+
		"What comes later wins. A directive that protects something and that vigil does not have ends the start.\n", conf.Roff(commands.RedisVersion))
	b.WriteString(".SH OPTIONS\n")
	for _, o := range options {
		item(&b, o.name, o.doc)
	}
	b.WriteString(".SH DIRECTIVES\nEach stands with its default.\n")
	b.WriteString(conf.Manual())
	b.WriteString(".SH SIGNALS\n")
	for _, s := range signalTexts {
		item(&b, s.name, s.doc)
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, e := range exitTexts {
		item(&b, e.name, e.doc)
	}
	b.WriteString(".SH FILES\n")
	item(&b, "/etc/vigil/vigil.conf", "The configuration, where the unit file looks for it.")
	item(&b, "/var/lib/vigil", "The store, where the unit file puts it. Its files are for their owner only.")
	b.WriteString(".SH SEE ALSO\n.BR redis\\-cli (1)\n")
	return b.String()
}

// item writes a word and what it means.
func item(b *strings.Builder, name, doc string) {
	fmt.Fprintf(b, ".TP\n.B %s\n%s\n", conf.Roff(name), conf.Roff(doc))
}
