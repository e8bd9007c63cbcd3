package cells

// ForkTo makes to, which is new, a stack of the same bytes, in a time that does not depend on how many these are
// but on how many groups of pages. A page is common to both until one of them changes it. From then on both may be used
// at the same time. It reports false if pages are on disk only; to stays as it is then.
//
// The changed pages of a fork are those that were changed in it.
func (s *Stack) ForkTo(to *Stack) bool {
	if s.evicted > 0 {
		return false
	}
	for _, a := range s.arrays {
		b := to.Push(a.size)
		b.groups = make([]*group, len(a.groups))
		to.tables += 8 * len(a.groups)
		for n, g := range a.groups {
			if g == nil || g.here == 0 {
				continue
			}
			g.shared |= g.here
			b.groups[n] = &group{data: make([][]byte, len(g.data)), here: g.here, shared: g.here}
			for i := range g.data {
				if g.here>>i&1 != 0 { // others may have room that Recycle left, which is not common to both
					b.groups[n].data[i] = g.data[i]
					to.held += cap(g.data[i])
				}
			}
			to.tables += groupBytes + 24*len(g.data)
		}
	}
	to.filled, to.paged = s.filled, s.paged
	return true
}

// TakeOver gives the stack the bytes of a fork of it, which has changed since as the stack has not, and has no more arrays.
// The fork must not be used any more.
func (s *Stack) TakeOver(fork *Stack) {
	for s.Arrays() > fork.Arrays() {
		s.Drop()
	}
	for k, b := range fork.arrays {
		b.each(func(g *group) uint64 { return g.here & g.dirty }, func(i uint64, g *group) bool {
			s.arrays[k].put(i, g.data[i&groupMask])
			return true
		})
	}
	if s.filled > inlineBytes && !s.paged {
		s.leaveHead()
	}
}

// put makes page i the bytes of page, which it keeps.
func (a *Array) put(i uint64, page []byte) {
	g := a.group(i >> groupShift)
	if g.data == nil {
		a.makeData(g, i)
	}
	p, bit := &g.data[i&groupMask], uint64(1)<<(i&groupMask)
	a.s.held += cap(page) - cap(*p)
	a.s.filled += len(page) - len(*p)
	*p = page
	if g.evicted&bit != 0 {
		g.evicted &^= bit
		a.s.evicted--
	}
	if g.dirty&bit == 0 {
		g.dirty |= bit
		a.s.changed++
	}
	g.here |= bit
	g.used |= bit
	g.shared &^= bit
}
