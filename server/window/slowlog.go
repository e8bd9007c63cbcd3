package window

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vigildb/vigil/server/internal/report"
)

const (
	// slowGrouped is up to how many entries of the slow log are put together by their shapes, and slowAge for how long
	// requests share them.
	slowGrouped = 1000
	slowAge     = 5 * time.Second
	// maxShapes is how many shapes are shown.
	maxShapes = 40
	// maxSlowCommand bounds a command of the slow log as it is shown, shapeArgs how many arguments a shape has, and
	// shapeText how much of one.
	maxSlowCommand, shapeArgs, shapeText = 240, 8, 40
)

type slowBody struct {
	Shapes    []shapeRow
	More      int // shapes that are not shown
	Grouped   int // entries
	Rows      []slowRow
	All       int64
	Threshold string
}

type slowRow struct{ ID, Age, Took, Command, From string }

// shapeRow are the calls of a shape.
type shapeRow struct{ Shape, Count, Total, Mean, Longest, Last, Width string }

func (w *Window) slowPage(_ *http.Request, p *page) error {
	all, err := w.slow.Get(w.now(), func() ([]report.SlowEntry, error) { return w.source.SlowLog(slowGrouped) })
	if err != nil {
		return err
	}
	b := &slowBody{Rows: slowRows(p.figures, report.SlowShown), All: p.figures.SlowLen, Grouped: len(all)}
	b.group(all, p.figures.At)
	switch t := w.config.Settings().SlowlogLogSlowerThan; {
	case t < 0:
		b.Threshold = "It is off: slowlog-log-slower-than is negative."
	case t == 0:
		b.Threshold = "Every command is logged: slowlog-log-slower-than is 0."
	default:
		b.Threshold = "Commands that took " + micros(float64(t)) + " or more (slowlog-log-slower-than)."
	}
	p.Body = b
	return nil
}

func slowRows(f *figures, most int) (rows []slowRow) {
	for _, e := range f.Slow[:min(len(f.Slow), most)] {
		args := make([]string, len(e.Args))
		for i, a := range e.Args {
			args[i] = printable(a, maxName)
		}
		from := e.Addr
		if e.Name != "" {
			from += " " + e.Name
		}
		rows = append(rows, slowRow{ID: count(float64(e.ID)), Age: ago(f.At, e.At), Took: micros(e.Micros),
			Command: printable(strings.Join(args, " "), maxSlowCommand), From: name(from)})
	}
	return rows
}

// group puts entries together that differ only in names, numbers and values; those that took the most time come first.
func (b *slowBody) group(all []report.SlowEntry, now time.Time) {
	type shape struct {
		text           string
		n              int
		total, longest float64
		last           time.Time
	}
	of := map[string]*shape{}
	for _, e := range all {
		text := shapeOf(e.Args)
		s := of[text]
		if s == nil {
			s = &shape{text: text}
			of[text] = s
		}
		s.n++
		s.total += e.Micros
		s.longest = max(s.longest, e.Micros)
		if e.At.After(s.last) {
			s.last = e.At
		}
	}
	list := make([]*shape, 0, len(of))
	for _, s := range of {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *shape) int { return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.text, b.text)) })
	for _, s := range list[:min(len(list), maxShapes)] {
		b.Shapes = append(b.Shapes, shapeRow{Shape: s.text, Count: count(float64(s.n)), Total: micros(s.total), Mean: micros(s.total / float64(s.n)),
			Longest: micros(s.longest), Last: ago(now, s.last), Width: width(s.total / max(1, list[0].total))})
	}
	b.More = len(list) - len(b.Shapes)
}

// shapeOf is what calls have in common that do the same with other keys: the command and its options as they are, the first
// argument without what looks like an ID in it, N for other numbers, and * for what remains. What is alike in a row is
// shown once.
func shapeOf(args []string) string {
	var parts []string
	for i, a := range args {
		if i == shapeArgs && len(args) > shapeArgs+1 {
			parts = append(parts, "…")
			break
		}
		var part string
		switch {
		case i == 0:
			part = strings.ToUpper(printable(a, shapeText))
		case isOption(a):
			part = a
		case i == 1:
			part = printable(pattern(a), shapeText)
		case isNumber(a):
			part = "N"
		default:
			part = "*"
		}
		if last := len(parts) - 1; i > 2 && part == strings.TrimSuffix(parts[last], "…") && (part == "N" || part == "*") {
			parts[last] = part + "…"
			continue
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

// isOption reports whether an argument is a word as options are: nothing but capitals.
func isOption(s string) bool {
	return len(s) > 1 && len(s) <= 20 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == ""
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(strings.TrimLeft(s, "(["), 64)
	return err == nil
}

// pattern has a * in a key where an ID may be: for each of its parts, which are divided by what is no letter or digit, that has
// a digit, or is long.
func pattern(key string) string {
	var b strings.Builder
	part := 0 // where it begins
	end := func(i int) {
		text := key[part:i]
		if strings.ContainsAny(text, "0123456789") || len(text) > 24 {
			text = "*"
		}
		if text != "*" || !strings.HasSuffix(b.String(), "*") {
			b.WriteString(text)
		}
	}
	const joins = "-_."
	for i := 0; i < len(key) && i < 4*shapeText; i++ {
		c := key[i]
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 || strings.IndexByte(joins, c) >= 0 {
			continue
		}
		end(i)
		b.WriteByte(c)
		part = i + 1
	}
	if part < len(key) {
		end(len(key))
	}
	return b.String()
}
