package lualib

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// A jsonToken is a token of JSON, named as cjson's errors name it.
type jsonToken struct {
	kind  string
	text  string  // of a string, and what is wrong with an error
	value float64 // of a number
	at    int     // where it starts
}

const (
	jsonObjectBegin = "T_OBJ_BEGIN"
	jsonObjectEnd   = "T_OBJ_END"
	jsonListBegin   = "T_ARR_BEGIN"
	jsonListEnd     = "T_ARR_END"
	jsonString      = "T_STRING"
	jsonNumber      = "T_NUMBER"
	jsonBoolean     = "T_BOOLEAN"
	jsonNull        = "T_NULL"
	jsonColon       = "T_COLON"
	jsonComma       = "T_COMMA"
	jsonEnd         = "T_END"
	jsonError       = "T_ERROR"
)

// A jsonDecoder reads one value from s, which to C ends at its first NUL. Its used counts
// what cjson has on the stack.
type jsonDecoder struct {
	c     call
	cfg   *jsonConfig
	s     string
	i     int
	depth int
	used  int
	meta  *lua.LTable // of lists, nil before the first
}

// listMeta returns the metatable of the lists of a text.
func (d *jsonDecoder) listMeta() *lua.LTable {
	if d.meta == nil {
		d.c.take(tableSize)
		d.meta = listMeta(d.c.L)
	}
	return d.meta
}

func jsonDecode(c call, cfg *jsonConfig) int {
	if c.L.GetTop() != 1 {
		c.argError(1, "expected 1 argument")
	}
	s := c.text(1)
	if len(s) >= 2 && (s[0] == 0 || s[1] == 0) {
		c.raise("JSON parser does not support UTF-16 or UTF-32")
	}
	d := &jsonDecoder{c: c, cfg: cfg, s: cString(s), used: 1}
	v := d.value(d.next())
	if t := d.next(); t.kind != jsonEnd {
		d.expected("the end", t)
	}
	return c.push(v)
}

func (d *jsonDecoder) expected(what string, t jsonToken) {
	found := t.kind
	if t.kind == jsonError {
		found = t.text
	}
	d.c.errorf("Expected %s but found %s at character %d", what, found, t.at+1)
}

// at returns a byte, 0 after the end.
func (d *jsonDecoder) at(i int) byte {
	if i < len(d.s) {
		return d.s[i]
	}
	return 0
}

func (d *jsonDecoder) value(t jsonToken) lua.LValue {
	d.c.step(1)
	switch t.kind {
	case jsonString:
		return lua.LString(t.text)
	case jsonNumber:
		return lua.LNumber(t.value)
	case jsonBoolean:
		return lua.LBool(t.text == "true")
	case jsonObjectBegin:
		return d.object()
	case jsonListBegin:
		return d.list()
	case jsonNull:
		return null
	}
	d.expected("value", t)
	return nil
}

// tableSize is about what an empty table takes, and entrySize what an entry of an object
// takes: in gopher-lua it stands in a map, a list of keys and a map of their places.
const (
	tableSize = 128
	entrySize = 160
)

// descend enters a list or object, which needs some room on the stack.
func (d *jsonDecoder) descend(room int) {
	d.depth++
	if d.depth > d.cfg.decodeDepth || d.used+room > maxStack {
		d.c.errorf("Found too many nested data structures (%d) at character %d", d.depth, d.i)
	}
	d.c.take(tableSize)
}

// few is room for a few entries, or for none: gopher-lua's own tables have room for 32.
func few(some bool) int {
	if some {
		return 4
	}
	return 0
}

func (d *jsonDecoder) object() lua.LValue {
	d.descend(3)
	d.used += 2
	t := d.next()
	table := d.c.L.CreateTable(0, few(t.kind != jsonObjectEnd))
	for t.kind != jsonObjectEnd {
		if t.kind != jsonString {
			d.expected("object key string", t)
		}
		key := t.text
		if t = d.next(); t.kind != jsonColon {
			d.expected("colon", t)
		}
		d.c.take(entrySize)
		table.RawSetString(key, d.value(d.next()))
		if t = d.next(); t.kind == jsonObjectEnd {
			break
		}
		if t.kind != jsonComma {
			d.expected("comma or object end", t)
		}
		if t = d.next(); t.kind == jsonObjectEnd {
			d.expected("object key string", t)
		}
	}
	d.depth--
	d.used -= 2
	return table
}

