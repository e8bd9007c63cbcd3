package conf

import (
	"fmt"
	"strings"
)

// Markdown is docs/configuration.md, made from the table.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Configuration

<!-- Made from the table in server/conf. To make it anew: go test ./server/conf -run Documentation -update -->

vigil reads the configuration files of Redis and takes the same options:

    vigil-server /etc/vigil.conf --port 7000 --save '' --loglevel warning

A first argument without a dash is the file, ` + "`-`" + ` reads standard input too, and
` + "`--name value ...`" + ` sets a directive. What comes later wins; only ` + "`save`" + ` lines add up.
In a file, ` + "`include path`" + ` reads another file, or all that a pattern matches.

CONFIG GET shows every directive, CONFIG SET changes those that are not marked
*fixed*, several at once or none, and CONFIG REWRITE writes the file anew.
Those marked *guarded* can be set only as ` + "`enable-protected-configs`" + ` allows.

What cannot be had is refused. A directive that protects something or changes what
the server is, and that vigil does not have, is marked *not there*: only its default
is accepted, and anything else ends the start with the file and the line, and is an
error to CONFIG SET. One marked *no effect* is checked, kept and shown, and nothing
looks at it; a warning is logged when a file or an option asks for anything but
the default. A name that stands nowhere here is an error.
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
| ` + "`include path`" + ` | Reads another file; a pattern may match none. |
| ` + "`rename-command name new-name`" + ` | Renames a command; ` + "`\"\"`" + ` removes it. |
| ` + "`user name rules ...`" + ` | *Not there*: ` + noACL + `. |
| ` + "`loadmodule path`" + `, names with a dot | *Not there*: ` + noModules + `. |

## Directives without effect

These directives of Redis 7.0 to 7.4 do nothing in vigil: they have *no effect*, but
for those with a remark, which are *not there*.
`)
	for _, s := range sections() {
		if s.note != "" {
			fmt.Fprintf(&b, "\n### %s\n\n%s\n\n%s", s.title, s.note, s.list())
		}
	}
	return b.String()
}

// list names the directives of a section of which nothing works.
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

// markdown is the directive's line of the table.
func (r *directive) markdown() string {
	name := "`" + r.name + "`"
	if r.alias != "" {
		name += " (also `" + r.alias + "`)"
	}
	meaning := r.doc
	if r.flags&immutable != 0 {
		meaning += " *Fixed.*"
	}
	if r.flags&protected != 0 {
		meaning += " *Guarded.*"
	}
	switch r.effect {
	case inert:
		meaning += " *No effect.*"
	case absent:
		meaning += " *Not there*: " + r.instead + "."
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", name, r.kind.title, shownDefault(r.def), meaning)
}

func shownDefault(text string) string {
	if text == "" {
		return "`\"\"`"
	}
	return "`" + text + "`"
}
