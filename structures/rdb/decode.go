package rdb

import (
	"fmt"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/list"
	"github.com/vigildb/vigil/structures/set"
)

// Options bound what Decode makes.
type Options struct {
	MaxString uint64               // bytes of the longest string, element, field or value
	MaxBloom  uint64               // bytes of a filter or a sketch
	HashKeys  *structures.HashKeys // for hash.New and set.New
	Now       int64                // unix ms: fields that expire up to it are left out; 0: none
}

// Decoded is what a payload holds. Exactly one of Value and Bytes is meant:
//
//	KindList, KindHash, KindSet, KindZSet  Value, which is not empty
//	KindStream, types of RedisBloom        Value
//	KindString                             Bytes: the string
//	other kinds                            Bytes: the encoding that AppendOwn was given, not looked at
type Decoded struct {
	Kind  structures.Kind
	Value structures.Value
	Bytes []byte // may alias the payload; of a source it is valid until the next call
	// Foreign names what was passed over, as there is no such type here: Kind is none.
	// Only a source passes over any.
	Foreign string
	Expired int // fields that the form of the value had, and the value has not
}

// Decode takes a payload apart. The errors are ErrFrame and structures.ErrCorrupt; the
// latter stands also for types that are not known, with an UnknownError, for lists,
// hashes and sets without elements, and for what is over the bounds of o.
func Decode(payload []byte, o Options) (Decoded, error) {
	body, version, err := open(payload)
	if err != nil {
		return Decoded{}, err
	}
	d := decoder{reader: reader{b: body, max: o.MaxString}, version: version, options: o}
	v := d.value(d.byte())
	if err := d.done(); err != nil {
		return Decoded{}, err
	}
	if v.Value != nil && v.Value.Empty() {
		return Decoded{}, damaged("value without elements")
	}
	return v, nil
}

type decoder struct {
	reader
	version uint16
	options Options
	// Room for strings that do not stand in the payload as they are.
	room, valueRoom []byte

	// Of a source: who is told how a value grows, and for how many elements not yet.
	grown   func(structures.Value) error
	quiet   int
	expired int // fields of the value
	// templates are the names of fields of hashes of types 30 and 32, by number.
	templates     map[uint64]template
	templateBytes int
}

// growBatch is after how many elements a value is said to have grown.
const growBatch = 128

// grew notes that a value got n elements.
func (d *decoder) grew(v structures.Value, n int) {
	if d.grown == nil || d.err != nil {
		return
	}
	if d.quiet += n; d.quiet >= growBatch {
		d.quiet = 0
		d.err = d.grown(v)
	}
}

func (d *decoder) value(t byte) Decoded {
	switch t {
	case typeString:
		return Decoded{Kind: structures.KindString, Bytes: d.string(&d.room)}
	case typeList, typeListZiplist, typeListQuicklist, typeListQuicklist2:
		return Decoded{Kind: structures.KindList, Value: d.list(t)}
	case typeHash, typeHashZipmap, typeHashZiplist, typeHashListpack,
		typeHashTimedEarly, typeHashListpackEarly, typeHashTimed, typeHashListpackTimed:
		return Decoded{Kind: structures.KindHash, Value: d.hash(t)}
	case typeSet, typeSetIntset, typeSetListpack, typeSetTimed:
		return Decoded{Kind: structures.KindSet, Value: d.set(t)}
	case typeZSet, typeZSetBinary, typeZSetZiplist, typeZSetListpack:
		return Decoded{Kind: structures.KindZSet, Value: d.zset(t)}
	case typeStream1, typeStream2, typeStream3, typeStream4, typeStream5:
		return Decoded{Kind: structures.KindStream, Value: d.stream(t)}
	case typeModule:
		return d.module()
	case typeOwn:
		return d.own()
	}
	if d.src != nil {
		switch t {
		case typeArray:
			d.skipArray()
			return Decoded{Foreign: "array"}
		case typeHashTemplatePacked, typeHashTemplate:
			return Decoded{Kind: structures.KindHash, Value: d.templated(t)}
		}
	}
	name := fmt.Sprintf("type %d", t)
	if what := foreign[t]; what != "" {
		name += " (" + what + ")"
	}
	d.unknown(name)
	return Decoded{}
}

// own reads a value that Redis has no type for. It is all of a payload, and a string of
// a file.
func (d *decoder) own() Decoded {
	kind := structures.Kind(d.byte())
	if kind <= structures.KindTDigest || kind == structures.KindJSON {
		d.fail("kind %d, which has a form of its own", kind)
	}
	if d.src != nil {
		return Decoded{Kind: kind, Bytes: d.string(&d.room)}
	}
	return Decoded{Kind: kind, Bytes: d.take(uint64(len(d.b)))}
}

