package json

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/vigildb/vigil/structures"
)

// Builder writes the bytes of one value from what a parser meets, in one pass and without a
// tree. A container gets the head of a short one until it has more than nearBytes; then all that
// are open get long heads, so that no more than some kilobytes are ever moved for a head.
type Builder struct {
	b      []byte
	open   []openContainer
	hashes []uint64 // of the names of the open objects, one after the other
	floats Float    // that arrays of numbers become
}

// openContainer is an array or an object that has not ended.
type openContainer struct {
	at     int // where its head is
	count  int
	names  int // where its hashes begin
	many   map[uint64]struct{}
	object bool
	long   bool
	twice  bool // two names may be equal
	others bool // an element is no number
}

// shortHead is what is kept free for the head of a container: enough for one of up to 127 bytes.
const shortHead = 3

// fewNames is up to how many names are compared one by one.
const fewNames = 16

// nameSeed makes hashes of names that nobody outside can predict. Nothing that is kept depends on
// them: names of the same hash are compared.
var nameSeed = maphash.MakeSeed()

// NewBuilder returns a builder that appends to buf.
func NewBuilder(buf []byte) *Builder { return &Builder{b: buf} }

// Reset makes the builder append to buf another value.
func (b *Builder) Reset(buf []byte) {
	b.b, b.open, b.hashes = buf, b.open[:0], b.hashes[:0]
}

// Bytes are what was built.
func (b *Builder) Bytes() []byte { return b.b }

// Depth is the number of containers that have not ended.
func (b *Builder) Depth() int { return len(b.open) }

// Begin begins an array or an object.
func (b *Builder) Begin(object bool) {
	b.open = append(b.open, openContainer{at: len(b.b), names: len(b.hashes), object: object})
	b.b = append(b.b, 0, 0, 0)
}

// Name writes the name of the next member.
func (b *Builder) Name(name []byte) {
	from := b.BeginName(len(name))
	b.b = structures.Append(b.b, name)
	b.EndName(from)
}

// BeginName writes the length of a name. The caller appends so many bytes, and calls EndName.
func (b *Builder) BeginName(n int) (from int) {
	b.b = binary.AppendUvarint(b.b, uint64(n))
	return len(b.b)
}

// EndName notes the name that begins at from.
func (b *Builder) EndName(from int) {
	o := &b.open[len(b.open)-1]
	h := maphash.Bytes(nameSeed, b.b[from:])
	if o.many != nil {
		if _, there := o.many[h]; there {
			o.twice = true
		}
		o.many[h] = struct{}{}
		return
	}
	for _, other := range b.hashes[o.names:] {
		o.twice = o.twice || other == h
	}
	if b.hashes = append(b.hashes, h); len(b.hashes)-o.names > fewNames {
		o.many = make(map[uint64]struct{}, 4*fewNames)
		for _, h := range b.hashes[o.names:] {
			o.many[h] = struct{}{}
		}
		b.hashes = b.hashes[:o.names]
	}
}

// Null, Bool, Int, Uint, Double and String write values.
func (b *Builder) Null()            { b.b = append(b.b, tagNull); b.added(false) }
func (b *Builder) Bool(v bool)      { b.b = AppendBool(b.b, v); b.added(false) }
func (b *Builder) Int(v int64)      { b.b = AppendInt(b.b, v); b.added(true) }
func (b *Builder) Uint(v uint64)    { b.b = AppendUint(b.b, v); b.added(true) }
func (b *Builder) Double(v float64) { b.b = AppendDouble(b.b, v); b.added(true) }
func (b *Builder) String(s []byte)  { b.b = AppendString(b.b, s); b.added(false) }

// Encoded writes a value that is encoded already, and is in no chain.
func (b *Builder) Encoded(v []byte) {
	b.b = structures.Append(b.b, v)
	b.added(Value{b: v}.Type().IsNumber())
}

// spare is room for what is appended without a look at how long the buffer is, see structures.Append.
const spare = 64

