package glob

// Match reports whether the whole of text matches pattern.
//
// An empty text matches only the empty pattern, as in Redis: the single star
// that lists every key, also the empty one, is a case of its own for callers.
func Match(pattern, text []byte) bool { return match(pattern, text, exact) }

// MatchFold is Match with ASCII letters compared without case. An escaped byte
// within a class keeps its case, as in Redis.
func MatchFold(pattern, text []byte) bool { return match(pattern, text, fold) }

// Literal reports whether pattern matches only itself: a look-up can replace
// the search.
func Literal(pattern []byte) bool {
	for _, c := range pattern {
		switch c {
		case '*', '?', '[', '\\':
			return false
		}
	}
	return true
}

// letters says how letters are compared.
type letters uint8

const (
	exact letters = iota
	fold
)

func match(p, s []byte, how letters) bool {
	if len(s) == 0 {
		return len(p) == 0
	}
	i, j := 0, 0
	// After a star: where the pattern continues after it, and the first byte of
	// the text that the star has not yet swallowed.
	star, mark := -1, 0
	for j < len(s) {
		if i < len(p) {
			switch c := p[i]; c {
			case '*':
				for i < len(p) && p[i] == '*' {
					i++
				}
				if i == len(p) {
					return true
				}
				star, mark = i, j
				continue
			case '?', '[', '\\':
				if n, ok := one(p[i:], s[j], how); ok {
					i, j = i+n, j+1
					continue
				}
			default:
				if same(c, s[j], how) {
					i, j = i+1, j+1
					continue
				}
			}
		}
		if star < 0 {
			return false
		}
		mark++
		i, j = star, mark
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

// one matches c against the first element of p, which is not empty and does
// not begin with a star, and returns the length of that element.
func one(p []byte, c byte, how letters) (n int, ok bool) {
	switch p[0] {
	case '?':
		return 1, true
	case '[':
		return class(p, c, how)
	case '\\':
		if len(p) >= 2 {
			return 2, same(p[1], c, how)
		}
	}
	return 1, same(p[0], c, how)
}

// class matches c against the class that p begins with. A class that is not
// closed ends with the pattern.
func class(p []byte, c byte, how letters) (n int, ok bool) {
	i, not := 1, false
	if i < len(p) && p[i] == '^' {
		i, not = i+1, true
	}
	for i < len(p) {
		left := len(p) - i
		switch {
		case left >= 2 && p[i] == '\\':
			ok = ok || p[i+1] == c
			i += 2
		case p[i] == ']':
			return i + 1, ok != not
		case left >= 3 && p[i+1] == '-':
			ok = ok || within(p[i], p[i+2], c, how)
			i += 3
		default:
			ok = ok || same(p[i], c, how)
			i++
		}
	}
	return len(p), ok != not
}

// within reports whether c lies between a and b. The bounds are put in order
// before letters are folded, so that [Z-a] without case holds nothing; and
// bytes are signed, as C's char is on the machines where Redis mostly runs,
// which shows only in ranges from below 0x80 to above it.
func within(a, b, c byte, how letters) bool {
	lo, hi := int8(a), int8(b)
	if lo > hi {
		lo, hi = hi, lo
	}
	if how == fold {
		lo, hi, c = int8(lower(byte(lo))), int8(lower(byte(hi))), lower(c)
	}
	return lo <= int8(c) && int8(c) <= hi
}

func same(a, b byte, how letters) bool {
	return a == b || how == fold && lower(a) == lower(b)
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
