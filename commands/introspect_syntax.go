package commands

import (
	"slices"
	"strings"
)

// The syntax of a row is a line such as
//
//	key value [NX | XX] [EX seconds | PX milliseconds] [field [field ...]]
//
// of words in capitals that stand for themselves (tokens), names of arguments,
// brackets around what may be left out, angle brackets around a choice that has
// to be made, bars between the choices, and dots after what may be repeated.
// COMMAND DOCS shows it as a tree, from which clients make hints.

// ArgType is the type of an argument, with Redis's names.
type ArgType string

const (
	ArgString   ArgType = "string"
	ArgInteger  ArgType = "integer"
	ArgDouble   ArgType = "double"
	ArgKey      ArgType = "key"
	ArgPattern  ArgType = "pattern"
	ArgUnixTime ArgType = "unix-time"
	ArgToken    ArgType = "pure-token"
	ArgOneOf    ArgType = "oneof"
	ArgBlock    ArgType = "block"
)

// Types are the types of arguments that do not follow from their names, see
// typeOfName.
type Types map[string]ArgType

// Argument is a node of the tree.
type Argument struct {
	Name    string
	Type    ArgType
	Token   string // the word in capitals before it, or that it is
	KeySpec int    // of a key: which of the command's key specs finds it, or -1

	Optional, Multiple, MultipleToken bool

	Args []*Argument // of ArgOneOf and ArgBlock

	text string // as in the line
}

// ParseSyntax reads the syntax of a row. Every line is accepted: brackets that
// are not closed end with the line.
func ParseSyntax(cmd *Command) []*Argument {
	p := &syntaxParser{words: splitSyntax(cmd.Syntax), specs: len(cmd.Keys), types: cmd.Types}
	return p.choices("", true)
}

// splitSyntax cuts the line into brackets, bars, dots and words. Tokens between
// bars without spaces, NX|XX, stay one word: a choice of their own.
func splitSyntax(s string) []string {
	var words []string
	for _, field := range strings.Fields(s) {
		for field != "" {
			i := strings.IndexAny(field, "[]<>")
			if i == 0 {
				words, field = append(words, field[:1]), field[1:]
				continue
			}
			if i < 0 {
				i = len(field)
			}
			words, field = appendWords(words, field[:i]), field[i:]
		}
	}
	return words
}

// appendWords appends what stands between two brackets or spaces.
func appendWords(words []string, s string) []string {
	if isToken(s) {
		return append(words, s)
	}
	for s != "" {
		word, rest, bar := strings.Cut(s, "|")
		if bare := strings.TrimSuffix(word, "..."); bare != "" {
			words = append(words, bare)
		}
		if strings.HasSuffix(word, "...") {
			words = append(words, "...")
		}
		if bar {
			words = append(words, "|")
		}
		s = rest
	}
	return words
}

// isToken reports a word in capitals, or several between bars.
func isToken(w string) bool {
	if strings.HasSuffix(w, "...") || strings.HasPrefix(w, "|") || strings.HasSuffix(w, "|") {
		return false
	}
	for _, part := range strings.Split(w, "|") {
		if part != strings.ToUpper(part) || part == strings.ToLower(part) {
			return false
		}
	}
	return true
}

type syntaxParser struct {
	words []string
	at    int
	specs int // key specs of the command
	types Types
	keys  int // keys so far
	dots  bool
}

func (p *syntaxParser) peek() string {
	if p.at < len(p.words) {
		return p.words[p.at]
	}
	return ""
}

// choices reads sequences between bars up to the closing bracket. One sequence
// is returned as it is, several as one choice.
func (p *syntaxParser) choices(end string, top bool) []*Argument {
	var all [][]*Argument
	for {
		all = append(all, p.sequence(end, top))
		if p.peek() != "|" {
			break
		}
		p.at++
	}
	if p.peek() == end {
		p.at++
	}
	if len(all) == 1 {
		return all[0]
	}
	choice := &Argument{Type: ArgOneOf}
	var names, texts []string
	for _, seq := range all {
		if len(seq) == 0 {
			continue
		}
		a := block(seq)
		choice.Args = append(choice.Args, a)
		names, texts = append(names, a.Name), append(texts, a.text)
	}
	if len(choice.Args) == 0 {
		return nil
	}
	choice.Name, choice.text = strings.Join(names, "-"), strings.Join(texts, " | ")
	return []*Argument{choice}
}

// block makes one argument of a sequence. A token at its head belongs to it all.
func block(seq []*Argument) *Argument {
	if len(seq) == 1 {
		return seq[0]
	}
	seq = slices.Clone(seq) // the caller keeps using its own
	b := &Argument{Type: ArgBlock, Name: seq[0].Name, Args: seq}
	var texts []string
	for _, a := range seq {
		texts = append(texts, a.text)
	}
	b.text = strings.Join(texts, " ")
	if seq[0].Type == ArgToken {
		b.Token, b.Args = seq[0].Token, seq[1:]
		if len(b.Args) == 1 && b.Args[0].Token == "" && !b.Args[0].Optional {
			one := b.Args[0]
			one.Token, one.text = b.Token, b.text
			return one
		}
	}
	return b
}

