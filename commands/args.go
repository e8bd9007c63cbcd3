package commands

import (
	"math"
	"unsafe"
)

// Args reads the arguments of a call in order. It keeps its first error, which
// Done returns, so that a handler reads everything and checks once. After an
// error every method returns its zero value.
//
// The bytes that Args gives out alias the client's input buffer: they are
// valid until the handler returns, and a handler that keeps them copies them.
type Args struct {
	argv [][]byte
	i    int
	err  error
	word [32]byte
}

// Reset points the reader at a call; its next argument is the first one after
// the command's name.
func (a *Args) Reset(argv [][]byte, first int) { a.argv, a.i, a.err = argv, first, nil }

// All is the whole call, the name included.
func (a *Args) All() [][]byte { return a.argv }

// More reports that an argument is left and nothing has failed.
func (a *Args) More() bool { return a.err == nil && a.i < len(a.argv) }

// Left is the number of arguments not read yet.
func (a *Args) Left() int { return len(a.argv) - a.i }

// Done returns the first error; arguments left over are a syntax error.
func (a *Args) Done() error {
	if a.err == nil && a.i < len(a.argv) {
		a.err = ErrSyntax
	}
	return a.err
}

// Err returns the first error. Unlike Done it allows arguments to be left over.
func (a *Args) Err() error { return a.err }

// Fail records err unless there is an earlier error.
func (a *Args) Fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// Syntax records a syntax error.
func (a *Args) Syntax() { a.Fail(ErrSyntax) }

// Bytes reads the next argument; if there is none, that is a syntax error.
func (a *Args) Bytes() []byte {
	if a.err != nil {
		return nil
	}
	if a.i >= len(a.argv) {
		a.err = ErrSyntax
		return nil
	}
	a.i++
	return a.argv[a.i-1]
}

// Key reads the next argument as a key.
func (a *Args) Key() []byte { return a.Bytes() }

// String reads the next argument into a string of its own.
func (a *Args) String() string { return string(a.Bytes()) }

// Peek is the next argument, not consumed, or nil.
func (a *Args) Peek() []byte { return a.Ahead(0) }

// Ahead is the argument that comes n after the next one, not consumed, or nil.
func (a *Args) Ahead(n int) []byte {
	if a.err != nil || n >= a.Left() {
		return nil
	}
	return a.argv[a.i+n]
}

// Skip skips n arguments.
func (a *Args) Skip(n int) { a.i += n }

// Rest takes all arguments that are left.
func (a *Args) Rest() [][]byte {
	if a.err != nil {
		return nil
	}
	rest := a.argv[a.i:]
	a.i = len(a.argv)
	return rest
}

// AllBut takes the remaining arguments except for the last n.
func (a *Args) AllBut(n int) [][]byte { return a.Take(a.Left() - n) }

// Take takes the next n arguments; too few left is a syntax error.
func (a *Args) Take(n int) [][]byte {
	if a.err == nil && (n < 0 || n > a.Left()) {
		a.err = ErrSyntax
	}
	if a.err != nil {
		return nil
	}
	a.i += n
	return a.argv[a.i-n : a.i]
}

// Word reads the next argument as an option: its upper-case form, valid until
// the next Word. A word too long for any option is "".
func (a *Args) Word() string {
	b := a.Bytes()
	if len(b) > len(a.word) || len(b) == 0 {
		return ""
	}
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		a.word[i] = c
	}
	return unsafe.String(&a.word[0], len(b))
}

// Once reads options that a call may give once each.
type Once struct {
	at [8]int // where they are
	n  int
}

// Word is Args.Word. An option that is given again is a syntax error, and "".
func (o *Once) Word(a *Args) string {
	word := a.Word()
	if word == "" {
		return ""
	}
	for _, i := range o.at[:o.n] {
		if EqualFold(a.argv[i], word) {
			a.Syntax()
			return ""
		}
	}
	if o.n < len(o.at) {
		o.at[o.n] = a.i - 1
		o.n++
	}
	return word
}

// Is consumes the next argument if it is the given upper-case word.
func (a *Args) Is(word string) bool {
	b := a.Peek()
	if !EqualFold(b, word) {
		return false
	}
	a.i++
	return true
}

// EqualFold reports whether b is an upper-case ASCII word in any case.
func EqualFold(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// StartsFold reports whether b begins with an upper-case ASCII word in any case.
func StartsFold(b []byte, word string) bool {
	return len(b) >= len(word) && EqualFold(b[:len(word)], word)
}

// WordAt returns the index of the first argument that is an upper-case word in any case, -1 if none
// is. Commands of modules look for their options like this, and ignore other words.
func WordAt(args [][]byte, word string) int {
	for i, a := range args {
		if EqualFold(a, word) {
			return i
		}
	}
	return -1
}

// Int reads an integer.
func (a *Args) Int() int64 { return a.IntOr(ErrNotInteger) }

// IntOr reads an integer; anything else is the given error.
func (a *Args) IntOr(bad error) int64 {
	b := a.Bytes()
	if a.err != nil {
		return 0
	}
	v, ok := ParseInt(b)
	if !ok {
		a.err = bad
	}
	return v
}

// IntIn reads an integer between lo and hi, both included; anything else is
// the given error.
func (a *Args) IntIn(lo, hi int64, bad error) int64 {
	v := a.IntOr(bad)
	if a.err == nil && (v < lo || v > hi) {
		a.err = bad
		return 0
	}
	return v
}

// Float reads a number.
func (a *Args) Float() float64 {
	b := a.Bytes()
	if a.err != nil {
		return 0
	}
	v, ok := ParseFloat(b)
	if !ok {
		a.err = ErrNotFloat
	}
	return v
}

// Cursor reads the cursor of a SCAN.
func (a *Args) Cursor() uint64 {
	b := a.Bytes()
	if a.err != nil {
		return 0
	}
	v, ok := ParseCursor(b)
	if !ok {
		a.err = ErrCursor
	}
	return v
}

// Timeout reads a number of seconds, fractions allowed, and returns
// milliseconds, rounded up; 0 means to wait forever.
func (a *Args) Timeout() int64 {
	b := a.Bytes()
	if a.err != nil {
		return 0
	}
	v, fits, ok := Strtod(b)
	switch {
	case !ok || len(b) > 512:
		a.err = ErrTimeoutNotFloat
	case v*1000 > math.MaxInt64/2:
		a.err = ErrTimeoutRange
	case v < 0:
		a.err = ErrTimeoutNegative
	case !fits && !math.Signbit(v):
		return 1 // too short for a float64, which would make it for ever
	default:
		return int64(math.Ceil(v * 1000))
	}
	return 0
}

// TimeoutMillis reads a number of milliseconds; 0 means to wait for ever.
func (a *Args) TimeoutMillis() int64 {
	v := a.IntOr(ErrTimeoutNotInt)
	if a.err == nil && v < 0 {
		a.err = ErrTimeoutNegative
	}
	return v
}
