package main

import (
	"fmt"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/conf"
)

// options of the command that are not directives.
var options = [...]struct{ name, doc string }{
	{"--check --dir DIR", "Checks a snapshot or a store that no server has open, and reports damage."},
	{"--restore SNAPSHOT --dir NEW", "Creates a new store from a snapshot."},
	{"--restore TARGET [--until TIME] [--backup NAME] --dir NEW", "Creates a new store from a backup at s3://bucket/prefix or file:///path, with the log behind it up to a time."},
	{"--check-backup TARGET", "Reads all backups at a target, and reports damage."},
	{"--import FILE|DIR|- --dir DIR", "Makes keys of an RDB file, an append-only file or a directory of these, of Redis or Valkey; docs/migration.md has the options."},
	{"--export FILE --for TARGET --dir DIR", "Writes the keys as an RDB file for redis7.0, redis7.4, valkey8 or valkey9."},
	{"--become member --dir DIR", "Makes a store that no server has open, and that is alone, one that founds a group with its keys; docs/migration.md has the recipe."},
	{"--become alone --dir DIR", "Makes the store of a member of a group, which no server has open, one that is alone, with all that its log has. It is no member of that group any more."},
	{"--recover alone", "Starts a member of a group as the only one, with what it has, and a new number: for a group whose other members are lost. They cannot come back."},
	{"--recover truncate", "Starts from a damaged store without the part of the log that follows the damage, and reports what that part held."},
	{"--doctor [file] [--directive value ...]", "Looks at what a server with this configuration would find on this machine: open files, memory and cgroups, overcommit, huge pages, backlog, clock, room and speed of the disk. Prints ok, warn or bad with what to change."},
	{"--ping [file] [--directive value ...]", "Asks the server with this configuration, on this machine, whether it answers, and prints its reply: for health checks."},
	{"--version", "Prints the version of Redis that vigil follows, the commit, and vigil's own version."},
	{"--help", "Prints a summary of the options."},
}

// signalTexts describes the effects of signals.
var signalTexts = [...]struct{ name, doc string }{
	{"SIGTERM, SIGINT", "Shut the server down after writing everything acknowledged. A second SIGTERM has no effect."},
	{"SIGINT during the shutdown", "Ends the process at once. It loses what a crash would lose."},
	{"SIGHUP", "Opens the files of logfile and audit-log-file again, for programs that rotate them, and reads the certificates of TLS again, which new connections use. If a file cannot be opened or used, the log says why and nothing changes."},
	{"SIGPIPE, SIGUSR1, SIGUSR2, SIGXFSZ", "Are ignored."},
}

// exitTexts describes the values of the exit status.
var exitTexts = [...]struct{ name, doc string }{
	{"0", "The server was shut down on request, or a check found no damage."},
	{"1", "The server could not start or could not close its store, or a second SIGINT ended it; or a check found damage; --doctor found something worth a warning, or --ping no answer."},
	{"2", "--doctor found something bad; or a check, a restore or --become was not possible."},
	{"3", "The server was shut down on request, and could not write all that it had acknowledged, as on a full disk: the log says how many changes are lost. The systemd unit does not start it again then."},
}

// manualPage is vigil-server(8).
func manualPage() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".\\\" Made from the table in server/conf: make docs\n.TH VIGIL\\-SERVER 8 \"\" \"vigil %s\" \"System administration\"\n", conf.Roff(commands.Version))
	b.WriteString(".SH NAME\nvigil\\-server \\- a durable session store that speaks the protocol of Redis\n")
	b.WriteString(".SH SYNOPSIS\n.B vigil\\-server\n[\\fIfile\\fR] [\\fB\\-\\-\\fIdirective value\\fR ...]\n")
	for _, o := range options[:2] {
		fmt.Fprintf(&b, ".br\n.B vigil\\-server\n%s\n", conf.Roff(o.name))
	}
	b.WriteString(".SH DESCRIPTION\n")
	fmt.Fprintf(&b, "The server follows Redis %s in commands, replies and directives, and keeps its data in the directory\n.BR dir ,\n"+
		"which only one server can have open at a time. A first argument without a dash is a configuration file;\n.B \\-\nalso reads standard input.\n"+
		"Later settings override earlier ones. The server does not start if a directive is set that protects something and that vigil does not support.\n", conf.Roff(commands.RedisVersion))
	b.WriteString(".SH OPTIONS\n")
	for _, o := range options {
		item(&b, o.name, o.doc)
	}
	b.WriteString(".SH DIRECTIVES\nEach directive is shown with its default.\n")
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
	item(&b, "/etc/vigil/vigil.conf", "The configuration file that the systemd unit uses.")
	item(&b, "/var/lib/vigil", "The store of the systemd unit. Only its owner can access the files.")
	b.WriteString(".SH SEE ALSO\n.BR redis\\-cli (1)\n")
	return b.String()
}

// item writes a term and its description.
func item(b *strings.Builder, name, doc string) {
	fmt.Fprintf(b, ".TP\n.B %s\n%s\n", conf.Roff(name), conf.Roff(doc))
}
