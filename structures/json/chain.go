package json

import (
	"encoding/binary"
	"slices"

	"github.com/vigildb/vigil/structures"
)

// bytes returns the members in run i of a chain, nil if its page cannot be read. One that is evicted
// comes in if memory has room, else it is a copy.
func (d *Document) bytes(c *chain, i int) []byte {
	r := c.runs[i]
	if !r.evicted {
		r.recent = true
		return r.b
	}
	if d.pager == nil {
		return nil
	}
	b := d.peek(c, r)
	if b != nil && d.pager.Room() {
		d.bringIn(r, b)
	}
	return b
}

// pin brings the page of a run in for a change, and reports whether it could.
func (d *Document) pin(c *chain, r *run) bool {
	r.recent = true
	if !r.evicted {
		return true
	}
	if d.pager == nil {
		return false
	}
	b := d.peek(c, r)
	if b == nil {
		return false
	}
	d.bringIn(r, b)
	return true
}

// hash is the hash of a name, for filters.
func (d *Document) hash(name []byte) uint32 { return uint32(d.keys.Fields.Sum(name)) }

// findName returns the run of a chain that has the member of a name, where the member begins there
// and how many are before it there; a negative run if no run has it. The run that was found last is
// asked first, and then those behind it.
func (d *Document) findName(c *chain, name []byte) (run, at, place int) {
	h := d.hash(name)
	near := min(c.near, len(c.runs)-1)
	for k := range len(c.runs) {
		if k == 1 && c.all != nil && !c.all.May(h) {
			return -1, 0, 0
		}
		i := near + k
		if i >= len(c.runs) {
			i -= len(c.runs)
		}
		r := c.runs[i]
		if r.filter != nil && !r.filter.May(h) {
			continue
		}
		b := d.bytes(c, i)
		if b == nil {
			return -1, 0, 0
		}
		if at, place = d.memberNamed(r, wholeRun, b, 0, r.n, name); at >= 0 {
			c.found(i)
			return i, at, place
		}
		if r.filter == nil {
			d.filter(r, b)
		}
	}
	d.missed(c)
	return -1, 0, 0
}

// Many names that are not there would be looked for in the filters of all runs: a large chain gets
// one filter for all of them.
const (
	manyRuns   = 8
	manyMisses = 16
)

// missed counts a name that a chain does not have.
func (d *Document) missed(c *chain) {
	if c.misses++; c.misses < manyMisses || len(c.runs) < manyRuns || c.all != nil {
		return
	}
	for _, r := range c.runs {
		if r.evicted {
			return
		}
	}
	c.room = 2 * c.count
	c.all = structures.NewFilter(c.room * 3 / 2)
	for _, r := range c.runs {
		d.addNames(c.all, r.b)
	}
}

// named notes the name of a new member in the filters of its chain and its run.
func (d *Document) named(c *chain, r *run, name []byte) {
	h := d.hash(name)
	if r.filter != nil {
		r.filter.Add(h)
	}
	switch {
	case c.all == nil:
	case c.count >= c.room:
		c.all, c.misses = nil, 0
	default:
		c.all.Add(h)
	}
}

// found notes the run that was found.
func (c *chain) found(run int) {
	switch {
	case run == c.near:
	case run == c.near+1 && c.before >= 0:
		c.before += c.runs[c.near].n
	default:
		c.before = -1
	}
	c.near = run
}

// placeOf returns how many members are before a run.
func (c *chain) placeOf(run int) (place int) {
	if run == c.near && c.before >= 0 {
		return c.before
	}
	for _, r := range c.runs[:run] {
		place += r.n
	}
	if run == c.near {
		c.before = place
	}
	return place
}

// filter notes the names in a run, with room for those that come while its page grows: an empty place
// costs a bit, a filter that is in doubt a look into the page for each name that is nowhere.
func (d *Document) filter(r *run, b []byte) {
	room := r.n * nearBytes / min(len(b), nearBytes)
	r.filter = structures.NewFilter(room * 3 / 2) // there are many runs to be in doubt of
	d.addNames(r.filter, b)
}

// addNames adds the names of members to a filter.
func (d *Document) addNames(f structures.Filter, b []byte) {
	d.each(b, true, 0, func(name []byte, _ int, _ Value) bool {
		f.Add(d.hash(name))
		return true
	})
}

// claim says that chains hang in a run which members in b refer to.
func (d *Document) claim(b []byte, named bool, r *run) {
	d.each(b, named, 0, func(_ []byte, _ int, v Value) bool {
		d.claimValue(v, r)
		return true
	})
}

func (d *Document) claimValue(v Value, r *run) {
	switch v.b[0] {
	case tagChain:
		d.setHome(v.chain(), r)
	case tagArray, tagObject:
		v.Each(func(_ []byte, _ int, member Value) bool {
			d.claimValue(member, r)
			return true
		})
	}
}

// dropRefs removes the chains that the members in b, which are about to go, refer to.
func (d *Document) dropRefs(b []byte, named bool) {
	if len(d.chains) == 0 {
		return
	}
	d.each(b, named, 0, func(_ []byte, _ int, v Value) bool {
		switch v.b[0] {
		case tagChain:
			d.dropChain(v.chain())
		case tagArray, tagObject:
			_, from, to := containerOf(v.b)
			d.dropRefs(v.b[from:to], v.b[0] == tagObject)
		}
		return true
	})
}

