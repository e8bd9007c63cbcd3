package rdb

// Skip passes over a value of a type and keeps nothing of it.
func (s *Source) Skip(t byte) {
	d := &s.d
	switch t {
	case typeString, typeListZiplist, typeHashZipmap, typeHashZiplist, typeHashListpack, typeHashListpackEarly,
		typeSetIntset, typeSetListpack, typeZSetZiplist, typeZSetListpack, typeHashTemplatePacked:
		d.skipString()
	case typeHashListpackTimed:
		d.take(8)
		d.skipString()
	case typeList, typeSet, typeListQuicklist:
		d.skipEach(d.skipString)
	case typeListQuicklist2:
		d.skipEach(func() { d.length(); d.skipString() })
	case typeZSet:
		d.skipEach(func() {
			d.skipString()
			if n := d.byte(); n < scoreNaN {
				d.take(uint64(n))
			}
		})
	case typeSetTimed:
		d.skipEach(func() { d.skipString(); d.take(8) })
	case typeZSetBinary:
		d.skipEach(func() { d.skipString(); d.take(8) })
	case typeHash:
		d.skipEach(func() { d.skipString(); d.skipString() })
	case typeHashTimedEarly, typeHashTimed:
		d.skipTimed(t)
	case typeStream1, typeStream2, typeStream3, typeStream4, typeStream5:
		d.skipStream(t)
	case typeModule:
		d.length()
		d.skipFields()
	case typeOwn:
		d.byte()
		d.skipString()
	case typeArray:
		d.skipArray()
	case typeHashTemplate:
		for range d.template(d.length()) {
			d.skipString()
		}
	default:
		d.value(t) // which says that it is not known
	}
}

// skipString passes over a string.
func (d *decoder) skipString() {
	n, special := d.lengthOr()
	switch {
	case !special:
		d.bound(n)
		d.skipBytes(n)
	case n == specialInt8:
		d.take(1)
	case n == specialInt16:
		d.take(2)
	case n == specialInt32:
		d.take(4)
	case n == specialLZF:
		packed := d.length()
		d.length()
		d.bound(packed)
		d.skipBytes(packed)
	default:
		d.fail("string of form %d", n)
	}
}

func (d *decoder) skipBytes(n uint64) {
	for n > 0 && d.err == nil {
		part := min(n, sourceWindow)
		d.take(part)
		n -= part
	}
}

// skipEach passes over as many elements as a length says.
func (d *decoder) skipEach(element func()) {
	for n := d.length(); n > 0 && d.err == nil; n-- {
		element()
	}
}

func (d *decoder) skipTimed(t byte) {
	valkey := t == typeHashValkey && d.version >= versionValkey
	if t == typeHashTimed {
		d.take(8)
	}
	d.skipEach(func() {
		if !valkey {
			d.length()
		}
		d.skipString()
		d.skipString()
		if valkey {
			d.take(8)
		}
	})
}

// skipArray passes over an array:
//
//	elements | flag | [next index, if the flag is 1] | { index | tag | 8 bytes, or a string }...
func (d *decoder) skipArray() {
	n := d.length()
	if d.length() != 0 {
		d.length()
	}
	for ; n > 0 && d.err == nil; n-- {
		d.length()
		switch tag := d.length(); tag {
		case 1, 2:
			d.take(8)
		case 0, 3:
			d.skipString()
		default:
			d.fail("element of an array in form %d", tag)
		}
	}
}

func (d *decoder) skipLengths(n int) {
	for ; n > 0 && d.err == nil; n-- {
		d.length()
	}
}

// skipStream passes over a stream, which stream_write.go draws.
func (d *decoder) skipStream(t byte) {
	d.skipEach(func() { d.skipString(); d.skipString() })
	d.skipLengths(3)
	if t != typeStream1 {
		d.skipLengths(5)
	}
	id := func() { d.take(16) }
	d.skipEach(func() { // groups
		d.skipString()
		d.skipLengths(2)
		if t != typeStream1 {
			d.length()
		}
		d.skipEach(func() { id(); d.take(8); d.length() })
		d.skipEach(func() { // consumers
			d.skipString()
			d.take(8)
			if t >= typeStream3 {
				d.take(8)
			}
			d.skipEach(id)
		})
		if t >= typeStream5 {
			d.skipEach(id)
		}
	})
	if t >= typeStream4 {
		d.skipLengths(2)
		d.skipEach(func() { // producers
			d.skipString()
			d.skipEach(func() { d.skipString(); d.skipLengths(2) })
		})
		d.skipLengths(2)
	}
}