// unknown is fail for a type that is not known.
func (d *decoder) unknown(name string) {
	if d.err == nil {
		d.err = &UnknownError{Type: name, Version: d.version}
	}
}

func (d *decoder) list(t byte) *list.List {
	l := list.New()
	push := func(elem []byte) error {
		l.Push(nil, list.Tail, elem)
		return nil
	}
	nodes := uint64(1)
	if t != typeListZiplist {
		nodes = d.length()
	}
	for ; nodes > 0 && d.err == nil; nodes-- {
		container := uint64(nodePacked)
		if t == typeListQuicklist2 {
			container = d.length()
		}
		b := d.string(&d.room)
		if d.err != nil {
			break
		}
		switch {
		case t == typeList:
			d.err = push(b)
		case t == typeListQuicklist, t == typeListZiplist:
			d.err = walkZiplist(b, push)
		case container == nodePacked:
			d.err = walkListpack(b, push)
		case container == nodePlain && len(b) > 0:
			d.err = push(b)
		default:
			d.fail("node of a list in form %d, %d bytes", container, len(b))
		}
		if t == typeList || container == nodePlain {
			d.grew(l, 1+len(b)/growBatch)
		} else {
			d.grew(l, growBatch)
		}
	}
	return l
}

func (d *decoder) set(t byte) *set.Set {
	s := set.New(d.options.HashKeys)
	add := func(member []byte) error {
		if !s.Add(nil, member) {
			return damaged("member %.20q given twice", member)
		}
		return nil
	}
	if t == typeSet || t == typeSetTimed {
		for n := d.length(); n > 0 && d.err == nil; n-- {
			member, expiry := d.string(&d.room), int64(0)
			if t == typeSetTimed {
				expiry = int64(d.fixed(8))
			}
			if d.err == nil {
				d.err = add(member)
				if expiry > 0 {
					s.ExpireAt(nil, member, expiry)
				}
				d.grew(s, 1+len(member)/growBatch)
			}
		}
		return s
	}
	walk := walker(walkListpack)
	if t == typeSetIntset {
		walk = walkIntset
	}
	if b := d.string(&d.room); d.err == nil {
		d.err = walk(b, add)
	}
	return s
}

func (d *decoder) hash(t byte) *hash.Hash {
	f := fields{h: hash.New(d.options.HashKeys), now: d.options.Now}
	defer func() { d.expired += f.expired }()
	switch {
	case t == typeHashValkey && d.version >= versionValkey:
		d.valkeyPairs(&f)
		return f.h
	case t == typeHash, t == typeHashTimed, t == typeHashTimedEarly:
		d.hashPairs(t, &f)
		return f.h
	}
	switch t {
	case typeHashListpackEarly:
		f.timed = true
	case typeHashListpackTimed:
		f.timed = true
		d.fixed(8) // a time before which no field expires: the hash knows
	}
	walk := walker(walkListpack)
	switch t {
	case typeHashZipmap:
		walk = walkZipmap
	case typeHashZiplist:
		walk = walkZiplist
	}
	b := d.string(&d.room)
	if d.err == nil {
		d.err = walk(b, f.add)
	}
	if d.err == nil && f.n != 0 {
		d.fail("%d strings behind the last field", f.n)
	}
	return f.h
}

// hashPairs reads fields that stand one by one.
func (d *decoder) hashPairs(t byte, f *fields) {
	base := uint64(0) // of expiries, which count from 1; 0 is none
	if t == typeHashTimed {
		if base = d.fixed(8) - 1; base >= maxFieldExpiry {
			d.fail("least expiry %d", base+1)
		}
	}
	for n := d.length(); n > 0 && d.err == nil; n-- {
		expiry := uint64(0)
		if t != typeHash {
			if expiry = d.length(); expiry > maxFieldExpiry {
				d.fail("expiry %d of a field", expiry)
			} else if expiry != 0 {
				expiry += base
			}
		}
		field, value := d.string(&d.room), d.string(&d.valueRoom)
		if d.err == nil {
			d.err = f.set(field, value, expiry)
			d.grew(f.h, 1+len(value)/growBatch)
		}
	}
}

// valkeyPairs reads fields as Valkey writes them: each is followed by its value and by
// its expiry in 8 bytes, -1 for none.
func (d *decoder) valkeyPairs(f *fields) {
	for n := d.length(); n > 0 && d.err == nil; n-- {
		field, value := d.string(&d.room), d.string(&d.valueRoom)
		expiry := d.fixed(8) + 1 // 0: none
		if expiry == 1 || expiry > maxFieldExpiry+1 {
			d.fail("expiry %d of a field", int64(expiry-1))
		}
		if d.err == nil {
			d.err = f.set(field, value, max(expiry, 1)-1)
			d.grew(f.h, 1+len(value)/growBatch)
		}
	}
}
