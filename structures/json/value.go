package json

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/vigildb/vigil/structures"
)

// Type is what a value is.
type Type byte

// An integer has 64 bits, signed or not; a double is any other number.
const (
	Null Type = iota
	Boolean
	Integer
	Double
	String
	Array
	Object
)

// typeNames are the replies of JSON.TYPE.
var typeNames = [...]string{"null", "boolean", "integer", "number", "string", "array", "object"}

func (t Type) String() string { return typeNames[t] }

// IsNumber reports whether values of the type are numbers.
func (t Type) IsNumber() bool { return t == Integer || t == Double }

// Value is a value, which is read where it lies: it is valid until its document changes. Some
// of it can be on disk only. When that cannot be read, a reader gets what it would get if
// nothing were there, and the document's Failed says so.
type Value struct {
	d *Document // which has its chains; nil: it has none
	b []byte    // begins with the value, or is nil: there is none
}

// Of returns the value that bytes begin with, which a Parser, a Builder or an Append function
// wrote.
func Of(b []byte) Value { return Value{b: b} }

// chain returns the chain in which the members of a value are, nil if they are not in one.
func (v Value) chain() *chain {
	if v.b[0] != tagChain {
		return nil
	}
	id, _ := structures.ReadUvarint(v.b[1:])
	return v.d.chains[uint64(id)]
}

// Type is the type of the value.
func (v Value) Type() Type {
	switch tag := v.b[0]; {
	case tag >= tagShort:
		return String
	case tag >= tagSmallInt:
		return Integer
	case tag == tagChain:
		return v.chain().typ
	default:
		return tagTypes[tag]
	}
}

// tagTypes are the types of tags below those that have a number in them.
var tagTypes = [...]Type{Null, Boolean, Boolean, Integer, Integer, Integer, Integer, Integer,
	Double, Double, Double, Double, String, Array, Object, Null, Array, Object}

// Len is the number of elements, of members or of bytes; 0 for a value that has none of these.
func (v Value) Len() int {
	switch tag := v.b[0]; {
	case tag >= tagShort:
		return int(tag &^ tagShort)
	case tag >= tagSmallInt || tag < tagString:
		return 0
	case tag == tagChain:
		return v.chain().count
	case tag == tagString:
		n, _ := structures.ReadUvarint(v.b[1:])
		return n
	}
	n, _, _ := containerOf(v.b)
	return n
}

// Bool is the value of a boolean.
func (v Value) Bool() bool { return v.b[0] == tagTrue }

// Int returns an integer that fits in 64 bits with a sign. ok is false for everything else.
func (v Value) Int() (n int64, ok bool) {
	switch tag := v.b[0]; {
	case tag >= tagShort:
		return 0, false
	case tag >= tagSmallInt:
		return int64(tag &^ tagSmallInt), true
	case tag == tagInt1:
		return int64(int8(v.b[1])), true
	case tag == tagInt2:
		return int64(int16(binary.LittleEndian.Uint16(v.b[1:]))), true
	case tag == tagInt4:
		return int64(int32(binary.LittleEndian.Uint32(v.b[1:]))), true
	case tag == tagInt8:
		return int64(binary.LittleEndian.Uint64(v.b[1:])), true
	}
	return 0, false
}

// Uint returns an integer above 2^63-1. ok is false for everything else.
func (v Value) Uint() (n uint64, ok bool) {
	if v.b[0] != tagUint {
		return 0, false
	}
	return binary.LittleEndian.Uint64(v.b[1:]), true
}

// Float returns a number, an integer rounded. ok is false for everything else.
func (v Value) Float() (f float64, ok bool) {
	switch v.b[0] {
	case tagDouble:
		return math.Float64frombits(binary.LittleEndian.Uint64(v.b[1:])), true
	case tagSingle:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(v.b[1:]))), true
	case tagHalf, tagBrain:
		return floatOf(v.b[0]).Value(uint32(binary.LittleEndian.Uint16(v.b[1:]))), true
	case tagUint:
		n, _ := v.Uint()
		return float64(n), true
	}
	n, ok := v.Int()
	return float64(n), ok
}

