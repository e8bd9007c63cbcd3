package lualib

import lua "github.com/yuin/gopher-lua"

// A sorter sorts a table with Lua's quicksort: which comparisons it makes shows when the
// function that compares is not an order, or counts.
type sorter struct {
	c    call
	t    *lua.LTable
	less func(a, b lua.LValue) bool
}

func tableSort(c call) int {
	t := c.table(1)
	n := c.length(t)
	s := sorter{c, t, c.less}
	if !c.nothing(2) {
		f := c.function(2)
		s.less = func(a, b lua.LValue) bool { return lua.LVAsBool(c.invoke(f, a, b)) }
	}
	s.sort(1, n)
	return 0
}

func (s sorter) get(i int) lua.LValue { return getInt(s.t, i) }

func (s sorter) swap(i, j int) {
	a, b := s.get(i), s.get(j)
	s.c.setInt(s.t, i, b)
	s.c.setInt(s.t, j, a)
}

func (s sorter) before(a, b lua.LValue) bool {
	s.c.step(1)
	return s.less(a, b)
}

// sort sorts the elements from l to u.
func (s sorter) sort(l, u int) {
	for l < u {
		if s.before(s.get(u), s.get(l)) {
			s.swap(l, u)
		}
		if u-l == 1 {
			return
		}
		m := (l + u) / 2
		if s.before(s.get(m), s.get(l)) {
			s.swap(m, l)
		} else if s.before(s.get(u), s.get(m)) {
			s.swap(m, u)
		}
		if u-l == 2 {
			return
		}
		i := s.partition(l, u, m)
		// The smaller part recurs, so that the depth stays below the logarithm.
		if i-l < u-i {
			s.sort(l, i-1)
			l = i + 1
		} else {
			s.sort(i+1, u)
			u = i - 1
		}
	}
}

// partition moves what is before the element at m to its left and the rest to its right,
// and returns where it is then.
func (s sorter) partition(l, u, m int) int {
	pivot := s.get(m)
	s.swap(m, u-1)
	i, j := l, u-1
	for {
		for i++; s.before(s.get(i), pivot); i++ {
			if i > u {
				s.c.raise("invalid order function for sorting")
			}
		}
		for j--; s.before(pivot, s.get(j)); j-- {
			if j < l {
				s.c.raise("invalid order function for sorting")
			}
		}
		if j < i {
			break
		}
		s.swap(i, j)
	}
	s.swap(u-1, i)
	return i
}

// less compares as the operator < does.
func (c call) less(a, b lua.LValue) bool {
	if a.Type() != b.Type() {
		c.cannotCompare(a, b)
	}
	switch a := a.(type) {
	case lua.LNumber:
		return a < b.(lua.LNumber)
	case lua.LString:
		return a < b.(lua.LString)
	}
	f := c.metaField(a, "__lt")
	if f == lua.LNil || f != c.metaField(b, "__lt") {
		c.cannotCompare(a, b)
	}
	return lua.LVAsBool(c.invoke(f, a, b))
}

func (c call) cannotCompare(a, b lua.LValue) {
	x, y := a.Type().String(), b.Type().String()
	text := "attempt to compare " + x + " with " + y
	if x == y {
		text = "attempt to compare two " + x + " values"
	}
	c.L.Error(lua.LString(text), 0)
}