// added counts a member.
func (b *Builder) added(number bool) {
	if cap(b.b)-len(b.b) < spare {
		b.b = structures.Grow(b.b, spare)
	}
	if len(b.open) == 0 {
		return
	}
	o := &b.open[len(b.open)-1]
	o.count++
	o.others = o.others || !number
	if !o.long && len(b.b)-o.at > nearBytes {
		b.lengthen()
	}
}

// lengthen gives long heads to all open containers that have none yet: these are the last ones,
// as those around a long one are long.
func (b *Builder) lengthen() {
	first := len(b.open)
	for first > 0 && !b.open[first-1].long {
		first--
	}
	end := len(b.b)
	for range b.open[first:] {
		b.b = append(b.b, make([]byte, longHead-shortHead)...)
	}
	to := len(b.b)
	for i := len(b.open) - 1; i >= first; i-- {
		o := &b.open[i]
		body := o.at + shortHead
		copy(b.b[to-(end-body):to], b.b[body:end])
		to -= end - body + longHead
		end, o.at, o.long = o.at, to, true
	}
}

// End ends the container that began last. It reports false if an array of numbers has one that
// is beyond the floats that it is to become.
func (b *Builder) End() bool {
	o := b.open[len(b.open)-1]
	if o.twice {
		b.dropRepeated(&o)
	}
	ok := true
	if b.floats != 0 && !o.object && !o.others {
		ok = b.toFloats(&o)
	}
	if len(b.hashes) > o.names {
		b.hashes = b.hashes[:o.names]
	}
	b.open = b.open[:len(b.open)-1]
	b.writeHead(&o)
	b.added(false)
	return ok
}

// writeHead puts the head of a container that has ended into its place.
func (b *Builder) writeHead(o *openContainer) {
	tag := byte(tagArray)
	if o.object {
		tag = tagObject
	}
	if o.long {
		size := len(b.b) - o.at - longHead
		appendContainerHead(b.b[:o.at], tag-tagArray+tagLongArray, size, o.count)
		return
	}
	size := len(b.b) - o.at - shortHead
	if head := headSize(size, o.count); head != shortHead {
		var room [16]byte
		b.b = append(b.b, room[:head-shortHead]...)
		copy(b.b[o.at+head:], b.b[o.at+shortHead:o.at+shortHead+size])
	}
	appendContainerHead(b.b[:o.at], tag, size, o.count)
}

func (o *openContainer) body() int {
	if o.long {
		return o.at + longHead
	}
	return o.at + shortHead
}

// dropRepeated leaves of members with one name the place of the first and the value of the last.
func (b *Builder) dropRepeated(o *openContainer) {
	type member struct{ name, value []byte }
	body := structures.Clone(b.b[o.body():])
	place := make(map[string]int, o.count)
	members := make([]member, 0, o.count)
	for rest := body; len(rest) > 0; {
		name, n := nameOf(rest)
		size := sizeOf(rest[n:])
		value := rest[n : n+size]
		if i, there := place[string(name)]; there {
			members[i].value = value
		} else {
			place[string(name)] = len(members)
			members = append(members, member{name, value})
		}
		rest = rest[n+size:]
	}
	b.b = b.b[:o.body()]
	for _, m := range members {
		b.b = structures.Append(appendName(b.b, m.name), m.value)
	}
	o.count = len(members)
}

// toFloats makes the numbers of an array floats of one kind.
func (b *Builder) toFloats(o *openContainer) bool {
	body := structures.Clone(b.b[o.body():])
	b.b = b.b[:o.body()]
	for rest := body; len(rest) > 0; {
		f, _ := Value{b: rest}.Float()
		var ok bool
		if b.b, ok = b.floats.append(b.b, f); !ok {
			return false
		}
		rest = rest[sizeOf(rest):]
	}
	if !o.long && len(b.b)-o.at > nearBytes {
		b.lengthen()
		*o = b.open[len(b.open)-1]
	}
	return true
}
