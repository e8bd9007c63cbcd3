package lualib

import "unicode/utf8"

// text reads a string. Its bytes are kept whether they are UTF-8 or not.
func (d *jsonDecoder) text(t jsonToken) jsonToken {
	d.i++
	t.kind = jsonString
	out := buffer{c: d.c}
	for {
		start := d.i
		for d.i < len(d.s) && d.s[d.i] != '"' && d.s[d.i] != '\\' {
			d.i++
		}
		plain := d.s[start:d.i]
		d.c.step(1 + len(plain)/64)
		switch {
		case d.i == len(d.s):
			return d.wrong(t, "unexpected end of string")
		case d.s[d.i] == '"' && out.b.Len() == 0:
			d.i++
			t.text = plain
			return t
		case d.s[d.i] == '"':
			d.i++
			out.add(plain)
			t.text = out.text()
			return t
		}
		out.add(plain)
		if wrong := d.escape(&out); wrong != "" {
			return d.wrong(t, wrong)
		}
	}
}

// escape reads what a backslash introduces, and returns what is wrong with it.
func (d *jsonDecoder) escape(out *buffer) (wrong string) {
	b := d.at(d.i + 1)
	switch b {
	case '"', '\\', '/':
	case 'b':
		b = '\b'
	case 't':
		b = '\t'
	case 'n':
		b = '\n'
	case 'f':
		b = '\f'
	case 'r':
		b = '\r'
	case 'u':
		code, n := d.unicode()
		if n == 0 {
			return "invalid unicode escape code"
		}
		d.i += n
		out.add(string(utf8.AppendRune(nil, code)))
		return ""
	default:
		return "invalid escape code"
	}
	d.i += 2
	out.addByte(b)
	return ""
}

// unicode reads an escaped code, or a pair of surrogates, and returns its length, 0 if it
// is none.
func (d *jsonDecoder) unicode() (code rune, n int) {
	code, ok := d.hex4(d.i + 2)
	if !ok {
		return 0, 0
	}
	if code&0xF800 != 0xD800 {
		return code, 6
	}
	if code&0x400 != 0 || d.at(d.i+6) != '\\' || d.at(d.i+7) != 'u' {
		return 0, 0
	}
	low, ok := d.hex4(d.i + 8)
	if !ok || low&0xFC00 != 0xDC00 {
		return 0, 0
	}
	return ((code&0x3FF)<<10 | low&0x3FF) + 0x10000, 12
}

func (d *jsonDecoder) hex4(start int) (code rune, ok bool) {
	for i := start; i < start+4; i++ {
		if !isHex(d.at(i)) {
			return 0, false
		}
		code = code<<4 | rune(digit(d.at(i)))
	}
	return code, true
}
