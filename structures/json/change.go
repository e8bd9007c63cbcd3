package json

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/vigildb/vigil/structures"
)

// Operations in the journal. These numbers are on disk and never change. A path is one argument:
// for each step an index times two, or the length of a name times two and one, and the name. The
// lengths and indexes are uvarints.
const (
	opPut    = 16 // path, value: in the place of one, or as a new last member of an object
	opRemove = 17 // path
	opSplice = 18 // path, index, elements removed there, values put there
	opAppend = 19 // path, bytes: to the end of a string
)

// SetRoot makes a value the whole of a document.
func (d *Document) SetRoot(ch *structures.Change, value []byte) {
	d.Put(ch, nil, value)
}

// Put puts a value at a path: in the place of the one that is there, or at the end of an object
// that has no such member. It reports false, and changes nothing, if there is no such place.
func (d *Document) Put(ch *structures.Change, path []Step, value []byte) bool {
	return d.recordPut(ch, path, value, d.put(path, value))
}

// PutNew is Put for a member of an object that is known not to be there.
func (d *Document) PutNew(ch *structures.Change, path []Step, value []byte) bool {
	return d.recordPut(ch, path, value, d.putNew(path, value))
}

func (d *Document) recordPut(ch *structures.Change, path []Step, value []byte, done bool) bool {
	if !done {
		return false
	}
	ch.Op(opPut, 2)
	recordPath(ch, path)
	ch.Bytes(value)
	return true
}

func (d *Document) put(path []Step, value []byte) bool {
	if len(path) == 0 {
		d.clear()
		d.marks = d.marks[:0]
		d.root = d.adopt(d.root[:0], value)
		d.orphans = false
		return true
	}
	if p, ok := d.locate(path); ok {
		l := p.last()
		old := d.value(p)
		d.replaceValue(p, l.at, sizeOf(old.b), value)
		return true
	}
	return d.putNew(path, value)
}

func (d *Document) putNew(path []Step, value []byte) bool {
	last := path[len(path)-1]
	p, ok := d.locate(path[:len(path)-1])
	if !ok || last.Index >= 0 || d.Failed() || d.value(p).Type() != Object {
		return false
	}
	if p, ok = d.within(p, d.value(p).Len()); !ok {
		return false
	}
	l := p.last()
	if l.c != nil && len(l.around) == 0 {
		d.named(l.c, l.c.runs[l.run], last.Name)
	}
	d.replace(p, l.at, l.at, d.adopt(appendName(nil, last.Name), value), 1)
	return true
}

func (d *Document) replaceValue(p place, at, size int, value []byte) {
	d.dropRefs(d.buffer(p.last())[at:at+size], false)
	var room [64]byte
	d.replace(p, at, at+size, d.adopt(room[:0], value), 0)
}

// clear removes all chains.
func (d *Document) clear() {
	for _, c := range d.chains {
		for _, r := range c.runs {
			d.forget(c, r)
		}
	}
	clear(d.chains)
	d.restart()
}

// Remove removes the member at a path, which is not that of the root. The last member of an object
// takes the place of another one, as in RedisJSON; elements of an array move up. It reports false,
// and changes nothing, if there is no such member.
func (d *Document) Remove(ch *structures.Change, path []Step) bool {
	if !d.remove(path) {
		return false
	}
	ch.Op(opRemove, 1)
	recordPath(ch, path)
	return true
}

func (d *Document) remove(path []Step) bool {
	if len(path) == 0 {
		return false
	}
	p, ok := d.locate(path)
	if !ok {
		return false
	}
	l := p.last()
	from, to := l.member, l.at+sizeOf(d.value(p).b)
	if path[len(path)-1].Index < 0 {
		target := *l
		last, ok := d.lastMember(path[:len(path)-1])
		if !ok {
			return false
		}
		if other := last.last(); other.in() != target.in() || other.member != target.member {
			d.fill(path, last)
			return true
		}
		if p, ok = d.locate(path); !ok {
			return false
		}
		l = p.last()
	}
	d.dropRefs(d.buffer(l)[l.at:to], false)
	d.replace(p, from, to, nil, -1)
	return true
}

