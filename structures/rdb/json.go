package rdb

import (
	"math"
	"unicode/utf8"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/json"
)

// A JSON document is written as RedisJSON from 2.0 to 8.6 writes it, and valkey-json, which later
// ones read:
//
//	module and version 3 | text | 0
//
// Version 0 has a tree of nodes instead of the text, version 2 two strings more, and version 4
// CBOR.

// jsonModule is the name ReJSON-RL, 6 bits a letter, and 10 bits for the version of the encoding.
const (
	jsonModule    = 0x45e25238df912c00
	jsonVersion   = 3
	moduleVersion = 1<<10 - 1
)

// Nodes of version 0.
const (
	nodeNull    = 1
	nodeString  = 2
	nodeDouble  = 4
	nodeInteger = 8
	nodeBoolean = 16
	nodeObject  = 32
	nodeArray   = 64
	nodeMember  = 128
)

func appendJSON(dst []byte, d *json.Document) []byte {
	text := json.AppendText(nil, d.Root())
	dst = appendLength(dst, jsonModule|jsonVersion)
	dst = appendLength(append(dst, moduleString), uint64(len(text)))
	return append(structures.Append(dst, text), moduleEnd)
}

// json reads a document of a version.
func (d *decoder) json(version uint64) *json.Document {
	var value []byte
	switch version {
	case 0:
		b := json.NewBuilder(nil)
		d.jsonNode(b)
		value = b.Bytes()
	case 2, 3:
		value = d.jsonText()
		if version == 2 && d.unsigned(1) == 1 {
			d.moduleString()
			d.moduleString()
		}
	case 4:
		value = d.cbor(d.moduleString())
	default:
		d.fail("JSON document in encoding %d", version)
	}
	d.tag(moduleEnd)
	doc := json.New(d.options.HashKeys)
	if d.err == nil {
		doc.SetRoot(nil, value)
	}
	return doc
}

// moduleString reads a string of a module, valid until the next.
func (d *decoder) moduleString() []byte {
	d.tag(moduleString)
	return d.string(&d.room)
}

func (d *decoder) jsonText() []byte {
	text := d.moduleString()
	if d.err != nil {
		return nil
	}
	value, err := json.Parse(text)
	if err != nil || !utf8.Valid(text) {
		d.fail("text of a JSON document: %v", err)
	}
	return value
}

// jsonNode reads a node of version 0 with all below it. A count of nodes reserves nothing: it ends with
// the bytes.
func (d *decoder) jsonNode(b *json.Builder) {
	switch kind := d.unsigned(math.MaxUint64); kind {
	case nodeNull:
		b.Null()
	case nodeString:
		b.String(d.utf8(d.moduleString()))
	case nodeDouble:
		number(b, math.Float64frombits(d.double()))
	case nodeInteger:
		b.Int(int64(d.unsigned(math.MaxUint64)))
	case nodeBoolean:
		b.Bool(string(d.moduleString()) == "1")
	case nodeObject, nodeArray:
		d.jsonNodes(b, kind == nodeObject)
	default:
		d.fail("node %d of a JSON document", kind)
	}
}

func (d *decoder) jsonNodes(b *json.Builder, object bool) {
	if b.Depth() == json.MaxDepth {
		d.fail("JSON document of more than %d levels", json.MaxDepth)
		return
	}
	b.Begin(object)
	for n := d.unsigned(math.MaxUint64); n > 0 && d.err == nil; n-- {
		if object {
			if member := d.unsigned(math.MaxUint64); member != nodeMember {
				d.fail("node %d in place of a member", member)
			}
			name := d.utf8(d.moduleString())
			if len(name) > json.MaxName {
				d.fail("name of %d bytes", len(name))
				return
			}
			b.Name(name)
		}
		d.jsonNode(b)
	}
	if d.err == nil {
		b.End()
	}
}

// utf8 returns a string that has to be UTF-8.
func (d *decoder) utf8(s []byte) []byte {
	if !utf8.Valid(s) {
		d.fail("string of a JSON document that is not UTF-8")
		return nil
	}
	return s
}

// number writes a double, or null for one that is not finite.
func number(b *json.Builder, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		b.Null()
		return
	}
	b.Double(v)
}