// sequence reads arguments up to a bar or the closing bracket. At the top of
// the line a token takes the one argument after it; inside brackets it stands
// for the bracket.
func (p *syntaxParser) sequence(end string, top bool) []*Argument {
	p.dots = false
	var seq []*Argument
	for {
		w := p.peek()
		switch {
		case w == "" || w == "|" || w == end:
			return seq
		case w == "...":
			p.at++
			p.dots = true
		case w == "[":
			p.at++
			seq = p.optional(seq)
		case w == "<":
			p.at++
			if inner := p.choices(">", false); len(inner) > 0 {
				seq = append(seq, block(inner))
			}
		case w == "]" || w == ">":
			p.at++ // closes nothing
		default:
			p.at++
			seq = append(seq, p.word(w))
		}
		if n := len(seq); top && n > 1 && seq[n-2].Type == ArgToken && !seq[n-2].Optional && plain(seq[n-1]) {
			seq = append(seq[:n-2], block(seq[n-2:]))
		}
	}
}

// plain reports an argument that a token before it can take.
func plain(a *Argument) bool { return !a.Optional && a.Type != ArgToken && a.Token == "" }

// optional reads a bracket after seq: "x [x ...]" says that x may be repeated,
// everything else that it may be left out.
func (p *syntaxParser) optional(seq []*Argument) []*Argument {
	keys := p.keys
	inner := p.choices("]", false)
	dots := p.dots
	p.dots = false
	if len(inner) == 0 {
		return seq
	}
	if dots {
		if n := repeats(seq, inner); n > 0 {
			p.keys = keys
			return multiply(seq, n)
		}
	}
	a := block(inner)
	a.Optional = true
	a.Multiple = a.Multiple || dots
	a.text = "[" + a.text + "]"
	return append(seq, a)
}

// repeats returns how many arguments at the end of seq inner spells again, or 0.
func repeats(seq, inner []*Argument) int {
	want := block(inner).text
	for n := 1; n <= len(seq); n++ {
		var texts []string
		for _, a := range seq[len(seq)-n:] {
			texts = append(texts, a.text)
		}
		if strings.Join(texts, " ") == want {
			return n
		}
	}
	return 0
}

// multiply marks the last n arguments of seq as repeatable.
func multiply(seq []*Argument, n int) []*Argument {
	head, tail := seq[:len(seq)-n], seq[len(seq)-n:]
	token := tail[0].Type == ArgToken
	a := block(tail)
	if n > 1 && !token && a.Type == ArgBlock {
		a.Name = "data"
	}
	a.Multiple = true
	a.MultipleToken = a.Token != "" && a.Type != ArgToken
	return append(head, a)
}

// word makes an argument of one word.
func (p *syntaxParser) word(w string) *Argument {
	a := &Argument{Name: strings.ToLower(w), text: w, KeySpec: -1}
	switch {
	case isToken(w) && strings.Contains(w, "|"):
		a.Type, a.Name = ArgOneOf, strings.ReplaceAll(a.Name, "|", "-")
		for _, token := range strings.Split(w, "|") {
			a.Args = append(a.Args, p.word(token))
		}
	case isToken(w):
		a.Type, a.Token = ArgToken, w
	case w == "*" || w == "=" || w == "~" || w == `""`:
		a.Type, a.Token = ArgToken, w
	default:
		a.Type = p.typeOf(w)
	}
	if a.Type == ArgKey {
		if p.keys < p.specs {
			a.KeySpec = p.keys
		}
		p.keys++
	}
	return a
}

func (p *syntaxParser) typeOf(name string) ArgType {
	if t, ok := p.types[name]; ok {
		return t
	}
	return typeOfName(name)
}

// typeOfName derives the type of an argument from its name: rows use these
// words as names.
func typeOfName(name string) ArgType {
	switch name {
	case "key", "newkey", "source", "destination", "destkey", "sourcekey", "key1", "key2":
		return ArgKey
	case "seconds", "milliseconds", "count", "start", "stop", "end", "offset", "index", "increment",
		"decrement", "cursor", "numkeys", "numfields", "db", "port", "len", "length", "rank", "maxlen", "limit",
		"protover", "client-id", "timeout", "index1", "index2", "destination-db", "min-match-len", "bit",
		"capacity", "expansion", "numlocal", "numreplicas", "maxage", "steps", "probes", "seed", "points", "copies", "slots":
		return ArgInteger
	case "pattern":
		return ArgPattern
	case "unix-time-seconds", "unix-time-milliseconds":
		return ArgUnixTime
	case "error", "error_rate", "weight", "min", "max", "rate", "decay", "cost", "fraction", "factor", "items":
		return ArgDouble
	}
	return ArgString
}
