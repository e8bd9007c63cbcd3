package path

import (
	"slices"

	"github.com/vigildb/vigil/structures/json"
)

// Limits of what one call may find, and of the steps that it may take for it.
const (
	MaxSteps   = 4_000_000 // of about 20 ns each
	MaxMatches = 10_000_000

	// StepsOfByte is how many steps a call may take for each byte of a document if those are more.
	// A path that visits everything once is answered then, however large the document is.
	StepsOfByte = 4
)

// Budget returns the steps that a call may take on documents of so many bytes.
func Budget(bytes int) *json.Budget {
	return json.NewBudget(max(MaxSteps, StepsOfByte*int64(bytes)))
}

// Match is a value that a path leads to.
type Match struct {
	json.Value
	up    *Match // where it is in; nil: it is the root, or places are not wanted
	name  []byte // of a member
	index int    // among the elements or members of the container
	depth int
	of    *Path // whose Place it is; nil: the way to it is up
}

// Found is the only match of a path, of a value that was found at its Place. It can be compared with
// no other.
func Found(v json.Value, p *Path) Match {
	return Match{Value: v, depth: len(p.place), of: p}
}

// Depth is the number of containers around the value.
func (m *Match) Depth() int { return m.depth }

// Path is the way to the value. It shares nothing with the document, and is not to be
// changed.
func (m *Match) Path() []json.Step {
	if m.of != nil {
		return m.of.place
	}
	steps := make([]json.Step, m.depth)
	size := 0
	for n := m; n.up != nil; n = n.up {
		size += len(n.name)
	}
	names := make([]byte, 0, size)
	for ; m.up != nil; m = m.up {
		if m.name != nil {
			from := len(names)
			names = append(names, m.name...)
			steps[m.depth-1] = json.Named(names[from:len(names):len(names)])
		} else {
			steps[m.depth-1] = json.At(m.index)
		}
	}
	return steps
}

// places appends where the value and those around it are in their containers, from the root on.
func (m *Match) places(dst []int) []int {
	dst = slices.Grow(dst, m.depth)[:m.depth]
	for ; m.up != nil; m = m.up {
		dst[m.depth-1] = m.index
	}
	return dst
}

// Compare orders matches as their values are in the document, what is around a value before it.
// It is 0 for two matches of one value.
func Compare(a, b *Match) int {
	var roomA, roomB [16]int
	return slices.Compare(a.places(roomA[:0]), b.places(roomB[:0]))
}

// Contains reports whether b lies within a.
func Contains(a, b *Match) bool {
	for b.depth > a.depth {
		b = b.up
	}
	return Compare(a, b) == 0
}

// Search is a call that finds values. The zero value is not ready: use NewSearch.
type Search struct {
	Steps *json.Budget

	root  json.Value
	track bool
	visit func(Match) bool
	fixed map[*term][]json.Value // what sub-paths from the root find
	exprs map[string]*expr
	stack []json.Value
}

// NewSearch returns a search with as many steps as one call may take on documents of so many bytes.
func NewSearch(bytes int) *Search { return &Search{Steps: Budget(bytes)} }

// Allow adds the steps that a call may take because it is on one document more, of so many bytes.
func (s *Search) Allow(bytes int) { s.Steps.Add(StepsOfByte * bytes) }

// Each visits the matches of a path in a document until visit returns false. It reports false if
// that needs more steps than are left. Places says whether the Path of matches is wanted.
func (s *Search) Each(p *Path, root json.Value, places bool, visit func(Match) bool) bool {
	s.root, s.track, s.visit, s.fixed = root, places, visit, nil
	s.walk(Match{Value: root}, p.segments)
	s.visit, s.fixed = nil, nil
	return !s.Steps.Spent()
}

// First returns the first match of a path; found is false if there is none.
func (s *Search) First(p *Path, root json.Value) (v json.Value, found, ok bool) {
	ok = s.Each(p, root, false, func(m Match) bool {
		v, found = m.Value, true
		return false
	})
	return v, found, ok
}

// All returns the matches of a path, with their places if these are wanted. ok is false if that
// needs more steps than are left, or if there are too many.
func (s *Search) All(p *Path, root json.Value, places bool) (list []Match, ok bool) {
	cost := 0 // of a change: a path that repeats itself makes many of them in a small document
	if places && !p.Ordered() {
		cost = changeCost
	}
	ok = s.Each(p, root, places, func(m Match) bool {
		list = add(list, m)
		return len(list) <= MaxMatches && s.Steps.Take(cost)
	})
	return list, ok && len(list) <= MaxMatches
}

// addBlock is how many matches or values are moved at once when a list of them grows. The runtime
// cannot stop a goroutine while it moves a list, as structures.Append says of bytes, and with pointers
// in it that takes seconds for some million.
const addBlock = 1024

