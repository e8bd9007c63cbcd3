package keys

import (
	"bytes"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
)

// pattern is the argument of BY or GET:
//
//	#                    the element itself
//	prefix*suffix        the string at the key that has the element in place of the star
//	prefix*suffix->name  the field of that name in the hash there
//	no star              nothing
type pattern struct {
	self, named    bool // the first; the second or third
	prefix, suffix []byte
	field          []byte // nil: a string is meant
	key            []byte // room for keys
}

func newPattern(b []byte) pattern {
	if string(b) == "#" {
		return pattern{self: true}
	}
	p := pattern{}
	p.prefix, p.suffix, p.named = bytes.Cut(b, []byte("*"))
	// An arrow in front of the end is a part of the key.
	if key, field, ok := bytes.Cut(p.suffix, []byte("->")); ok && len(field) > 0 {
		p.suffix, p.field = key, field
	}
	return p
}

// value returns what the pattern stands for, valid until the next change. ok is false if
// there is no such key or field, or a value of another type.
func (p *pattern) value(c *commands.Ctx, elem []byte) (b []byte, ok bool) {
	if !p.named {
		return elem, p.self
	}
	p.key = append(append(append(p.key[:0], p.prefix...), elem...), p.suffix...)
	switch kind := lookKind(c, p.key); {
	case kind == structures.KindString && p.field == nil:
		b, ok, _ = c.Tx.String(p.key)
	case kind == structures.KindHash && p.field != nil:
		var h *hash.Hash
		if h, ok, _ = persistence.View[*hash.Hash](c.Tx, p.key); ok {
			b, ok = h.Get(p.field, c.Now)
		}
	}
	return b, ok
}
