package rdb

import (
	"strconv"

	"github.com/vigildb/vigil/structures/hash"
)

// fields gathers the strings of a packed hash into fields of it.
type fields struct {
	h     *hash.Hash
	now   int64 // unix ms: what expires up to it is left out
	timed bool  // an expiry follows each value
	n     int   // strings of the field that is not complete

	expired int // fields that were left out
	// Copies, for the strings are valid only while they are visited.
	field, value []byte
}

// add takes the next string: a field, its value, or its expiry.
func (f *fields) add(elem []byte) error {
	f.n++
	switch {
	case f.n == 1:
		f.field = append(f.field[:0], elem...)
		return nil
	case f.n == 2 && f.timed:
		f.value = append(f.value[:0], elem...)
		return nil
	case f.n == 2:
		f.n = 0
		return f.set(f.field, elem, 0)
	}
	f.n = 0
	expiry, err := strconv.ParseUint(string(elem), 10, 64)
	if err != nil {
		return damaged("expiry %.20q of a field", elem)
	}
	return f.set(f.field, f.value, expiry)
}

// set makes a field. Expiry 0 is none.
func (f *fields) set(field, value []byte, expiry uint64) error {
	if expiry > maxFieldExpiry {
		return damaged("expiry %d of a field", expiry)
	}
	if expiry != 0 && int64(expiry) <= f.now {
		f.expired++
		return nil
	}
	if !f.h.Set(nil, field, value) {
		return damaged("field %.20q given twice", field)
	}
	if expiry != 0 {
		f.h.ExpireAt(nil, field, int64(expiry))
	}
	return nil
}
