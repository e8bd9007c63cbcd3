package json

import "slices"

// Step leads from an array or an object to a member.
type Step struct {
	Name  []byte
	Index int // of an element; -1: the step is a name
}

// Named is the step to the member of a name, At that to an element.
func Named(name []byte) Step { return Step{Name: name, Index: -1} }

// At is the step to element i.
func At(i int) Step { return Step{Index: i} }

// level is where a path is in the root or in a run of a chain.
type level struct {
	c      *chain // nil: in the root
	run    int
	around []int // where the containers begin in which the place lies, the outermost first
	member int   // where the member begins, with its name
	at     int   // where its value begins
}

// place is where a value lies: a level for the root, and one for each chain on the way.
type place []level

func (d *Document) buffer(l *level) []byte {
	if l.c == nil {
		return d.root
	}
	return l.c.runs[l.run].b
}

// in is the run in which a level is, nil for the root.
func (l *level) in() *run {
	if l.c == nil {
		return nil
	}
	return l.c.runs[l.run]
}

func (p place) last() *level { return &p[len(p)-1] }

// value is the value at a place.
func (d *Document) value(p place) Value {
	l := p.last()
	return Value{d, d.buffer(l)[l.at:]}
}

// locate finds the value at a path. Pages on the way are in memory then. The place is valid until
// the next call.
func (d *Document) locate(path []Step) (p place, ok bool) {
	if d.root == nil {
		return nil, false
	}
	p = d.way[:0].push(level{})
	defer func() { d.way = p }()
	for _, s := range path {
		v := d.value(p)
		if t := v.Type(); t == Object && s.Index >= 0 || t == Array && s.Index < 0 || t != Object && t != Array {
			return p, false
		}
		if c := v.chain(); c != nil {
			p, ok = d.enter(p, c, s)
		} else {
			ok = d.step(p.last(), s)
		}
		if !ok {
			return p, false
		}
	}
	return p, true
}

// enter goes on in a chain.
func (d *Document) enter(p place, c *chain, s Step) (place, bool) {
	run, at := 0, 0
	if s.Index >= 0 {
		if s.Index >= c.count {
			return p, false
		}
		var left int
		run, left = c.find(s.Index)
		if !d.pin(c, c.runs[run]) {
			return p, false
		}
		r := c.runs[run]
		at = d.member(r, wholeRun, r.b, 0, r.n, left, false)
	} else {
		if run, at, _ = d.findName(c, s.Name); run < 0 || !d.pin(c, c.runs[run]) {
			return p, false
		}
	}
	l := level{c: c, run: run, member: at, at: at}
	if s.Index < 0 {
		l.at += nameSize(s.Name)
	}
	return p.push(l), true
}

// push appends a level, whose memory is used again.
func (p place) push(l level) place {
	if len(p) < cap(p) {
		l.around = p[:len(p)+1][len(p)].around[:0]
	}
	return append(p, l)
}

// step goes on within a buffer.
func (d *Document) step(l *level, s Step) bool {
	b := d.buffer(l)
	count, from, to := containerOf(b[l.at:])
	from, to = l.at+from, l.at+to
	off := 0
	if s.Index >= 0 {
		if s.Index >= count {
			return false
		}
		off = d.member(l.in(), l.at, b, from, count, s.Index, false)
	} else if off, _ = d.memberNamed(l.in(), l.at, b[:to], from, count, s.Name); off < 0 {
		return false
	}
	l.around = append(l.around, l.at)
	l.member = off
	if l.at = l.member; s.Index < 0 {
		l.at += nameSize(s.Name)
	}
	return true
}

// within returns the place of members of the container at p: of element i of an array, or behind
// the last one.
func (d *Document) within(p place, i int) (place, bool) {
	v := d.value(p)
	if c := v.chain(); c != nil {
		run, left := c.find(i)
		if run == len(c.runs) {
			run, left = run-1, c.runs[run-1].n
		}
		if !d.pin(c, c.runs[run]) {
			return p, false
		}
		r := c.runs[run]
		at := r.size
		if left < r.n {
			at = d.member(r, wholeRun, r.b, 0, r.n, left, c.typ == Object)
		}
		return p.push(level{c: c, run: run, member: at, at: at}), true
	}
	l := p.last()
	count, from, to := containerOf(v.b)
	at := l.at + to
	if i < count {
		at = d.member(l.in(), l.at, d.buffer(l), l.at+from, count, i, v.b[0] == tagObject)
	}
	l.around = append(l.around, l.at)
	l.member, l.at = at, at
	return p, true
}

