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
Those marked *no effect* are checked and kept, but nothing looks at them yet; a
warning is logged when a file or an option asks for anything but the default.
`)
	all := sections()
	for _, s := range all[:len(all)-1] {
		fmt.Fprintf(&b, "\n## %s\n\n| directive | value | default | meaning |\n|---|---|---|---|\n", s.title)
		for i := range s.rows {
			b.WriteString(s.rows[i].markdown())
		}
	}
	b.WriteString(`
## Lines that are not directives

| line | meaning |
|---|---|
| ` + "`include path`" + ` | Reads another file; a pattern may match none. |
| ` + "`rename-command name new-name`" + ` | Renames a command; ` + "`\"\"`" + ` removes it. |
| ` + "`user name rules ...`" + ` | Is checked for its form and kept, with a warning: there is the default user only. |

## ` + all[len(all)-1].title + `

These directives of Redis 7.0 to 7.4 mean nothing in vigil. They are checked and
kept, CONFIG GET shows them, and a warning is logged when a file or an option
asks for anything but the default. So it is with ` + "`loadmodule`" + ` and with directives
of modules, which have a dot in their name.

`)
	for _, r := range all[len(all)-1].rows {
		fmt.Fprintf(&b, "- `%s`\n", r.name)
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
	if r.flags&inert != 0 {
		meaning += " *No effect.*"
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", name, r.kind.title, shownDefault(r.def), meaning)
}

func shownDefault(text string) string {
	if text == "" {
		return "`\"\"`"
	}
	return "`" + text + "`"
}
