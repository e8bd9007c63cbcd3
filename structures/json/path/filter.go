package path

import (
	"bytes"
	"cmp"
	"math"
	"regexp"
	"regexp/syntax"

	"github.com/vigildb/vigil/structures/json"
)

// holds reports whether a filter is true for an element or a member.
func (s *Search) holds(e *expression, v json.Value) bool {
	if !s.Steps.Take(1) {
		return false
	}
	switch e.op {
	case opAnd:
		return s.holds(e.left, v) && s.holds(e.right, v)
	case opOr:
		return s.holds(e.left, v) || s.holds(e.right, v)
	case opAlone:
		return e.a.literal || s.exists(e.a, v)
	}
	base := len(s.stack)
	a, ok := s.values(e.a, v)
	b, fits := s.values(e.b, v)
	holds := ok && fits && s.compare(e.op, a, b)
	s.stack = s.stack[:base]
	return holds
}

// exists reports whether a path finds something.
func (s *Search) exists(t *term, v json.Value) bool {
	if t.fromRoot {
		list, _ := s.values(t, v)
		return len(list) > 0
	}
	found := false
	s.Steps.Take(subCost)
	s.sub(t, v, func(Match) bool {
		found = true
		return false
	})
	return found
}

// subCost is how many steps more it takes to follow a path within a filter.
const subCost = 5

// sub follows the path of a term.
func (s *Search) sub(t *term, v json.Value, visit func(Match) bool) {
	outer, track := s.visit, s.track
	s.visit, s.track = visit, false
	s.walk(Match{Value: v}, t.path)
	s.visit, s.track = outer, track
}

// values returns the values of a term, on the stack of the search unless they are kept for the
// call. ok is false if they are too many.
func (s *Search) values(t *term, v json.Value) (list []json.Value, ok bool) {
	base := len(s.stack)
	if t.literal {
		s.stack = append(s.stack, t.value)
		return s.stack[base:], true
	}
	if t.fromRoot {
		if list, done := s.fixed[t]; done {
			return list, true
		}
		v = s.root
	}
	if len(t.path) == 1 && t.path[0].kind == byName && !t.path[0].descend && len(t.path[0].names) == 1 {
		s.Steps.Take(v.LookupSteps())
		if member, _, found := v.Member(t.path[0].names[0]); found {
			s.stack = append(s.stack, member)
		}
	} else {
		s.Steps.Take(subCost)
		s.sub(t, v, func(m Match) bool {
			s.stack = add(s.stack, m.Value)
			return len(s.stack) <= MaxMatches
		})
	}
	list = s.stack[base:len(s.stack):len(s.stack)]
	if t.fromRoot {
		var kept []json.Value
		for _, v := range list {
			kept = add(kept, v)
		}
		list = kept
		s.stack = s.stack[:base]
		if s.fixed == nil {
			s.fixed = map[*term][]json.Value{}
		}
		s.fixed[t] = list
	}
	return list, len(s.stack) <= MaxMatches
}

// compare reports whether an operator holds for any pair of values. != is the negation of ==.
func (s *Search) compare(op operator, list, others []json.Value) bool {
	if op == opUnequal {
		return !s.compare(opEqual, list, others)
	}
	for _, a := range list {
		for _, b := range others {
			if !s.Steps.Take(2) {
				return false
			}
			if op == opMatch {
				if s.matches(a, b) {
					return true
				}
			} else if s.pair(op, a, b) {
				return true
			}
		}
	}
	return false
}

// pair compares two values. Only those of one type compare, numbers being of one, and of arrays
// and objects whether they are equal.
func (s *Search) pair(op operator, a, b json.Value) bool {
	t, u := a.Type(), b.Type()
	order := 0
	switch {
	case t.IsNumber() && u.IsNumber():
		order = compareNumbers(a, b)
	case t != u:
		return false
	case t == json.String:
		s.Steps.Take(min(a.Len(), b.Len()) / 64)
		order = bytes.Compare(a.Text(nil), b.Text(nil))
	case t == json.Boolean:
		order = truth(a) - truth(b)
	case t == json.Array || t == json.Object:
		return op == opEqual && a.Equal(b, s.Steps)
	}
	switch op {
	case opEqual:
		return order == 0
	case opLess:
		return order < 0
	case opLessEqual:
		return order <= 0
	case opGreater:
		return order > 0
	}
	return order >= 0
}

func truth(v json.Value) int {
	if v.Bool() {
		return 1
	}
	return 0
}

// compareNumbers compares by value, exactly: a float64 does not hold every integer.
func compareNumbers(a, b json.Value) int {
	x, negativeA, wholeA := whole(a)
	y, negativeB, wholeB := whole(b)
	f, _ := a.Float()
	g, _ := b.Float()
	switch {
	case !wholeA && !wholeB:
		return cmp.Compare(f, g)
	case !wholeA:
		return -compareNumbers(b, a)
	case wholeB && negativeA != negativeB:
		return cmp.Compare(truthInt(negativeB), truthInt(negativeA))
	case wholeB && negativeA:
		return cmp.Compare(y, x)
	case wholeB:
		return cmp.Compare(x, y)
	}
	// An integer with a double: those beyond 64 bits are beyond all integers.
	if c := cmp.Compare(f, g); c != 0 || math.Abs(g) >= math.MaxUint64 {
		return c
	}
	// As near as float64 tells, they are equal: then g is whole.
	z := uint64(math.Abs(g))
	if negativeA {
		return cmp.Compare(z, x)
	}
	return cmp.Compare(x, z)
}

func truthInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// whole returns the size of an integer, and its sign.
func whole(v json.Value) (size uint64, negative, ok bool) {
	if n, ok := v.Int(); ok {
		if n < 0 {
			return -uint64(n), true, true
		}
		return uint64(n), false, true
	}
	size, ok = v.Uint()
	return size, false, ok
}

// Limits of regular expressions. A larger one matches nothing, as a bad one does.
const (
	maxExpression = 1 << 10
	maxProgram    = 10_000
)

// expr is a regular expression, nil within if it is bad, and what a byte costs.
type expr struct {
	re   *regexp.Regexp
	cost int
}

// matches reports whether a part of a string matches an expression.
func (s *Search) matches(a, b json.Value) bool {
	if a.Type() != json.String || b.Type() != json.String || b.Len() > maxExpression {
		return false
	}
	e := s.expression(string(b.Text(nil)))
	return e.re != nil && s.Steps.Take(e.cost*(1+a.Len())) && e.re.Match(a.Text(nil))
}

// expression returns an expression, which is compiled once a call.
func (s *Search) expression(text string) *expr {
	if e := s.exprs[text]; e != nil {
		return e
	}
	if s.exprs == nil {
		s.exprs = map[string]*expr{}
	}
	e := &expr{}
	s.exprs[text] = e
	s.Steps.Take(20 * (1 + len(text)))
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil || programSize(parsed) > maxProgram {
		return e
	}
	if re, err := regexp.Compile(text); err == nil {
		e.re, e.cost = re, 1+programSize(parsed)/32
		s.Steps.Take(3 * programSize(parsed))
	}
	return e
}

// programSize is about how many instructions an expression has when its repeats are written out.
func programSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)/8
	for _, sub := range re.Sub {
		size += programSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Max, re.Min, 1)
	}
	return min(size, 1<<30)
}
