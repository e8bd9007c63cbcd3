package conf

import (
	"fmt"
	"strings"
)

// Sample is vigil.conf: every directive of the table with its description and its
// default, commented out. Prose has a blank after the #, a directive has none.
func Sample() string {
	var b strings.Builder
	b.WriteString(`# vigil.conf: every directive, with its default. Made from the table in server/conf
# (make docs).
#
#     vigil-server /etc/vigil/vigil.conf --port 7000
#
# Remove the # in front of a directive to set it. Later settings override earlier ones, and
# the command line comes last. Sizes take the units k, m, g (1000) or kb, mb, gb (1024).
# Values with blanks need quotes. These lines read other files and rename commands:
#
#     include /etc/vigil/conf.d/*.conf
#     rename-command FLUSHALL ""
`)
	for _, s := range sections() {
		fmt.Fprintf(&b, "\n\n######## %s ########\n", s.title)
		if s.note != "" {
			b.WriteString("\n")
			b.WriteString(comment(s.note + " These lines are accepted and have no effect."))
		}
		for i := range s.rows {
			b.WriteString(s.rows[i].sample(s.note != ""))
		}
	}
	return b.String()
}

// sample is the part of vigil.conf about one directive. It is brief if the note of
// its section says already that nothing works.
func (r *directive) sample(brief bool) string {
	v, err := r.parse(value{}, r.def, false)
	if err != nil {
		v = value{text: r.def} // the working directory was removed
	}
	if r.name == "dir" {
		v.text = r.def // not the directory in which the file is generated
	}
	var b strings.Builder
	if !brief || r.effect == absent {
		b.WriteString("\n" + comment(r.remarks()))
	}
	for _, line := range r.linesOf(v) {
		fmt.Fprintf(&b, "#%s %s\n", r.name, line)
	}
	return b.String()
}

// remarks describes a directive in sentences.
func (r *directive) remarks() string {
	var all []string
	if r.doc != "" {
		all = append(all, r.doc)
	}
	if r.effect == works {
		all = append(all, "Value: "+strings.ReplaceAll(r.kind.title, "`", "")+".")
	}
	if r.alias != "" {
		all = append(all, "Also called "+r.alias+".")
	}
	if r.flags&(immutable|settled) != 0 {
		all = append(all, "Cannot change while the server runs.")
	}
	if r.flags&protected != 0 && r.flags&(immutable|settled) == 0 {
		all = append(all, "CONFIG SET needs enable-protected-configs.")
	}
	if r.flags&shared != 0 {
		all = append(all, "Shared by the members of a group.")
	}
	switch r.effect {
	case inert:
		all = append(all, "No effect.")
	case absent:
		all = append(all, "Not supported, and refused unless it has its default: "+r.instead+".")
	}
	return strings.ReplaceAll(strings.Join(all, " "), "`", "")
}

// comment breaks a text into lines of a comment.
func comment(text string) string {
	const width = 86
	var b strings.Builder
	line := "#"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
	return b.String()
}