// replace puts bytes in the place of those from one offset to another in the buffer of a place:
// members of its innermost container, which has n more then, or the value of one.
func (d *Document) replace(p place, from, to int, with []byte, n int) {
	l := p.last()
	b := slices.Replace(l.own(d.buffer(l)), from, to, with...)
	grown := len(with) - (to - from)
	changed, moved := n, from // the first byte from which on others are elsewhere
	for i := len(l.around) - 1; i >= 0 && (grown != 0 || changed != 0); i-- {
		was := grown
		if b, grown = d.resize(b, l.around[i], grown, changed); grown != was {
			moved = l.around[i]
		}
		changed = 0
	}
	d.moved(l.in(), moved, to, moved == from && len(with) == to-from && n == 0)
	if len(l.around) > 0 {
		n = 0
	}
	orphans := d.orphans
	d.orphans = false
	if l.c == nil {
		if d.root = b; orphans {
			d.claimValue(d.Root(), nil)
		}
		return
	}
	r := l.c.runs[l.run]
	r.n += n
	l.c.count += n
	if l.run < l.c.near {
		l.c.grow(n)
	}
	d.setRun(l.c, r, b)
	if orphans {
		d.claim(b, l.c.typ == Object, r)
	}
	d.balance(l.c, l.run, from+len(with) == len(b))
	if l.c.size < smallChain {
		d.goBack(p)
	}
}

// resize corrects the head of the container at an offset of b, whose members have grown by so
// many bytes and are n more. One that is too large becomes a chain. It returns by how much b has
// grown with that.
func (d *Document) resize(b []byte, at, grown, n int) ([]byte, int) {
	count, from, to := containerOf(b[at:])
	count, to = count+n, to+grown
	if headSize(to-from, count)+to-from > nearBytes {
		ref := appendRef(nil, d.cut(b[at+from:at+to], b[at] == tagObject))
		return slices.Replace(b, at, at+to, ref...), len(ref) - to + grown
	}
	var room [16]byte
	head := appendContainerHead(room[:0], b[at], to-from, count)
	if len(head) == from {
		copy(b[at:], head)
		return b, grown
	}
	return slices.Replace(b, at, at+from, head...), grown + len(head) - from
}

// balance cuts a run that is too large, or joins one that is too small with a neighbour in
// memory. atEnd: what changed is at the end of the run.
func (d *Document) balance(c *chain, i int, atEnd bool) {
	r := c.runs[i]
	switch {
	case r.n == 0:
		d.dropRun(c, i)
	case r.size > nearBytes && r.n > 1:
		d.split(c, i, atEnd && i == len(c.runs)-1)
	case r.size >= thinRun:
	case i > 0 && d.joinable(c.runs[i-1], r):
		d.join(c, i-1)
	case i+1 < len(c.runs) && d.joinable(r, c.runs[i+1]):
		d.join(c, i)
	}
}

func (d *Document) joinable(a, b *run) bool {
	return !a.evicted && !b.evicted && a.size+b.size <= nearBytes*3/4
}

// join puts the members of the run behind i into run i.
func (d *Document) join(c *chain, i int) {
	a, b := c.runs[i], c.runs[i+1]
	for len(b.inner) > 0 {
		d.setHome(b.inner[len(b.inner)-1], a)
	}
	if i < c.near {
		c.grow(b.n)
	}
	d.unmarkRun(a)
	a.n += b.n
	c.count += b.n // which dropRun takes away
	a.filter = nil
	d.setRun(c, a, append(a.b, b.b...))
	d.dropRun(c, i+1)
}

// split cuts a run into several. A list that grows at its end leaves full pages behind.
func (d *Document) split(c *chain, i int, full bool) {
	r := c.runs[i]
	r.filter = nil
	d.unmarkRun(r)
	named := c.typ == Object
	bound := nearBytes
	if !full && r.size <= 2*nearBytes {
		bound = r.size / 2
	}
	rest := r.b
	first := true
	for at := i; len(rest) > 0; at++ {
		end, n := 0, 0
		for end < len(rest) {
			size := memberSize(rest[end:], named)
			if n > 0 && end+size > bound {
				break
			}
			end, n = end+size, n+1
		}
		piece := slices.Clone(rest[:end])
		rest = rest[end:]
		if first {
			first = false
			if i < c.near {
				c.grow(n - r.n)
			}
			c.count += n - r.n
			r.n = n
			d.setRun(c, r, piece)
			continue
		}
		other := d.addRun(c, at, piece, n)
		if len(r.inner) > 0 {
			d.claim(piece, named, other)
		}
	}
}

// memberSize is the length of the member that b begins with.
func memberSize(b []byte, named bool) (size int) {
	if named {
		_, size = nameOf(b)
	}
	return size + sizeOf(b[size:])
}

// goBack puts the members of a chain that has become small to where it is referred to, if they are
// in memory.
func (d *Document) goBack(p place) {
	c := p.last().c
	var members []byte
	for _, r := range c.runs {
		if r.evicted {
			return
		}
		members = append(members, r.b...)
	}
	tag := byte(tagArray)
	switch c.typ {
	case Object:
		tag = tagObject
	case String:
		return
	}
	with := append(appendContainerHead(nil, tag, len(members), c.count), members...)
	p = p[:len(p)-1]
	l := p.last()
	v := d.value(p)
	size := sizeOf(v.b)
	for _, r := range c.runs {
		r.giveUp(d)
	}
	d.dropChain(c)
	d.orphans = true
	d.replace(p, l.at, l.at+size, with, 0)
}

// giveUp takes the chains out of a run that goes while they stay.
func (r *run) giveUp(d *Document) {
	for len(r.inner) > 0 {
		d.setHome(r.inner[len(r.inner)-1], nil)
	}
}
