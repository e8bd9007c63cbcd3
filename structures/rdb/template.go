package rdb

import (
	"slices"

	"github.com/vigildb/vigil/structures/hash"
)

// Since Redis 8.10 hashes with the same fields may share their names, which stand once in
// a record of the file:
//
//	242 | number | fields | field...
//	30  | key | listpack of: number, value for each field
//	32  | key | number, value for each field
type template [][]byte

// maxTemplates bounds what the names of all templates of a file take.
const maxTemplates = 64 << 20

// Template reads a template, which later hashes are of.
func (s *Source) Template() {
	d := &s.d
	number, n := d.length(), d.length()
	var t template
	for ; n > 0 && d.err == nil; n-- {
		field := d.string(&d.room)
		if d.templateBytes += len(field) + 48; d.templateBytes > maxTemplates {
			d.fail("templates of hashes of %d bytes", d.templateBytes)
		}
		t = append(t, slices.Clone(field))
	}
	if d.templates == nil {
		d.templates = map[uint64]template{}
	}
	if d.err == nil {
		d.templates[number] = t
	}
}

// template returns a template by its number.
func (d *decoder) template(number uint64) template {
	t, ok := d.templates[number]
	if !ok {
		d.fail("template %d of a hash, which is not there", number)
	}
	return t
}

// templated reads a hash with a template.
func (d *decoder) templated(t byte) *hash.Hash {
	f := fields{h: hash.New(d.options.HashKeys)}
	if t == typeHashTemplate {
		for _, field := range d.template(d.length()) {
			value := d.string(&d.valueRoom)
			if d.err != nil {
				break
			}
			d.err = f.set(field, value, 0)
			d.grew(f.h, 1+len(value)/growBatch)
		}
		return f.h
	}
	var names template
	at := -1
	b := d.string(&d.room)
	if d.err != nil {
		return f.h
	}
	d.err = walkListpack(b, func(elem []byte) error {
		if at++; at == 0 {
			number, ok := spelt(elem)
			if !ok {
				return damaged("number %.20q of a template", elem)
			}
			names = d.template(uint64(number))
			return d.err
		}
		if at > len(names) {
			return damaged("%d values for %d fields", at, len(names))
		}
		return f.set(names[at-1], elem, 0)
	})
	if d.err == nil && (at < 0 || at != len(names)) {
		d.fail("%d values for %d fields", max(at, 0), len(names))
	}
	return f.h
}