// lastMember returns the place of the last member of the object at a path.
func (d *Document) lastMember(path []Step) (place, bool) {
	p, ok := d.locate(path)
	if !ok {
		return p, false
	}
	return d.within(p, d.value(p).Len()-1)
}

// fill puts the last member of an object, which is at a place, into that of the member at a path.
func (d *Document) fill(path []Step, last place) {
	l := last.last()
	b := d.buffer(l)[l.at:]
	member := slices.Clone(b[:memberSize(b, true)])
	name, n := nameOf(member)
	value := Value{d, member[n:]}
	d.claimValue(value, nil) // chains in it stay when their run goes
	d.replace(last, l.at, l.at+len(member), nil, -1)
	p, _ := d.locate(path)
	l = p.last()
	to := l.at + sizeOf(d.value(p).b)
	d.dropRefs(d.buffer(l)[l.at:to], false)
	if l.c != nil && len(l.around) == 0 {
		d.named(l.c, l.in(), name)
	}
	d.orphans = true
	d.replace(p, l.member, to, member, 0)
}

// Splice removes elements of the array at a path from an index on, and puts values there, which
// stand one after the other. It reports false, and changes nothing, if there are no such elements.
func (d *Document) Splice(ch *structures.Change, path []Step, index, removed int, values []byte) bool {
	if !d.splice(path, index, removed, values) {
		return false
	}
	ch.Op(opSplice, 4)
	recordPath(ch, path)
	ch.Uint(uint64(index))
	ch.Uint(uint64(removed))
	ch.Bytes(values)
	return true
}

func (d *Document) splice(path []Step, index, removed int, values []byte) bool {
	p, ok := d.locate(path)
	if !ok {
		return false
	}
	v := d.value(p)
	if v.Type() != Array || index < 0 || removed < 0 || index > v.Len() || removed > v.Len()-index {
		return false
	}
	if c := v.chain(); c != nil {
		if !d.pinCuts(c, index, removed, len(values) > 0) {
			return false
		}
		if removed == c.count {
			d.replaceValue(p, p.last().at, sizeOf(v.b), []byte{tagArray, 0, 0})
			removed = 0
		}
	}
	for removed > 0 {
		removed -= d.removeSome(path, index, removed)
	}
	if len(values) == 0 {
		return true
	}
	var b []byte
	n := 0
	for ; len(values) > 0; n++ {
		size := sizeOf(values)
		b = d.adopt(b, values[:size])
		values = values[size:]
	}
	p, _ = d.locate(path)
	p, _ = d.within(p, index)
	at := p.last().at
	d.replace(p, at, at, b, n)
	return true
}

// pinCuts brings in the pages that a removal of elements leaves a part of, and that which others
// are put into. Those that go as a whole are not read.
func (d *Document) pinCuts(c *chain, index, removed int, put bool) bool {
	all := removed == c.count
	begin, left := c.find(index)
	if put && !all && begin == len(c.runs) {
		begin--
	}
	if begin < len(c.runs) && !all && (put || removed > 0 && (left > 0 || removed < c.runs[begin].n)) && !d.pin(c, c.runs[begin]) {
		return false
	}
	end, left := c.find(index + removed)
	if put && left == 0 && end == len(c.runs) {
		end--
	}
	return end >= len(c.runs) || all || left == 0 && !put || d.pin(c, c.runs[end])
}

// removeSome removes elements that lie side by side, and returns how many these were.
func (d *Document) removeSome(path []Step, index, removed int) int {
	p, _ := d.locate(path)
	if c := d.value(p).chain(); c != nil {
		run, left := c.find(index)
		if n := c.runs[run].n; left == 0 && removed >= n && len(c.runs) > 1 {
			d.dropRun(c, run)
			return n
		}
	}
	p, _ = d.within(p, index)
	l := p.last()
	b := d.buffer(l)
	n, to := 0, l.at
	end := len(b)
	if k := len(l.around); k > 0 {
		_, _, end = containerOf(b[l.around[k-1]:])
		end += l.around[k-1]
	}
	for ; n < removed && to < end; n++ {
		to += sizeOf(b[to:])
	}
	d.dropRefs(b[l.at:to], false)
	d.replace(p, l.at, to, nil, -n)
	return n
}

