package resp

import "bytes"

// inline reads a line of words at the start of b: what a person types into
// telnet. It returns the size of the line with its end and the words appended
// to args, none for a blank line. A size of 0 means that the line is
// incomplete or wrong (f.err).
func (f *Framer) inline(b []byte, args [][]byte) (size int, argv [][]byte) {
	i := bytes.IndexByte(b[f.seen:], '\n')
	if i < 0 {
		f.seen = len(b)
	} else {
		i += f.seen
		f.seen = i
	}
	if f.seen > MaxLine {
		f.fail("too big inline request")
		return 0, nil
	}
	if i < 0 {
		return 0, nil
	}
	line := b[:i]
	if i > 0 && line[i-1] == '\r' {
		line = line[:i-1]
	}
	argv, ok := SplitWords(line, args)
	if !ok {
		f.fail("unbalanced quotes in request")
		return 0, nil
	}
	return i + 1, argv
}

// SplitWords appends the words of line to words and reports whether its quotes
// are balanced. Words are unquoted in place, which always fits: every escape
// is longer than what it stands for.
//
// The rules are those of redis-cli and of redis.conf:
//   - blanks (space, \t, \n, \v, \f, \r) separate words; of these \v and \f only
//     in front of a word, inside it they are part of it;
//   - in double quotes \n \r \t \b \a and \xHH are the usual bytes, and any other
//     character after a backslash stands for itself;
//   - in single quotes only \' is an escape;
//   - quotes may begin inside a word, and the closing quote ends the word: a
//     blank or the end must follow it.
func SplitWords(line []byte, words [][]byte) ([][]byte, bool) {
	i := 0
	for {
		for i < len(line) && isBlank(line[i]) {
			i++
		}
		if i == len(line) {
			return words, true
		}
		start, out := i, i
		for i < len(line) && !endsWord(line[i]) {
			if c := line[i]; c == '"' || c == '\'' {
				var ok bool
				if i, out, ok = unquote(line, i, out); !ok {
					return nil, false
				}
				break
			}
			line[out] = line[i]
			out++
			i++
		}
		words = append(words, line[start:out:out])
	}
}

// unquote copies the quoted text whose opening quote is at i to out. It returns
// the offsets after the closing quote and after the copy, or false if the quote
// is not closed or is followed by anything but a blank.
func unquote(line []byte, i, out int) (next, end int, ok bool) {
	quote := line[i]
	for i++; i < len(line); i++ {
		c := line[i]
		switch {
		case c == quote:
			i++
			return i, out, i == len(line) || isBlank(line[i])
		case c != '\\' || i+1 == len(line):
		case quote == '\'':
			if line[i+1] == '\'' {
				i++
				c = '\''
			}
		case line[i+1] == 'x' && i+3 < len(line) && isHex(line[i+2]) && isHex(line[i+3]):
			c = hexValue(line[i+2])<<4 | hexValue(line[i+3])
			i += 3
		default:
			i++
			c = unescape(line[i])
		}
		line[out] = c
		out++
	}
	return i, out, false
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func endsWord(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
