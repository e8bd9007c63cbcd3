package main

import (
	"fmt"
	"slices"
	"strings"
)

// fact is something that a server says of itself.
type fact struct {
	value string
	of    string // the fact without which it is not looked at
}

// facts are by their names.
type facts map[string]fact

func (f facts) has(name string) bool {
	_, ok := f[name]
	return ok
}

// factsOf asks a server.
func factsOf(addr string) (facts, error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.close()
	f := facts{}
	for _, ask := range []struct {
		argv []string
		take func(r reply)
	}{
		{[]string{"COMMAND"}, f.commands}, {[]string{"COMMAND", "DOCS"}, f.docs}, {[]string{"CONFIG", "GET", "*"}, f.config},
		{[]string{"INFO", "everything"}, f.info}, {[]string{"CLIENT", "LIST"}, f.clients}, {[]string{"ACL", "CAT"}, f.categories},
	} {
		r, err := c.do(ask.argv...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(ask.argv, " "), err)
		}
		ask.take(r)
	}
	return f, nil
}

// commandParts are what COMMAND says of a command, and where.
var commandParts = []struct {
	name   string
	at     int
	sorted bool // it is a set
}{
	{"arity", 1, false}, {"flags", 2, true}, {"first key", 3, false}, {"last key", 4, false}, {"step", 5, false},
	{"categories", 6, true}, {"tips", 7, true}, {"keys", 8, false},
}

func (f facts) commands(r reply) {
	for _, c := range r.list {
		if len(c.list) < 10 {
			continue
		}
		name := "command " + strings.ReplaceAll(c.list[0].text, "|", " ")
		f[name] = fact{}
		for _, p := range commandParts {
			f[name+" "+p.name] = fact{value: c.list[p.at].withoutNotes().flat(p.sorted), of: name}
		}
		f.commands(c.list[9])
	}
}

func (f facts) docs(r reply) {
	for i := 0; i+1 < len(r.list); i += 2 {
		name := "command " + strings.ReplaceAll(r.list[i].text, "|", " ")
		doc := r.list[i+1].list
		for j := 0; j+1 < len(doc); j += 2 {
			switch key := doc[j].text; key {
			case "since", "group", "deprecated_since":
				f[name+" "+key] = fact{value: doc[j+1].text, of: name}
			case "arguments":
				f[name+" arguments"] = fact{value: doc[j+1].names(), of: name}
			case "subcommands":
				f.docs(doc[j+1])
			}
		}
	}
}

// names are those of arguments, with their tokens; those within others are in parentheses.
func (r reply) names() string {
	var all []string
	for _, arg := range r.list {
		name, token, within := "", "", ""
		for i := 0; i+1 < len(arg.list); i += 2 {
			switch v := arg.list[i+1]; arg.list[i].text {
			case "name":
				name = v.text
			case "token":
				token = v.text + " "
			case "arguments":
				within = "(" + v.names() + ")"
			}
		}
		if within != "" || token != "" {
			name = "" // names of groups and of what follows a word are free
		}
		all = append(all, token+name+within)
	}
	return strings.Join(all, " ")
}

func (f facts) config(r reply) {
	for i := 0; i+1 < len(r.list); i += 2 {
		f["config "+r.list[i].text] = fact{value: r.list[i+1].text}
	}
}

func (f facts) info(r reply) {
	section := ""
	for line := range strings.SplitSeq(r.text, "\r\n") {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			section = "info # " + title
			f[section] = fact{}
		} else if name, _, ok := strings.Cut(line, ":"); ok && !isCounted(name) {
			f["info "+name] = fact{of: section}
		}
	}
}

// isCounted reports whether a field of INFO is there only for what a server has done.
func isCounted(name string) bool {
	for _, prefix := range []string{"cmdstat_", "errorstat_", "latency_percentiles_", "io_thread_", "db0", "listener"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func (f facts) clients(r reply) {
	line, _, _ := strings.Cut(r.text, "\n")
	var names []string
	for field := range strings.FieldsSeq(line) {
		name, _, _ := strings.Cut(field, "=")
		names = append(names, name)
	}
	f["client list"] = fact{value: strings.Join(names, " ")}
}

func (f facts) categories(r reply) {
	for _, c := range r.list {
		f["category "+c.text] = fact{}
	}
}

// withoutNotes leaves out what key specifications say to people.
func (r reply) withoutNotes() reply {
	var rest []reply
	for i := 0; i < len(r.list); i++ {
		if r.list[i].list == nil && r.list[i].text == "notes" && i+1 < len(r.list) {
			i++
			continue
		}
		rest = append(rest, r.list[i].withoutNotes())
	}
	if r.list != nil && rest == nil {
		rest = []reply{}
	}
	return reply{r.text, rest}
}

// flat is a reply as one text.
func (r reply) flat(sorted bool) string {
	if r.list == nil {
		return r.text
	}
	parts := make([]string, 0, len(r.list))
	for _, e := range r.list {
		if text := e.flat(sorted); e.list != nil {
			parts = append(parts, "["+text+"]")
		} else {
			parts = append(parts, text)
		}
	}
	if sorted {
		slices.Sort(parts)
	}
	return strings.Join(parts, " ")
}