// add is the built-in append for a list of any length.
func add[T any](list []T, v T) []T {
	if len(list) == cap(list) && len(list) > addBlock {
		longer := make([]T, len(list), 2*len(list))
		for from := 0; from < len(list); from += addBlock {
			move(longer[from:], list[from:min(from+addBlock, len(list))])
		}
		list = longer
	}
	return append(list, v)
}

// move is where a goroutine that moves a list can be stopped.
//
//go:noinline
func move[T any](dst, src []T) { copy(dst, src) }

// keep returns a pointer to a match for those that lie in it, nil if places are not wanted.
func (s *Search) keep(m Match) *Match {
	if !s.track {
		return nil
	}
	s.Steps.Take(trackCost)
	return &m
}

// Steps of what takes longer than a step: to look into a container for what lies deeper, to keep
// what is around matches, and to change a match.
const (
	containerCost = 3
	trackCost     = 5
	changeCost    = 50
)

// walk follows segments from a value. It returns false if visit did, or if no steps are left.
func (s *Search) walk(m Match, rest []segment) bool {
	if len(rest) == 0 {
		return s.Steps.Take(1) && s.visit(m)
	}
	g := &rest[0]
	if !g.descend {
		return s.choose(g, m, s.keep(m), rest[1:])
	}
	return s.descend(g, m, rest[1:])
}

// descend follows a segment from a value, and then from all that lie in it.
func (s *Search) descend(g *segment, m Match, rest []segment) bool {
	t := m.Type()
	if t != json.Array && t != json.Object {
		return s.Steps.Take(1)
	}
	if !s.Steps.Take(containerCost) {
		return false
	}
	up := s.keep(m)
	if !s.choose(g, m, up, rest) {
		return false
	}
	members := m.Members()
	for i := 0; ; i++ {
		name, v, ok := members.Next()
		if !ok {
			return true
		}
		if t := v.Type(); t != json.Array && t != json.Object {
			if !s.Steps.Take(1) {
				return false
			}
			continue
		}
		if !s.descend(g, Match{v, up, name, i, m.depth + 1, nil}, rest) {
			return false
		}
	}
}

// choose follows a segment from a value alone.
func (s *Search) choose(g *segment, m Match, up *Match, rest []segment) bool {
	if !s.Steps.Take(1) {
		return false
	}
	switch g.kind {
	case byName:
		if m.Type() != json.Object {
			return true
		}
		for _, name := range g.names {
			if !s.Steps.Take(m.LookupSteps()) {
				return false
			}
			if v, i, ok := m.Member(name); ok && !s.walk(Match{v, up, name, i, m.depth + 1, nil}, rest) {
				return false
			}
		}
		return true
	case byIndex:
		return s.chooseIndexes(g, m, up, rest)
	case bySlice:
		if m.Type() != json.Array {
			return true
		}
		from, to := g.slice.bounds(m.Len())
		return s.members(m, up, rest, func(i int, _ json.Value) (chosen, more bool) {
			return i >= from && i < to && (i-from)%g.slice.step == 0, i < to
		})
	case byFilter:
		return s.members(m, up, rest, func(_ int, v json.Value) (chosen, more bool) {
			return s.holds(g.filter, v), !s.Steps.Spent()
		})
	}
	return s.members(m, up, rest, func(int, json.Value) (chosen, more bool) { return true, true })
}

func (s *Search) chooseIndexes(g *segment, m Match, up *Match, rest []segment) bool {
	if m.Type() != json.Array {
		return true
	}
	for _, i := range g.indexes {
		if !s.Steps.Take(m.LookupSteps()) {
			return false
		}
		i = Index(i, m.Len())
		if v, ok := m.Element(i); ok && !s.walk(Match{v, up, nil, i, m.depth + 1, nil}, rest) {
			return false
		}
	}
	return true
}

// Index is the index from the start of an array of n elements. Before the start is the first one.
func Index(i, n int) int {
	if i < 0 {
		return max(i+n, 0)
	}
	return i
}

// members goes on from the members of a value that are chosen.
func (s *Search) members(m Match, up *Match, rest []segment, choose func(i int, v json.Value) (chosen, more bool)) bool {
	members := m.Members()
	for i := 0; ; i++ {
		name, v, ok := members.Next()
		if !ok {
			return !s.Steps.Spent()
		}
		if !s.Steps.Take(1) {
			return false
		}
		chosen, more := choose(i, v)
		if chosen && !s.walk(Match{v, up, name, i, m.depth + 1, nil}, rest) {
			return false
		}
		if !more {
			return !s.Steps.Spent()
		}
	}
}

// bounds returns the elements of an array of n that a slice begins with, and ends before.
func (s *slice) bounds(n int) (from, to int) {
	bound := func(i, absent int) int {
		if i == noBound {
			return absent
		}
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	return bound(s.from, 0), bound(s.to, n)
}
