package lualib

// classEnd returns where the item of a pattern ends that starts at p, without what says
// how often it occurs.
func (m *matcher) classEnd(p int) int {
	x := m.at(p)
	p++
	switch x {
	case '%':
		if m.at(p) == 0 {
			m.c.raise("malformed pattern (ends with '%')")
		}
		return p + 1
	case '[':
		if m.at(p) == '^' {
			p++
		}
		for first := true; first || m.at(p) != ']'; first = false {
			m.spend(1)
			if m.at(p) == 0 {
				m.c.raise("malformed pattern (missing ']')")
			}
			p++
			if m.p[p-1] == '%' && m.at(p) != 0 {
				p++
			}
		}
		return p + 1
	}
	return p
}

// single says whether a byte fits the item of the pattern between p and end.
func (m *matcher) single(b byte, p, end int) bool {
	switch x := m.at(p); x {
	case '.':
		return true
	case '%':
		return inClass(b, m.at(p+1))
	case '[':
		return m.inSet(b, p, end-1)
	default:
		return x == b
	}
}

// inSet says whether a byte is in the set whose brackets are at p and last.
func (m *matcher) inSet(b byte, p, last int) bool {
	m.spend((last - p) / 8)
	in := true
	if m.at(p+1) == '^' {
		in = false
		p++
	}
	for p++; p < last; p++ {
		switch {
		case m.at(p) == '%':
			p++
			if inClass(b, m.at(p)) {
				return in
			}
		case m.at(p+1) == '-' && p+2 < last:
			p += 2
			if m.at(p-2) <= b && b <= m.at(p) {
				return in
			}
		case m.at(p) == b:
			return in
		}
	}
	return !in
}

// inClass says whether a byte is in the class of a letter, whose capital stands for the
// others; what is no letter of a class stands for itself.
func inClass(b, class byte) bool {
	var in bool
	switch toLower(class) {
	case 'a':
		in = isAlpha(b)
	case 'c':
		in = isCntrl(b)
	case 'd':
		in = isDigit(b)
	case 'l':
		in = isLower(b)
	case 'p':
		in = isPunct(b)
	case 's':
		in = isSpace(b)
	case 'u':
		in = isUpper(b)
	case 'w':
		in = isAlnum(b)
	case 'x':
		in = isHex(b)
	case 'z':
		in = b == 0
	default:
		return class == b
	}
	return in == isLower(class)
}