// Text returns the bytes of a string. Those of a chain are put together in room.
func (v Value) Text(room []byte) []byte {
	c := v.chain()
	if c == nil {
		return stringOf(v.b)
	}
	room = room[:0]
	for i := range c.runs {
		room = structures.Append(room, v.d.bytes(c, i))
	}
	return room
}

// Each visits the elements of an array, or the members of an object, in their order until visit
// returns false. name is nil for an element.
func (v Value) Each(visit func(name []byte, i int, member Value) bool) {
	if t := v.Type(); t != Array && t != Object {
		return
	}
	if c := v.chain(); c != nil {
		at := 0
		for i := range c.runs {
			n, b := c.runs[i].n, v.d.bytes(c, i)
			if b == nil || !v.d.each(b, c.typ == Object, at, visit) {
				return
			}
			at += n
		}
		return
	}
	_, from, to := containerOf(v.b)
	v.d.each(v.b[from:to], v.b[0] == tagObject || v.b[0] == tagLongObject, 0, visit)
}

// each visits the members in b, from number i on.
func (d *Document) each(b []byte, named bool, i int, visit func(name []byte, i int, member Value) bool) bool {
	for ; len(b) > 0; i++ {
		var name []byte
		if named {
			var n int
			name, n = nameOf(b)
			b = b[n:]
		}
		size := sizeOf(b)
		if !visit(name, i, Value{d, b[:size]}) {
			return false
		}
		b = b[size:]
	}
	return true
}

// Member finds the member of an object by its name, and its place among the others.
func (v Value) Member(name []byte) (member Value, i int, ok bool) {
	if v.Type() != Object {
		return Value{}, 0, false
	}
	if c := v.chain(); c != nil {
		run, at, place := v.d.findName(c, name)
		if run < 0 {
			return Value{}, 0, false
		}
		b := v.d.bytes(c, run)
		if b == nil {
			return Value{}, 0, false
		}
		return Value{v.d, b[at+nameSize(name):]}, c.placeOf(run) + place, true
	}
	_, from, to := containerOf(v.b)
	at, i := findName(v.b[from:to], name)
	if at < 0 {
		return Value{}, 0, false
	}
	return Value{v.d, v.b[from+at+nameSize(name):]}, i, true
}

// findName returns where the member of a name begins in b and how many are before it, -1 if
// there is none.
func findName(b, name []byte) (at, i int) {
	for at < len(b) {
		other, n := nameOf(b[at:])
		if bytes.Equal(other, name) {
			return at, i
		}
		at += n
		at += sizeOf(b[at:])
		i++
	}
	return -1, 0
}

// Element returns element i of an array, which counts from 0.
func (v Value) Element(i int) (element Value, ok bool) {
	if v.Type() != Array || i < 0 || i >= v.Len() {
		return Value{}, false
	}
	if c := v.chain(); c != nil {
		run, left := c.find(i)
		b := v.d.bytes(c, run)
		if b == nil {
			return Value{}, false
		}
		return Value{v.d, b[v.d.member(c.runs[run], wholeRun, b, 0, c.runs[run].n, left, false):]}, true
	}
	_, from, _ := containerOf(v.b)
	return Value{v.d, v.b[from+skip(v.b[from:], false, i):]}, true
}

// skip is the length of the first n members of b.
func skip(b []byte, named bool, n int) (at int) {
	for ; n > 0; n-- {
		if named {
			_, size := nameOf(b[at:])
			at += size
		}
		at += sizeOf(b[at:])
	}
	return at
}

// Same reports whether two values are one: they lie in the same place.
func (v Value) Same(w Value) bool { return &v.b[0] == &w.b[0] }
