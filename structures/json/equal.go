package json

import "bytes"

// Cursor reads the members of an array or an object one by one.
type Cursor struct {
	v     Value
	b     []byte // what is left of a run
	c     *chain
	run   int
	named bool
}

// Members returns a cursor before the first member of a value, which has none if it is neither an
// array nor an object.
func (v Value) Members() Cursor {
	t := v.Type()
	m := Cursor{v: v, named: t == Object}
	if t != Array && t != Object {
		return m
	}
	if m.c = v.chain(); m.c == nil {
		_, from, to := containerOf(v.b)
		m.b = v.b[from:to]
	}
	return m
}

// Next returns the next member. name is nil for an element of an array.
func (m *Cursor) Next() (name []byte, member Value, ok bool) {
	for len(m.b) == 0 {
		if m.c == nil || m.run == len(m.c.runs) {
			return nil, Value{}, false
		}
		if m.b = m.v.d.bytes(m.c, m.run); m.b == nil {
			m.run = len(m.c.runs)
			return nil, Value{}, false
		}
		m.run++
	}
	if m.named {
		var n int
		name, n = nameOf(m.b)
		m.b = m.b[n:]
	}
	size := sizeOf(m.b)
	member = Value{m.v.d, m.b[:size]}
	m.b = m.b[size:]
	return name, member, true
}

// Budget is how many steps more a call may take: nodes that it visits, comparisons, bytes that an
// expression is matched with.
type Budget struct{ left int64 }

// NewBudget allows so many steps.
func NewBudget(steps int64) *Budget { return &Budget{steps} }

// Add allows n steps more.
func (b *Budget) Add(n int) { b.left += int64(n) }

// Take takes n steps, and reports whether there were so many.
func (b *Budget) Take(n int) bool {
	b.left -= int64(n)
	return b.left >= 0
}

// Spent reports that more steps were asked for than there were.
func (b *Budget) Spent() bool { return b.left < 0 }

// Equal reports whether values have the same type and are the same, members of objects in any
// order. 1 and 1.0 are not equal. Without steps left, nothing is equal.
func (v Value) Equal(w Value, steps *Budget) bool {
	t := v.Type()
	if t != w.Type() || v.Len() != w.Len() || !steps.Take(2) {
		return false
	}
	switch t {
	case Boolean:
		return v.Bool() == w.Bool()
	case Integer:
		a, _ := v.Int()
		b, _ := w.Int()
		c, _ := v.Uint()
		d, _ := w.Uint()
		return a == b && c == d
	case Double:
		a, _ := v.Float()
		b, _ := w.Float()
		return a == b
	case String:
		return steps.Take(v.Len()/64) && bytes.Equal(v.Text(nil), w.Text(nil))
	case Array, Object:
		return v.equalMembers(w, steps)
	}
	return true
}

// equalMembers compares members pairwise, and from the first on that has another name in both,
// by their names.
func (v Value) equalMembers(w Value, steps *Budget) bool {
	a, b := v.Members(), w.Members()
	var named map[string]Value
	for {
		name, member, ok := a.Next()
		if !ok {
			return true
		}
		if named == nil {
			otherName, other, ok := b.Next()
			if ok && bytes.Equal(name, otherName) {
				if !member.Equal(other, steps) {
					return false
				}
				continue
			}
			if named = w.byName(steps); named == nil {
				return false
			}
		}
		other, ok := named[string(name)]
		if !ok || !member.Equal(other, steps) {
			return false
		}
	}
}

// byName returns the members of an object, nil without steps left.
func (v Value) byName(steps *Budget) map[string]Value {
	if !steps.Take(5 * v.Len()) {
		return nil
	}
	named := make(map[string]Value, v.Len())
	for m := v.Members(); ; {
		name, member, ok := m.Next()
		if !ok {
			return named
		}
		named[string(name)] = member
	}
}
