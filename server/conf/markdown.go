package conf

import (
	"fmt"
	"strings"
)

// Markdown is docs/configuration.md, made from the table.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Configuration

<!-- Made from the table in server/conf. To update it: make docs -->

vigil reads the configuration files of Redis and takes the same options:

    vigil-server /etc/vigil.conf --port 7000 --save '' --loglevel warning

A first argument without a dash is the configuration file, ` + "`-`" + ` also reads standard input, and
` + "`--name value ...`" + ` sets a directive. Later settings override earlier ones; only ` + "`save`" + ` lines
add up. In a file, ` + "`include path`" + ` reads another file, or every file that matches a pattern.

CONFIG GET shows every directive. CONFIG SET changes directives that are not marked
*fixed*: either all that one call names or none. CONFIG REWRITE updates the file.
Directives marked *protected* can be set only if ` + "`enable-protected-configs`" + ` allows it. CONFIG SET of one that is
marked *shared* counts for all members of a group (docs/cluster.md); all others are those of the machine.

vigil refuses what it cannot do. A directive marked *not supported* would protect
something or change what the server is, and vigil does not have it: only the default
is accepted. With any other value the server does not start and reports the file and the
line, and CONFIG SET returns an error. A directive marked *no effect* is checked, stored
and shown, but otherwise ignored; a warning is logged if a file or an option sets it to
anything but the default. A name that is not listed here is an error.
`)
	for _, s := range sections() {
		if s.note == "" {
			fmt.Fprintf(&b, "\n## %s\n\n| directive | value | default | meaning |\n|---|---|---|---|\n", s.title)
			for i := range s.rows {
				b.WriteString(s.rows[i].markdown())
			}
		}
	}
	b.WriteString(`
## Lines that are not directives

| line | meaning |
|---|---|
| ` + "`include path`" + ` | Reads another file; a pattern may match no file. |
| ` + "`rename-command name new-name`" + ` | Renames a command; ` + "`\"\"`" + ` removes it. |
| ` + "`user name rules ...`" + ` | Declares a user (docs/compatibility.md); with ` + "`aclfile`" + ` there must be none. |
| ` + "`loadmodule path`" + `, names with a dot | *Not supported*: ` + noModules + `. |

## Directives without effect

These directives of Redis 7.0 to 7.4 do nothing in vigil. Those with a remark are
*not supported*, the others have *no effect*.
`)
	for _, s := range sections() {
		if s.note != "" {
			fmt.Fprintf(&b, "\n### %s\n\n%s\n\n%s", s.title, s.note, s.list())
		}
	}
	return b.String()
}

// list names the directives of a section in which nothing works.
func (s *section) list() string {
	var b strings.Builder
	for i := range s.rows {
		r := &s.rows[i]
		fmt.Fprintf(&b, "- `%s`", r.name)
		if r.effect == absent {
			fmt.Fprintf(&b, ": %s.", r.instead)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// markdown is the directive's line in the table.
func (r *directive) markdown() string {
	name := "`" + r.name + "`"
	if r.alias != "" {
		name += " (also `" + r.alias + "`)"
	}
	meaning := r.doc
	if r.flags&(immutable|settled) != 0 {
		meaning += " *Fixed.*"
	}
	if r.flags&protected != 0 {
		meaning += " *Protected.*"
	}
	if r.flags&shared != 0 {
		meaning += " *Shared.*"
	}
	switch r.effect {
	case inert:
		meaning += " *No effect.*"
	case absent:
		meaning += " *Not supported*: " + r.instead + "."
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", name, r.kind.title, shownDefault(r.def), meaning)
}

func shownDefault(text string) string {
	if text == "" {
		return "`\"\"`"
	}
	return "`" + text + "`"
}
