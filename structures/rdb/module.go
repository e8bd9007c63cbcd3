package rdb

import (
	"fmt"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/cells"
)

// A value of a module is
//
//	name and version of the encoding | parts, each behind what it is | 0
//
// in which all numbers are lengths, as those of strings, of up to 64 bits.

// What a value of a module consists of.
const (
	moduleEnd      = 0
	moduleSigned   = 1
	moduleUnsigned = 2 // of the types of RedisBloom signed numbers, too
	moduleFloat    = 3 // 4 bytes, little endian
	moduleDouble   = 4 // 8 bytes, little endian
	moduleString   = 5
)

// module reads a value of a module of those that are known. Those of others are passed over by a source, and not
// known in a payload; so is another version of the encoding of one that is known.
func (d *decoder) module() Decoded {
	switch module := d.length(); module {
	case bloomModule, bloomModule - 1, bloomModule - 2, bloomModule - 3, bloomModule - 4:
		return Decoded{Kind: structures.KindBloom, Value: d.bloom(module & moduleVersion)}
	case cuckooModule:
		return Decoded{Kind: structures.KindCuckoo, Value: d.cuckoo()}
	case countMinModule:
		return Decoded{Kind: structures.KindCountMin, Value: d.countMin()}
	case topKModule:
		return Decoded{Kind: structures.KindTopK, Value: d.topK()}
	case tdigestModule:
		return Decoded{Kind: structures.KindTDigest, Value: d.tdigest()}
	default:
		if module&^moduleVersion == jsonModule {
			return Decoded{Kind: structures.KindJSON, Value: d.json(module & moduleVersion)}
		}
		return d.foreignModule(module)
	}
}

func (d *decoder) foreignModule(module uint64) Decoded {
	if d.err != nil {
		return Decoded{}
	}
	name := fmt.Sprintf("module %s, encoding %d", moduleName(module), module&moduleVersion)
	if d.src == nil {
		d.unknown(fmt.Sprintf("type %d (%s)", typeModule, name))
		return Decoded{}
	}
	d.skipFields()
	return Decoded{Foreign: name}
}

// moduleName is the name of a module or of its type: 6 bits a letter, above the version of
// its encoding of 10 bits.
func moduleName(module uint64) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	var name [9]byte
	for i := range name {
		name[i] = letters[module>>(58-6*i)&63]
	}
	return string(name[:])
}

// skipFields passes over what a module wrote, up to its end.
func (d *decoder) skipFields() {
	for d.err == nil {
		switch part := d.length(); part {
		case moduleEnd:
			return
		case moduleSigned, moduleUnsigned:
			d.length()
		case moduleFloat:
			d.take(4)
		case moduleDouble:
			d.take(8)
		case moduleString:
			d.skipString()
		default:
			d.fail("part %d of a module's value", part)
		}
	}
}

// SkipModule passes over what a module has beside keys, and returns its name.
func (s *Source) SkipModule() (name string) {
	module := s.d.length()
	if opcode, _ := s.d.length(), s.d.length(); opcode != moduleUnsigned {
		s.d.fail("part %d in place of when a module was saved", opcode)
	}
	s.d.skipFields()
	return moduleName(module)
}

// SkipMeta passes over what classes of metadata a key has, and returns how many.
func (s *Source) SkipMeta() (classes uint64) {
	n := s.d.length()
	for i := n; i > 0 && s.d.err == nil; i-- {
		s.d.take(4)
		s.d.skipFields()
	}
	return n
}

func appendUnsigned(dst []byte, v uint64) []byte { return appendLength(append(dst, moduleUnsigned), v) }

// appendArray writes the bytes of an array as a string.
func appendArray(dst []byte, a *cells.Array) []byte {
	return appendZeros(append(dst, moduleString), a.Size(), func(dst []byte, off uint64) []byte {
		dst, _ = a.Append(dst, off, min(a.Size()-off, arrayPart))
		return dst
	})
}

// arrayPart is how many bytes of an array are looked at together.
const arrayPart = 64 << 10

// array reads a string of n bytes, which is checked but not expanded yet.
func (d *decoder) array(n uint64) text {
	d.tag(moduleString)
	longest := d.max
	defer func() { d.max = longest }()
	d.max = d.options.MaxBloom
	var room []byte
	t := d.text(&room)
	if d.err == nil && t.size != n {
		d.fail("string of %d bytes in place of %d", t.size, n)
	}
	if t.lzf && d.err == nil {
		d.err = checkLZF(t.b, t.size)
	}
	return t
}

// fill sets the bytes of an array to those of a string. LZF is expanded only up to what a part needs: an
// array of many zeros takes as little memory as before it was dumped.
func (d *decoder) fill(a *cells.Array, t text) {
	if d.err != nil {
		return
	}
	f := filler{a: a}
	rest := t.b
	if t.lzf {
		rest, d.err = inflate(nil, t.b, int(t.size), f.drain)
	}
	if d.err == nil {
		a.Write(f.off, rest[f.sent:])
	}
}

// filler sets the bytes of an array part by part.
type filler struct {
	a    *cells.Array
	off  uint64
	sent int // bytes of the buffer that are set already
}

// drain sets the bytes of buf, once they are many, and drops what LZF does not reach back to.
func (f *filler) drain(buf []byte) ([]byte, error) {
	if len(buf) < arrayPart {
		return buf, nil
	}
	f.a.Write(f.off, buf[f.sent:])
	f.off += uint64(len(buf) - f.sent)
	cut := max(len(buf)-lzfWindow, 0)
	f.sent = len(buf) - cut
	return buf[:copy(buf, buf[cut:])], nil
}

// tag reads what the next part of a module's value is.
func (d *decoder) tag(want uint64) {
	if got := d.length(); got != want {
		d.fail("part %d of a module's value in place of %d", got, want)
	}
}

func (d *decoder) unsigned(limit uint64) uint64 {
	d.tag(moduleUnsigned)
	v := d.length()
	if v > limit {
		d.fail("number %d of a module", v)
		return 0
	}
	return v
}

func (d *decoder) double() uint64 {
	d.tag(moduleDouble)
	return d.fixed(8)
}