// AppendString appends bytes to the string at a path. It reports false, and changes nothing, if
// there is none.
func (d *Document) AppendString(ch *structures.Change, path []Step, s []byte) bool {
	if !d.appendString(path, s) {
		return false
	}
	ch.Op(opAppend, 2)
	recordPath(ch, path)
	ch.Bytes(s)
	return true
}

func (d *Document) appendString(path []Step, s []byte) bool {
	p, ok := d.locate(path)
	if !ok || d.value(p).Type() != String {
		return false
	}
	v := d.value(p)
	if c := v.chain(); c != nil {
		if !d.pin(c, c.runs[len(c.runs)-1]) {
			return false
		}
		d.growString(c, s)
		return true
	}
	value := AppendString(nil, structures.Append(slices.Clone(stringOf(v.b)), s))
	d.replaceValue(p, p.last().at, sizeOf(v.b), value)
	return true
}

// Whole records the document as it is in the place of what was recorded from a length on.
func (d *Document) Whole(ch *structures.Change, from int) {
	if ch == nil {
		return
	}
	value := d.Root().Encoded(nil)
	if d.Failed() {
		return
	}
	ch.Replace(from, ch.Len())
	ch.Op(opPut, 2)
	recordPath(ch, nil)
	ch.Bytes(value)
}

func recordPath(ch *structures.Change, path []Step) {
	if ch == nil {
		return
	}
	var room [128]byte
	b := room[:0]
	for _, s := range path {
		if s.Index >= 0 {
			b = binary.AppendUvarint(b, uint64(s.Index)<<1)
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(s.Name))<<1|1)
		b = append(b, s.Name...)
	}
	ch.Bytes(b)
}

// readPath reads what recordPath recorded. The names alias the record.
func readPath(args *structures.Args) (path []Step, err error) {
	r := structures.Reader{B: args.Bytes()}
	for len(r.B) > 0 {
		n := r.Uint(1 << 48)
		if n&1 == 0 {
			path = append(path, At(int(n>>1)))
			continue
		}
		name := r.Bytes(int(n >> 1))
		if !utf8.Valid(name) || len(name) > MaxName {
			r.Bad = true
		}
		path = append(path, Named(name))
	}
	if r.Bad || len(path) > maxStored {
		return nil, fmt.Errorf("path of %d steps in a JSON document: %w", len(path), structures.ErrCorrupt)
	}
	return path, args.Err()
}

// Apply replays an operation. One that does not fit the document gives ErrCorrupt and changes
// nothing.
func (d *Document) Apply(op byte, args *structures.Args) error {
	if op < opPut || op > opAppend {
		return fmt.Errorf("operation %d of a JSON document: %w", op, structures.ErrUnknownChange)
	}
	path, err := readPath(args)
	if err != nil {
		return err
	}
	done := false
	switch op {
	case opPut:
		value := args.Bytes()
		if err = checked(args, value, 1, maxStored-len(path)); err == nil {
			done = d.put(path, value)
		}
	case opRemove:
		if err = args.Done(); err == nil {
			done = d.remove(path)
		}
	case opSplice:
		index, removed, values := args.Uint(), args.Uint(), args.Bytes()
		if err = checked(args, values, -1, maxStored-len(path)-1); err == nil {
			done = index <= 1<<48 && removed <= 1<<48 && d.splice(path, int(index), int(removed), values)
		}
	case opAppend:
		s := args.Bytes()
		if err = args.Done(); err == nil && utf8.Valid(s) {
			done = d.appendString(path, s)
		}
	}
	if err == nil && !done && !d.Failed() {
		err = fmt.Errorf("operation %d of a JSON document: %w", op, structures.ErrCorrupt)
	}
	return err
}

// checked is args.Done for operations that end with values: so many, or any number if that is
// negative.
func checked(args *structures.Args, values []byte, count, depth int) error {
	if err := args.Done(); err != nil {
		return err
	}
	c := checker{b: values}
	for n := 0; len(c.b) > 0 || n < count; n++ {
		if n == count || !c.value(depth) {
			return fmt.Errorf("values of a JSON document with %d bytes left: %w", len(c.b), structures.ErrCorrupt)
		}
	}
	return nil
}
