package lualib

import "strings"

const (
	// maxLevels is how deeply brackets, blocks and operators that wait for their operand
	// nest, as in Lua: LUAI_MAXCCALLS. gopher-lua has no bound of its own, and its parser
	// takes memory for each level.
	maxLevels = 200
	// maxChain is how many operators, indexes and calls follow each other in one
	// expression, and how many "elseif" one "if" has: each nests Go's stack while the
	// expression is compiled.
	maxChain = 10000
)

// A level is what is open inside one bracket or block.
type level struct {
	prefix  int // operators that wait for an operand: unary ones, ^
	concat  int // waiting ..
	chain   int
	elseifs int
}

// expression forgets what belonged to an expression that has ended.
func (l *level) expression() { l.prefix, l.concat, l.chain = 0, 0, 0 }

// tooDeep returns the line at which a source nests too deeply, or 0. It looks at tokens
// alone: whether they are Lua is for the parser to say.
func tooDeep(source string) (line int) {
	n := nesting{scanner: scanner{s: source, line: 1}}
	n.levels[0] = level{}
	for t := n.token(); t != ""; t = n.token() {
		if !n.follow(t) {
			return n.line
		}
	}
	return 0
}

type nesting struct {
	scanner
	levels  [maxLevels]level
	depth   int
	operand bool // the last token ended one
}

// follow takes the next token and says whether nothing is too deep.
func (n *nesting) follow(t string) bool {
	l := &n.levels[n.depth]
	wasOperand := n.operand
	n.operand = false
	switch t {
	case "(", "[", "{", "function", "do", "then", "repeat":
		if isPunct(t[0]) && wasOperand {
			l.chain++ // an index or a call
		}
		if n.depth++; n.depth == maxLevels {
			return false
		}
		n.levels[n.depth] = level{}
	case ")", "]", "}", "end", "until":
		n.depth = max(n.depth-1, 0)
		n.operand = t != "until"
		if t == "until" {
			n.levels[n.depth].expression()
		}
	case "elseif", "else":
		n.depth = max(n.depth-1, 0)
		l = &n.levels[n.depth]
		l.expression()
		if t == "elseif" {
			l.elseifs++
		} else if n.depth++; n.depth < maxLevels {
			n.levels[n.depth] = level{}
		}
	case "if":
		l.expression()
		l.elseifs = 0
	case "operand":
		if wasOperand {
			l.expression() // another statement begins
		}
		n.operand = true
	case "text":
		if wasOperand {
			l.chain++ // a call
		}
		n.operand = true
	case "name": // after a dot as well
		n.operand = true
		if wasOperand {
			l.expression()
		}
	default:
		l.operator(t, wasOperand)
	}
	return n.depth < maxLevels && l.prefix < maxLevels && l.concat < maxLevels &&
		l.chain < maxChain && l.elseifs < maxChain
}

// operator takes an operator, or what ends an expression: other words and punctuation.
func (l *level) operator(t string, afterOperand bool) {
	switch t {
	case "-", "#", "not", "^":
		if t == "-" && afterOperand {
			l.prefix = 0
			l.chain++
		} else {
			l.prefix++
		}
	case "..":
		l.prefix = 0
		l.concat++
		l.chain++
	case "+", "*", "/", "%":
		l.prefix = 0
		l.chain++
	case "==", "~=", "<=", ">=", "<", ">", "and", "or":
		l.prefix, l.concat = 0, 0
		l.chain++
	case ".", ":":
		l.chain++
	default:
		l.expression()
	}
}

// A scanner reads the tokens of Lua: words and operators as they are, "name", "text" for
// strings and "operand" for other values.
type scanner struct {
	s    string
	line int
}

// cut takes n bytes off and returns them.
func (s *scanner) cut(n int) string {
	t := s.s[:n]
	s.line += strings.Count(t, "\n")
	s.s = s.s[n:]
	return t
}

// token returns the next token, "" at the end.
func (s *scanner) token() string {
	s.skip()
	if s.s == "" {
		return ""
	}
	switch b := s.s[0]; {
	case isAlpha(b) || b == '_':
		return wordToken(s.cut(s.while(func(b byte) bool { return isAlnum(b) || b == '_' })))
	case isDigit(b) || b == '.' && len(s.s) > 1 && isDigit(s.s[1]):
		s.cut(s.while(func(b byte) bool { return isAlnum(b) || b == '.' }))
		return "operand"
	case b == '"' || b == '\'':
		s.quoted(b)
		return "text"
	case b == '[' && longBracket(s.s) > 0:
		s.long()
		return "text"
	}
	for _, operator := range []string{"...", "..", "==", "~=", "<=", ">="} {
		if strings.HasPrefix(s.s, operator) {
			s.cut(len(operator))
			if operator == "..." {
				return "operand"
			}
			return operator
		}
	}
	return s.cut(1)
}

func wordToken(word string) string {
	switch word {
	case "and", "break", "do", "else", "elseif", "end", "for", "function", "if", "in", "local",
		"not", "or", "repeat", "return", "then", "until", "while":
		return word
	case "nil", "true", "false":
		return "operand"
	}
	return "name"
}

// while returns how many bytes at the start are in a class.
func (s *scanner) while(class func(byte) bool) int {
	n := 0
	for n < len(s.s) && class(s.s[n]) {
		n++
	}
	return n
}

// skip skips spaces and comments.
func (s *scanner) skip() {
	for {
		s.cut(s.while(isSpace))
		if !strings.HasPrefix(s.s, "--") {
			return
		}
		s.cut(2)
		if longBracket(s.s) > 0 {
			s.long()
			continue
		}
		n := strings.IndexByte(s.s, '\n')
		if n < 0 {
			n = len(s.s)
		}
		s.cut(n)
	}
}

// quoted skips a string, which ends at its line if it does not before.
func (s *scanner) quoted(quote byte) {
	n := 1
	for n < len(s.s) && s.s[n] != quote && s.s[n] != '\n' {
		if s.s[n] == '\\' {
			n++
		}
		n++
	}
	s.cut(min(n+1, len(s.s)))
}

// longBracket returns the length of an opening [[ or [=[, 0 if there is none.
func longBracket(s string) int {
	if s == "" || s[0] != '[' {
		return 0
	}
	n := 1
	for n < len(s) && s[n] == '=' {
		n++
	}
	if n == len(s) || s[n] != '[' {
		return 0
	}
	return n + 1
}

// long skips a long string or comment.
func (s *scanner) long() {
	n := longBracket(s.s)
	closing := "]" + strings.Repeat("=", n-2) + "]"
	end := strings.Index(s.s[n:], closing)
	if end < 0 {
		s.cut(len(s.s))
		return
	}
	s.cut(n + end + len(closing))
}
