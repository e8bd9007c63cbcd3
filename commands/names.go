package commands

import "bytes"

// Names tells names from options in a call that lists any number of both, such as
// SCHED.ADD, where a misspelt option would become a name. It goes by what a word
// looks like, so it refuses some names too. These are taken in first place, where
// no option can stand.
type Names struct {
	// Options are the options of the call, in upper case. Others are those of
	// related commands.
	Options, Others []string
	// Bare says that names need no value, so that a number after a word makes
	// this an option.
	Bare     bool
	capitals bool // the first name is
}

// First is told the call's first name. If it is in capitals, others may be.
func (n *Names) First(name []byte) { n.capitals = inCapitals(name) }

// Refuse records an error if the next argument, in the place of a name but not the
// first, is meant as an option:
//
//	rate=5       one of Options or Others, in any case, together with its value
//	rate_ 5      Bare: letters, - and _, before a number
//	seed         one of Others, in any case
//	NX           two capital letters or more, unless an option follows, which must
//	             belong to a name
//
// The last two are names if they and the first name are in capitals.
func (n *Names) Refuse(a *Args) {
	word, next := a.Peek(), a.Ahead(1)
	before, _, assigned := bytes.Cut(word, []byte("="))
	_, number := ParseFloat(next)
	switch {
	case assigned && (n.Option(before) || isOneOf(before, n.Others)):
	case n.Bare && number && isWord(word):
	case n.capitals && inCapitals(word):
		return
	case isOneOf(word, n.Others):
	case inCapitals(word) && !n.Option(next):
	default:
		return
	}
	a.Fail(ErrUnknownOption(word))
}

// Option reports whether a word is one of the options of the call, in any case.
func (n *Names) Option(word []byte) bool { return isOneOf(word, n.Options) }

func isOneOf(word []byte, words []string) bool {
	for _, w := range words {
		if EqualFold(word, w) {
			return true
		}
	}
	return false
}

// isWord reports whether b has letters, and beside them - and _ only, as names of
// options have.
func isWord(b []byte) bool {
	letters := 0
	for _, c := range b {
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			letters++
		case c != '-' && c != '_':
			return false
		}
	}
	return letters > 0
}

// inCapitals reports whether b is a word of two letters or more without small ones.
func inCapitals(b []byte) bool {
	return len(b) > 1 && isWord(b) && !bytes.ContainsAny(b, "abcdefghijklmnopqrstuvwxyz")
}