// adopt appends a value that comes from outside to dst. What is larger than nearBytes in it is
// put into chains.
func (d *Document) adopt(dst, b []byte) []byte {
	size := sizeOf(b)
	switch {
	case size <= nearBytes && b[0] != tagLongArray && b[0] != tagLongObject:
		return append(dst, b[:size]...)
	case b[0] == tagString:
		return appendRef(dst, d.cutString(stringOf(b)))
	}
	count, from, to := containerOf(b)
	// The head of one that is not long can make it larger than nearBytes.
	tag, named := byte(tagArray), b[0] == tagObject || b[0] == tagLongObject
	if named {
		tag = tagObject
	}
	w := writer{d: d, named: named}
	for rest := b[from:to]; len(rest) > 0; {
		start := len(w.b)
		if named {
			_, n := nameOf(rest)
			w.b = append(w.b, rest[:n]...)
			rest = rest[n:]
		}
		n, last := sizeOf(rest), d.last
		w.b = d.adopt(w.b, rest[:n])
		refs := d.last != last
		w.wrote(start)
		w.refs = w.refs || refs
		rest = rest[n:]
	}
	if w.c == nil && headSize(len(w.b), count)+len(w.b) <= nearBytes {
		dst = appendContainerHead(dst, tag, len(w.b), count)
		return append(dst, w.b...)
	}
	return appendRef(dst, w.end())
}

func appendRef(dst []byte, c *chain) []byte {
	return binary.AppendUvarint(append(dst, tagChain), c.id)
}

// writer cuts members into the runs of a new chain.
type writer struct {
	d     *Document
	named bool
	c     *chain
	b     []byte // of the next run
	n     int
	refs  bool // members may refer to chains
}

// wrote counts a member that begins at start of b and ends where b does.
func (w *writer) wrote(start int) {
	if start > 0 && len(w.b) > nearBytes {
		member := slices.Clone(w.b[start:])
		w.b = w.b[:start]
		w.flush()
		w.b = append(w.b[:0], member...)
	}
	w.n++
}

func (w *writer) flush() {
	if w.c == nil {
		w.c = w.d.newChain(Array)
		if w.named {
			w.c.typ = Object
		}
	}
	r := w.d.addRun(w.c, len(w.c.runs), slices.Clone(w.b), w.n)
	if w.refs {
		w.d.claim(r.b, w.named, r)
	}
	w.b, w.n = w.b[:0], 0
}

// end returns the chain.
func (w *writer) end() *chain {
	if w.n > 0 || w.c == nil {
		w.flush()
	}
	return w.c
}

// cutString makes a chain of a string.
func (d *Document) cutString(s []byte) *chain {
	c := d.newChain(String)
	d.growString(c, s)
	return c
}

// growString appends s to a string in a chain, whose last page is in memory.
func (d *Document) growString(c *chain, s []byte) {
	if last := len(c.runs) - 1; last >= 0 && c.runs[last].size < nearBytes {
		r := c.runs[last]
		n := min(nearBytes-r.size, len(s))
		r.n += n
		c.count += n
		d.setRun(c, r, append(r.b, s[:n]...))
		s = s[n:]
	}
	for len(s) > 0 {
		n := min(nearBytes, len(s))
		d.addRun(c, len(c.runs), slices.Clone(s[:n]), n)
		s = s[n:]
	}
}

// cut makes a chain of the members of an array or an object, which are sound and in b.
func (d *Document) cut(b []byte, named bool) *chain {
	w := writer{d: d, named: named, refs: len(d.chains) > 0}
	for len(b) > 0 {
		start, size := len(w.b), 0
		if named {
			_, size = nameOf(b)
		}
		size += sizeOf(b[size:])
		w.b = append(w.b, b[:size]...)
		w.wrote(start)
		b = b[size:]
	}
	return w.end()
}

// Encoded appends the value in the form that is in no chain, as Parser and Builder write it.
func (v Value) Encoded(dst []byte) []byte {
	switch v.b[0] {
	case tagArray, tagObject:
		if v.d == nil || len(v.d.chains) == 0 {
			break
		}
		fallthrough
	case tagChain:
		return v.flatten(dst)
	}
	return structures.Append(dst, v.b[:sizeOf(v.b)])
}

func (v Value) flatten(dst []byte) []byte {
	t := v.Type()
	if t == String {
		return AppendString(dst, v.Text(nil))
	}
	b := Builder{b: structures.Grow(dst, v.Memory())}
	v.build(&b)
	return b.b
}

// build writes the value to a builder.
func (v Value) build(b *Builder) {
	t := v.Type()
	switch {
	case t == String:
		b.String(v.Text(nil))
		return
	case t != Array && t != Object:
		b.b = append(b.b, v.b[:sizeOf(v.b)]...)
		b.added(t.IsNumber())
		return
	}
	b.open = append(b.open, openContainer{at: len(b.b), names: len(b.hashes), object: t == Object})
	b.b = append(b.b, 0, 0, 0)
	for m := v.Members(); ; {
		name, member, ok := m.Next()
		if !ok {
			break
		}
		if t == Object {
			b.b = appendName(b.b, name)
		}
		member.build(b)
	}
	b.End()
}
