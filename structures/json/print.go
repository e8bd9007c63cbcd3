package json

import (
	"encoding/binary"
	"strconv"

	"github.com/vigildb/vigil/structures"
)

// Layout is what JSON.GET puts between the parts of a text. Empty strings make the shortest text.
type Layout struct{ Indent, Newline, Space string }

// Plain reports whether the layout is that of the shortest text.
func (l *Layout) plain() bool { return l.Indent == "" && l.Newline == "" && l.Space == "" }

// Printer writes values as JSON. Its text can be taken away in parts.
type Printer struct {
	Text   []byte
	Layout Layout
	// Limit, if it is not 0, is the length beyond which nothing is written: Over says so.
	Limit int
	Over  bool

	room []byte // for strings of chains
}

// Print writes a value that lies in so many containers.
func (p *Printer) Print(v Value, depth int) {
	if p.Limit > 0 && len(p.Text) > p.Limit {
		p.Over = true
		return
	}
	if p.Limit == 0 && p.Layout.plain() && (v.d == nil || len(v.d.chains) == 0) {
		p.flat(v.b)
		return
	}
	switch v.Type() {
	case Null:
		p.Text = append(p.Text, "null"...)
	case Boolean:
		p.Text = strconv.AppendBool(p.Text, v.Bool())
	case Integer, Double:
		p.Text = AppendNumber(p.Text, v)
	case String:
		s := v.Text(p.room)
		if v.b[0] == tagChain {
			p.room = s
		}
		p.Text = AppendQuoted(p.Text, s)
	case Array:
		p.container(v, '[', ']', depth)
	case Object:
		p.container(v, '{', '}', depth)
	}
}

// flat writes a value that has no chains as the shortest text, and returns its length in b.
func (p *Printer) flat(b []byte) (size int) {
	switch tag := b[0]; {
	case tag >= tagShort:
		size = 1 + int(tag&^tagShort)
		p.Text = AppendQuoted(p.Text, b[1:size])
		return size
	case tag >= tagSmallInt:
		p.Text = strconv.AppendUint(p.Text, uint64(tag&^tagSmallInt), 10)
		return 1
	case tag == tagArray || tag == tagLongArray:
		return p.flatMembers(b, '[', ']')
	case tag == tagObject || tag == tagLongObject:
		return p.flatMembers(b, '{', '}')
	case tag == tagString:
		p.Text = AppendQuoted(p.Text, stringOf(b))
	case tag == tagNull:
		p.Text = append(p.Text, "null"...)
	case tag <= tagTrue:
		p.Text = strconv.AppendBool(p.Text, tag == tagTrue)
	default:
		p.Text = AppendNumber(p.Text, Value{b: b})
	}
	return sizeOf(b)
}

func (p *Printer) flatMembers(b []byte, open, end byte) int {
	_, at, to := containerOf(b)
	p.Text = append(p.Text, open)
	for first := at; at < to; {
		if at > first {
			p.Text = append(p.Text, ',')
		}
		if open == '{' {
			name, n := nameOf(b[at:])
			p.Text = append(AppendQuoted(p.Text, name), ':')
			at += n
		}
		at += p.flat(b[at:])
		p.grow()
	}
	p.Text = append(p.Text, end)
	return to
}

func (p *Printer) container(v Value, open, end byte, depth int) {
	p.Text = append(p.Text, open)
	m := v.Members()
	name, member, ok := m.Next()
	if !ok {
		p.Text = append(p.Text, end)
		return
	}
	for first := true; ok && !p.Over; first = false {
		if !first {
			p.Text = append(p.Text, ',')
		}
		p.Line(depth + 1)
		if open == '{' {
			p.Name(name)
		}
		p.Print(member, depth+1)
		p.grow()
		name, member, ok = m.Next()
	}
	p.Line(depth)
	p.Text = append(p.Text, end)
}

// Expect makes room for about the text of a value, if that is long.
func (p *Printer) Expect(v Value) {
	if n := v.Memory(); n > longText {
		p.Text = structures.Grow(p.Text, n)
	}
}

// grow makes room for the next numbers, words and brackets, see structures.Append.
func (p *Printer) grow() {
	if cap(p.Text)-len(p.Text) < spare {
		p.Text = structures.Grow(p.Text, spare)
	}
}

// put writes a part of the layout.
func (p *Printer) put(s string) {
	const most = 64 << 10
	for ; len(s) > most; s = s[most:] {
		p.put(s[:most])
	}
	if cap(p.Text)-len(p.Text) < len(s) {
		p.Text = structures.Grow(p.Text, len(s)+len(p.Text)/2) // a layout may be most of the text: Grow alone adds an eighth each time
	}
	p.Text = append(p.Text, s...)
}

// Line begins a line that is so deep.
func (p *Printer) Line(depth int) {
	if p.Layout.plain() {
		return
	}
	p.put(p.Layout.Newline)
	if p.Layout.Indent == "" {
		return
	}
	for range depth {
		if p.Limit > 0 && len(p.Text) > p.Limit {
			p.Over = true
			return
		}
		p.put(p.Layout.Indent)
	}
}

// Name writes the name of a member and what stands behind it.
func (p *Printer) Name(name []byte) {
	p.Text = append(AppendQuoted(p.Text, name), ':')
	p.put(p.Layout.Space)
}

// AppendNumber appends a number as JSON.
func AppendNumber(dst []byte, v Value) []byte {
	if n, ok := v.Int(); ok {
		return strconv.AppendInt(dst, n, 10)
	}
	if n, ok := v.Uint(); ok {
		return strconv.AppendUint(dst, n, 10)
	}
	f, _ := v.Float()
	return floatOf(v.b[0]).appendText(dst, f)
}

// escapes has what stands for a byte behind a backslash, 'u' for a control character without a
// letter of its own, 0 for bytes that stand as they are.
var escapes = func() (e [256]byte) {
	for c := range ' ' {
		e[c] = 'u'
	}
	for c, letter := range map[byte]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'} {
		e[c] = letter
	}
	return e
}()

// unquoted returns how many bytes at the beginning of s, eight of which are looked at at once, are
// neither quotes nor backslashes nor control characters. There may be more.
func unquoted(s []byte) (n int) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; len(s)-n >= 8; n += 8 {
		x := binary.LittleEndian.Uint64(s[n:])
		quote, slash := x^ones*'"', x^ones*'\\'
		if ((x-ones*' ')&^x|(quote-ones)&^quote|(slash-ones)&^slash)&highs != 0 {
			break
		}
	}
	return n
}

// AppendQuoted appends a string as JSON.
func AppendQuoted(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := unquoted(s); i < len(s); i++ {
		c := s[i]
		letter := escapes[c]
		if letter == 0 {
			continue
		}
		dst = append(structures.Append(dst, s[from:i]), '\\', letter)
		if letter == 'u' {
			dst = append(dst, '0', '0', hex[c>>4], hex[c&15])
		}
		from = i + 1
	}
	return append(structures.Append(dst, s[from:]), '"')
}

// AppendText appends a value as the shortest JSON.
func AppendText(dst []byte, v Value) []byte {
	p := Printer{Text: dst}
	p.Print(v, 0)
	return p.Text
}
