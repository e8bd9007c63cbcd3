package info

import (
	"strconv"
	"strings"
	"sync"

	"github.com/vigildb/vigil/persistence"
)

// Section is a section of INFO. S is what sections are about.
type Section[S any] struct {
	Name  string
	Usual bool // shown when no section is asked for
	Apart bool // shown only when it is asked for by its name, as it takes long
	Write func(t *Text, of S)
}

// title is the name as its heading has it.
func title(name string) string {
	if name == "cpu" || name == "tls" {
		return strings.ToUpper(name)
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// Sections lists sections in the order in which they are shown.
type Sections[S any] []Section[S]

// Show writes the sections that are asked for; unknown names are ignored. The text is valid
// until show returns.
func (list Sections[S]) Show(names []string, of S, show func([]byte)) {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[strings.ToLower(name)] = true
	}
	everything := wanted["all"] || wanted["everything"]
	usual := len(names) == 0 || wanted["default"]
	t := texts.Get().(*Text)
	*t = Text{b: t.b[:0]}
	for i := range list {
		s := &list[i]
		if everything && !s.Apart || wanted[s.Name] || usual && s.Usual {
			if len(t.b) > 0 {
				t.b = append(t.b, "\r\n"...)
			}
			t.b = append(append(append(t.b, "# "...), title(s.Name)...), "\r\n"...)
			s.Write(t, of)
		}
	}
	show(t.b)
	*t = Text{b: t.b}
	texts.Put(t)
}

// Text is a text under construction.
type Text struct {
	b     []byte
	stats persistence.Stats
	known bool // stats are there
}

// Stats returns the figures of the store, which are gathered for the first section that needs them.
func (t *Text) Stats(f *Figures, holdsShards bool) *persistence.Stats {
	if !t.known {
		t.stats, t.known = f.Stats(holdsShards), true
	}
	return &t.stats
}

// texts keeps texts, so that not every INFO needs a buffer of its own.
var texts = sync.Pool{New: func() any { return &Text{} }}

// Field writes a line.
func Field[T string | int | int32 | int64 | uint64](t *Text, name string, value T) {
	t.b = append(append(t.b, name...), ':')
	switch v := any(value).(type) {
	case string:
		t.b = append(t.b, v...)
	case int:
		t.b = strconv.AppendInt(t.b, int64(v), 10)
	case int32:
		t.b = strconv.AppendInt(t.b, int64(v), 10)
	case int64:
		t.b = strconv.AppendInt(t.b, v, 10)
	case uint64:
		t.b = strconv.AppendUint(t.b, v, 10)
	}
	t.b = append(t.b, "\r\n"...)
}

// Decimal writes a number with so many digits behind its point, and a unit.
func (t *Text) Decimal(name string, value float64, digits int, unit string) {
	t.b = append(append(t.b, name...), ':')
	t.b = strconv.AppendFloat(t.b, value, 'f', digits, 64)
	t.b = append(append(t.b, unit...), "\r\n"...)
}

// Bytes writes a number of bytes, and a second line in a readable unit.
func (t *Text) Bytes(name string, n int64) {
	Field(t, name, n)
	t.b = append(append(t.b, name...), "_human:"...)
	t.b = append(AppendHuman(t.b, n), "\r\n"...)
}

// AppendHuman appends a number of bytes as Redis shows it: 1.50M.
func AppendHuman(b []byte, n int64) []byte {
	const units = "KMGTP"
	if n < 1024 {
		return append(strconv.AppendInt(b, n, 10), 'B')
	}
	v := float64(n) / 1024
	i := 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	return append(strconv.AppendFloat(b, v, 'f', 2, 64), units[i])
}

// Ratio is a/b, and 0 if there is no b.
func Ratio(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// Status is Redis's word for an outcome.
func Status(failed bool) string {
	if failed {
		return "err"
	}
	return "ok"
}

// Number is 1 for yes.
func Number(on bool) int {
	if on {
		return 1
	}
	return 0
}

// SafeName keeps a name from breaking the form of INFO.
func SafeName(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c <= ' ' || c > '~' || c == ':' || c == '=' || c == ',' || c == '#' {
			b[i] = '_'
		}
	}
	return string(b)
}
