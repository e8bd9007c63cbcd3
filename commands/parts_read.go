package commands

import "math"

// PartReader reads the parts of a call and its options, which come in any order.
type PartReader struct {
	Words *PartWords
	Width int // arguments of each part: 2 for a field and its value
	Least int // arguments that have to follow the keyword

	None    error // fewer than Least follow
	Bad     error // what follows first is no number of parts
	Few     error // fewer parts follow than the number says
	Missing error // there is no keyword
	Many    error // there are several conditions
	// Unknown is the error for a word that is no option; named says that it stands behind the parts.
	Unknown func(word []byte, named bool) error
}

// Read reads what is left of a call. option reads what follows the word of an option, and reports whether there is
// such an option.
func (p *PartReader) Read(a *Args, option func(word string) bool) (parts [][]byte) {
	named := false
	for a.More() {
		raw := a.Peek()
		switch word := a.Word(); {
		case word == p.Words.Keyword && named:
			a.Fail(Errorf("ERR %s keyword specified multiple times", p.Words.Keyword))
		case word == p.Words.Keyword:
			named = true
			parts = p.block(a)
		case !option(word):
			a.Fail(p.Unknown(raw, named))
		}
	}
	if !named {
		a.Fail(p.Missing)
	}
	return parts
}

// block reads the number of parts, and these.
func (p *PartReader) block(a *Args) [][]byte {
	if a.Left() < p.Least {
		a.Fail(p.None)
	}
	n := a.IntIn(1, math.MaxInt32, p.Bad)
	if a.Err() == nil && n*int64(p.Width) > int64(a.Left()) {
		a.Fail(p.Few)
	}
	if a.Err() != nil {
		return nil
	}
	return a.Take(int(n) * p.Width)
}

// ErrUnknownArgument is the error for a word that is no option.
func ErrUnknownArgument(word []byte) WireError { return Errorf("ERR unknown argument: %s", word) }

// ToExpire reads the parts that get an expiry, and the condition for that: a call of HEXPIRE or SEXPIRE from behind
// the time.
func (p *PartReader) ToExpire(a *Args) (when ExpiryCondition, parts [][]byte) {
	parts = p.Read(a, func(word string) bool {
		f := ParseExpiryCondition(word)
		when |= f
		return f != 0
	})
	if when&(when-1) != 0 {
		a.Fail(p.Many)
	}
	return when, parts
}

const errNoPartExpiry = WireError("ERR missing expire time")

// PartExpiry is the option that gives parts an expiry, or the word without a time that a command takes in its place.
type PartExpiry struct {
	Bare string // the word, such as KEEPTTL

	Plain  bool  // the word was given
	Set    bool  // a time was given
	Millis int64 // that time, unix
}

// Option reads the rest of the option that begins with a word, and reports whether there is such an option.
func (e *PartExpiry) Option(c *Ctx, word string) bool {
	u, base := Milliseconds, int64(0)
	switch word {
	case "EX":
		u, base = Seconds, c.Now
	case "PX":
		base = c.Now
	case "EXAT":
		u = Seconds
	case "PXAT", e.Bare:
	default:
		return false
	}
	if e.Plain || e.Set {
		c.Args.Fail(Errorf("ERR Only one of EX, PX, EXAT, PXAT or %s arguments can be specified", e.Bare))
		return true
	}
	if e.Plain = word == e.Bare; e.Plain {
		return true
	}
	if !c.Args.More() {
		c.Args.Fail(errNoPartExpiry)
	}
	e.Set, e.Millis = true, c.PartDeadline(u, base)
	return true
}

// PartsWhen says which parts must be there for a command to set any.
type PartsWhen uint8

const (
	PartsAlways PartsWhen = iota
	PartsNew              // none of them
	PartsOld              // all of them
)

// Only takes a condition, which bad excludes if there is one already.
func (w *PartsWhen) Only(a *Args, when PartsWhen, bad error) {
	if *w != PartsAlways {
		a.Fail(bad)
	}
	*w = when
}

// Allows reports whether the condition holds for parts, each of the given width in arguments.
func (w PartsWhen) Allows(args [][]byte, width int, has func(part []byte) bool) bool {
	if w == PartsAlways {
		return true
	}
	for i := 0; i < len(args); i += width {
		if has(args[i]) != (w == PartsOld) {
			return false
		}
	}
	return true
}
