package rdb

import "encoding/binary"

// walkZiplist visits the elements of a ziplist:
//
//	bytes (4) | offset of the last element (4) | elements (2), 65535: more than that | element... | 0xff
//	element = bytes of the element before (1, or 254 and 4) | head | text
func walkZiplist(b []byte, visit func(elem []byte) error) error {
	const header = 10
	if len(b) <= header || uint64(binary.LittleEndian.Uint32(b)) != uint64(len(b)) || b[len(b)-1] != packEnd {
		return damaged("ziplist of %d bytes", len(b))
	}
	tail, count := uint64(binary.LittleEndian.Uint32(b[4:])), int(binary.LittleEndian.Uint16(b[8:]))
	seen, before, last := 0, 0, header
	var room [20]byte
	for at := header; at < len(b)-1; seen++ {
		rest := b[at : len(b)-1]
		prev, w, ok := ziplistLength(rest)
		if !ok || prev != uint64(before) || w == len(rest) {
			return damaged("length before element %d of a ziplist", seen)
		}
		rest = rest[w:]
		e, ok := ziplistEntry(rest)
		if !ok || e.size > len(rest)-e.head {
			return damaged("element %d of a ziplist", seen)
		}
		if err := visit(e.text(rest, room[:])); err != nil {
			return err
		}
		last, before = at, w+e.head+e.size
		at += before
	}
	if count != seen && count != 0xffff || tail != uint64(last) {
		return damaged("ziplist of %d elements up to %d has %d up to %d", count, tail, seen, last)
	}
	return nil
}

// ziplistLength reads a length of 1 byte, or of 4 after a byte 254, as ziplists
// and zipmaps have it. w is the number of bytes read.
func ziplistLength(b []byte) (n uint64, w int, ok bool) {
	switch {
	case len(b) == 0 || b[0] == packEnd:
		return 0, 0, false
	case b[0] < 254:
		return uint64(b[0]), 1, true
	case len(b) < 5:
		return 0, 0, false
	}
	return uint64(binary.LittleEndian.Uint32(b[1:])), 5, true
}

// ziplistEntry reads the head of an element.
func ziplistEntry(b []byte) (e entry, ok bool) {
	first := b[0]
	switch {
	case first < 0x40:
		return entry{head: 1, size: int(first)}, true
	case first < 0x80:
		if len(b) < 2 {
			return entry{}, false
		}
		return entry{head: 2, size: int(first&0x3f)<<8 | int(b[1])}, true
	case first < 0xc0:
		if len(b) < 5 {
			return entry{}, false
		}
		return entry{head: 5, size: int(binary.BigEndian.Uint32(b[1:]))}, true
	case first == 0xc0:
		return numberEntry(b, 2)
	case first == 0xd0:
		return numberEntry(b, 4)
	case first == 0xe0:
		return numberEntry(b, 8)
	case first == 0xf0:
		return numberEntry(b, 3)
	case first == 0xfe:
		return numberEntry(b, 1)
	case first > 0xf0 && first < 0xfe: // 0 to 12
		return entry{number: int64(first) - 0xf1, isNumber: true, head: 1}, true
	}
	return entry{}, false
}

// walkZipmap visits the fields and values of a zipmap, in turn:
//
//	fields (1), 254: that or more | { length | field | length | bytes unused (1) | value | unused }... | 0xff
func walkZipmap(b []byte, visit func(elem []byte) error) error {
	if len(b) < 2 || b[len(b)-1] != packEnd {
		return damaged("zipmap of %d bytes", len(b))
	}
	seen, rest := 0, b[1:len(b)-1]
	next := func(unused bool) error {
		n, w, ok := ziplistLength(rest)
		free := 0
		if ok && unused {
			if w == len(rest) {
				return damaged("value %d of a zipmap", seen)
			}
			free = int(rest[w])
			w++
		}
		if !ok || n > uint64(len(rest)-w) || free > len(rest)-w-int(n) {
			return damaged("string of field %d of a zipmap", seen)
		}
		text := rest[w : w+int(n)]
		rest = rest[w+int(n)+free:]
		return visit(text)
	}
	for ; len(rest) > 0; seen++ {
		if err := next(false); err != nil {
			return err
		}
		if err := next(true); err != nil {
			return err
		}
	}
	if b[0] < 254 && int(b[0]) != seen {
		return damaged("zipmap of %d fields has %d", b[0], seen)
	}
	return nil
}
