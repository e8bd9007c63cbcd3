package conf

import (
	"fmt"
	"strings"
)

// Manual is the part of the manual page about directives, in roff's man macros.
func Manual() string {
	var b strings.Builder
	for _, s := range sections() {
		fmt.Fprintf(&b, ".SS %s\n", Roff(s.title))
		if s.note != "" {
			fmt.Fprintf(&b, "%s\nThese directives are accepted and have no effect:\n", Roff(s.note))
		}
		var quiet []string
		for i := range s.rows {
			r := &s.rows[i]
			if s.note != "" && r.effect == inert {
				quiet = append(quiet, r.name)
				continue
			}
			def := r.def
			if def == "" {
				def = `""`
			}
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR %s\n%s\n", Roff(r.name), Roff(def), Roff(r.remarks()))
		}
		if len(quiet) > 0 {
			fmt.Fprintf(&b, ".PP\n%s.\n", Roff(strings.Join(quiet, ", ")))
		}
	}
	return b.String()
}

// Roff escapes a text for a manual page, so that nothing in it is taken for a request
// of the formatter and hyphens can be copied into a shell.
func Roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