func (d *jsonDecoder) list() lua.LValue {
	d.descend(2)
	d.used++
	t := d.next()
	table := d.c.L.CreateTable(few(t.kind != jsonListEnd), 0)
	if d.cfg.markLists {
		table.Metatable = d.listMeta()
	}
	for i := 1; t.kind != jsonListEnd; i++ {
		v := d.value(t)
		if i&(i-1) == 0 {
			d.c.take(i * valueSize) // it doubles
		}
		table.RawSetInt(i, v)
		if t = d.next(); t.kind == jsonListEnd {
			break
		}
		if t.kind != jsonComma {
			d.expected("comma or array end", t)
		}
		if t = d.next(); t.kind == jsonListEnd {
			d.expected("value", t)
		}
	}
	d.depth--
	d.used--
	return table
}

// next reads a token. One that is none stays, so that it is found again.
func (d *jsonDecoder) next() jsonToken {
	start := d.i
	for b := d.at(d.i); b == ' ' || b == '\t' || b == '\n' || b == '\r'; b = d.at(d.i) {
		d.i++
	}
	d.c.step((d.i - start) / 16)
	t := jsonToken{at: d.i}
	b := d.at(d.i)
	if t.kind = jsonPunctuation(b); t.kind != "" {
		d.i++
		return t
	}
	rest := d.s[d.i:]
	switch {
	case b == 0:
		t.kind = jsonEnd
		return t
	case b == '"':
		return d.text(t)
	case b == '-' || isDigit(b):
		if !d.cfg.decodeInvalid && isInvalidJSONNumber(rest) {
			return d.wrong(t, "invalid number")
		}
		return d.number(t)
	case strings.HasPrefix(rest, "true"):
		return d.word(t, jsonBoolean, "true")
	case strings.HasPrefix(rest, "false"):
		return d.word(t, jsonBoolean, "false")
	case strings.HasPrefix(rest, "null"):
		return d.word(t, jsonNull, "null")
	case strings.IndexByte("+iInN", b) >= 0 && d.cfg.decodeInvalid && isInvalidJSONNumber(rest):
		return d.number(t)
	}
	return d.wrong(t, "invalid token")
}

func jsonPunctuation(b byte) string {
	switch b {
	case '{':
		return jsonObjectBegin
	case '}':
		return jsonObjectEnd
	case '[':
		return jsonListBegin
	case ']':
		return jsonListEnd
	case ',':
		return jsonComma
	case ':':
		return jsonColon
	}
	return ""
}

func (d *jsonDecoder) word(t jsonToken, kind, word string) jsonToken {
	t.kind, t.text = kind, word
	d.i += len(word)
	return t
}

// wrong returns a token that is an error at the place that has been reached.
func (d *jsonDecoder) wrong(t jsonToken, what string) jsonToken {
	t.kind, t.text, t.at = jsonError, what, d.i
	return t
}

// number reads what C's strtod reads, which is more than JSON has.
func (d *jsonDecoder) number(t jsonToken) jsonToken {
	f, n := strtod(d.s[d.i:])
	if n == 0 {
		return d.wrong(t, "invalid number")
	}
	t.kind, t.value = jsonNumber, f
	d.i += n
	return t
}

// isInvalidJSONNumber says whether what may be a number to strtod is none to JSON.
func isInvalidJSONNumber(s string) bool {
	if strings.HasPrefix(s, "+") {
		return true
	}
	s = strings.TrimPrefix(s, "-")
	if strings.HasPrefix(s, "0") {
		return len(s) > 1 && (s[1]|0x20 == 'x' || isDigit(s[1]))
	}
	return hasPrefixFold(s, "inf") || hasPrefixFold(s, "nan")
}
