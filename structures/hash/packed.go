package hash

import (
	"bytes"
	"slices"
)

// A small hash is one buffer of entries in the order of their arrival, which is
// searched from the front: for a few dozen fields that is as fast as a table
// and takes no memory but the fields'.
const (
	packFields = 64
	packBytes  = 4096
)

// packFind finds a field in a small hash.
func (h *Hash) packFind(field []byte) (entry, bool) {
	if h.bare {
		return h.bareFind(field)
	}
	buf := h.pack
	for at := 0; at < len(buf); {
		head, size := int(buf[at]), int(buf[at+1])
		if head|size >= 0x80 {
			e := readEntry(buf, at)
			if bytes.Equal(e.field, field) {
				return e, true
			}
			at += e.size
			continue
		}
		// The usual entry has one byte for each length, and is read only if
		// its field has the right length and last byte.
		end := at + 2 + (head&1)*8 + head>>1
		if head>>1 == len(field) && (head < 2 || buf[end-1] == field[len(field)-1]) &&
			bytes.Equal(buf[end-head>>1:end], field) {
			return readEntry(buf, at), true
		}
		at = end + size
	}
	return entry{}, false
}

// packPut sets a field, and returns the expiry that it had (0 for none).
func (h *Hash) packPut(field, value []byte, expiry int64) (was int64, created bool) {
	if h.bare && h.barePut(field, value, expiry) {
		return 0, false
	}
	h.dress()
	e, found := h.packFind(field)
	if !found {
		expiry = max(expiry, 0)
		e.at, h.shape = len(h.pack), nil
	} else if expiry == onlyNew {
		return e.expiry, false
	} else if expiry == keepExpiry {
		expiry = e.expiry
	}
	need := hashEntrySize(field, value, expiry)
	h.packResize(e.at, e.size, need)
	writeHashEntry(h.pack[e.at:], field, value, expiry)
	return e.expiry, !found
}

// packResize gives the bytes at an offset another size. It moves what follows
// and leaves the bytes themselves undefined.
func (h *Hash) packResize(at, size, want int) {
	buf := h.pack
	end := len(buf) + want - size
	if end > cap(buf) {
		room := max(end, min(end+end/4, packBytes))
		grown := slices.Grow([]byte(nil), room)[:end]
		copy(grown, buf[:at])
		copy(grown[at+want:], buf[at+size:])
		h.pack = grown
		return
	}
	if want > size {
		buf = buf[:end]
	}
	copy(buf[at+want:], h.pack[at+size:])
	h.pack = buf[:end]
	if cap(h.pack) > 256 && end < cap(h.pack)/4 {
		h.pack = slices.Clone(h.pack)
	}
}
