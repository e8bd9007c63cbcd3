package path

import (
	"slices"
	"strconv"

	"github.com/vigildb/vigil/structures/json"
)

// Limits of a path.
const (
	maxLength    = 64 << 10
	maxNesting   = 128  // of filters and parentheses
	maxSelectors = 1000 // of a list
)

// Path is a parsed path. It does not change: several calls can use it at the same time.
type Path struct {
	// Legacy: it was not written as a JSONPath.
	Legacy   bool
	segments []segment
	// place has the steps of a path that isPlace, without room behind them.
	place   []json.Step
	isPlace bool
}

// root and legacyRoot are the paths of the root.
var root, legacyRoot = &Path{isPlace: true}, &Path{Legacy: true, isPlace: true}

// segment leads from values to others.
type segment struct {
	descend bool // from all values below, too
	kind    kind
	names   [][]byte
	indexes []int
	slice   slice
	filter  *expression
}

type kind byte

const (
	byName kind = iota
	byIndex
	all
	bySlice
	byFilter
)

// slice has bounds as in Python. An absent bound is noBound.
type slice struct{ from, to, step int }

const noBound = -1 << 63

// Error is a path that cannot be parsed.
type Error struct {
	At       int // byte in the path, as a JSONPath
	Expected string
}

func (e *Error) Error() string {
	at := strconv.Itoa(e.At)
	return "Error occurred at position " + at + ", Error at position " + at + ": expected one of the following: " + e.Expected
}

// IsRoot reports whether the path is that of the root: it has no segments.
func (p *Path) IsRoot() bool { return len(p.segments) == 0 }

// Static returns the steps of a path that names one place, whether or not something is there. ok
// is false for other paths. A negative index is from the end.
func (p *Path) Static() (steps []json.Step, ok bool) {
	for i := range p.segments {
		s := &p.segments[i]
		switch {
		case s.descend:
			return nil, false
		case s.kind == byName && len(s.names) == 1:
			steps = append(steps, json.Named(s.names[0]))
		case s.kind == byIndex && len(s.indexes) == 1:
			steps = append(steps, json.At(s.indexes[0]))
		default:
			return nil, false
		}
	}
	return steps, true
}

// Place is Static for paths that count all elements from the start. The steps are the path's own.
func (p *Path) Place() (steps []json.Step, ok bool) { return p.place, p.isPlace }

// settle finds out whether the path is a place.
func (p *Path) settle() *Path {
	steps, ok := p.Static()
	for _, s := range steps {
		ok = ok && (s.Name != nil || s.Index >= 0)
	}
	if ok {
		p.place, p.isPlace = slices.Clip(steps), true
	}
	return p
}

// Ordered reports whether the matches of the path are in the order of the document, each once and
// none in another: which is known of a path that neither looks at all depths nor has lists.
func (p *Path) Ordered() bool {
	for i := range p.segments {
		if s := &p.segments[i]; s.descend || len(s.names) > 1 || len(s.indexes) > 1 {
			return false
		}
	}
	return true
}

// Parent is the path without its last segment, which it has.
func (p *Path) Parent() *Path {
	return (&Path{Legacy: p.Legacy, segments: p.segments[:len(p.segments)-1]}).settle()
}

// LastName returns the name that a path ends in. ok is false if that is an index.
func (p *Path) LastName() (name []byte, ok bool) {
	s := &p.segments[len(p.segments)-1]
	if s.kind != byName {
		return nil, false
	}
	return s.names[0], true
}

// expression is a filter, or a part of one.
type expression struct {
	op          operator
	left, right *expression // of and, or
	a, b        *term       // of comparisons; b is nil if a stands alone
}

type operator byte

const (
	opAnd operator = iota
	opOr
	opAlone
	opEqual
	opUnequal
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
	opMatch
)

// term is one side of a comparison: a path from the element (@) or the root ($), or a literal.
type term struct {
	path     []segment
	fromRoot bool
	literal  bool
	value    json.Value // of a literal
}
