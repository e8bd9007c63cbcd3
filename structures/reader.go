package structures

import "encoding/binary"

// Reader takes an encoding apart. After something that is not there it is Bad, and has
// nothing left.
type Reader struct {
	B   []byte // what is left
	Bad bool
}

// Uint reads an uvarint of at most limit, else 0.
func (r *Reader) Uint(limit uint64) uint64 {
	v, w := binary.Uvarint(r.B)
	if w <= 0 || v > limit {
		r.B, r.Bad = nil, true
		return 0
	}
	r.B = r.B[w:]
	return v
}

// Bytes reads n bytes, else nil. They are not copied.
func (r *Reader) Bytes(n int) []byte {
	if n > len(r.B) {
		r.B, r.Bad = nil, true
		return nil
	}
	b := r.B[:n:n]
	r.B = r.B[n:]
	return b
}
