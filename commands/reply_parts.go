package commands

import (
	"math"
	"slices"
	"strconv"
	"sync"
)

const (
	// firstPart is the length at which a bounded reply begins its second part: append,
	// which gives a quarter more than it needs, then gives at most partBytes.
	firstPart = 48 << 10
	// partBytes is the memory of each later part, unless it is a longer string's.
	partBytes = 64 << 10
	// partEnd is what is left free in a part: the header and the end of a string go into
	// the string's part.
	partEnd = 32
)

// spareParts are parts that were sent. Long replies come and go with every command,
// and would be most of what the collector has to do.
var spareParts = sync.Pool{New: func() any { return new([partBytes]byte) }}

// Bound sets a function more that is asked, each time that a part is full,
// whether the reply may have size bytes. If it may not, the reply is lost.
func (r *Reply) Bound(more func(size int) bool) { r.more, r.room = more, firstPart }

// fits makes room for n bytes. It reports false if the reply is lost.
func (r *Reply) fits(n int) bool {
	switch {
	case r.lost:
		return false
	case r.more == nil:
		r.room = math.MaxInt
		return true
	case !r.more(r.Len() + n):
		r.lose()
		return false
	}
	if len(r.buf) > 0 {
		r.parts = append(r.parts, r.buf)
		r.size += len(r.buf)
	}
	if n <= partBytes-partEnd {
		r.room = partBytes - partEnd
		r.buf = spareParts.Get().(*[partBytes]byte)[:0]
	} else {
		r.room = n + partEnd
		r.buf = make([]byte, 0, r.room)
	}
	return true
}

func (r *Reply) lose() {
	r.buf, r.parts, r.size = nil, nil, 0
	r.lost, r.room = true, -1
}

// Lost reports whether the reply grew too long for its client and was dropped.
func (r *Reply) Lost() bool { return r.lost }

// Cap is the memory that the reply holds in bytes.
func (r *Reply) Cap() int {
	n := cap(r.buf)
	for _, p := range r.parts {
		n += cap(p)
	}
	return n
}

// Parts is what was written, in order, except for the last part, which Last
// returns. They are not changed any more unless the reply is rewound.
func (r *Reply) Parts() [][]byte { return r.parts }

// Last is the part that is being written. Reset uses its memory again.
func (r *Reply) Last() []byte { return r.buf }

// Rewind drops what was written after the mark.
func (r *Reply) Rewind(mark int) {
	for mark < r.size {
		last := len(r.parts) - 1
		r.buf, r.parts = r.parts[last], r.parts[:last]
		r.size -= len(r.buf)
	}
	r.buf = r.buf[:min(mark-r.size, len(r.buf))]
}

// After is a copy of what was written after the mark.
func (r *Reply) After(mark int) []byte {
	var b []byte
	at := 0
	for _, p := range append(slices.Clone(r.parts), r.buf) {
		b = append(b, p[min(max(mark-at, 0), len(p)):]...)
		at += len(p)
	}
	return b
}

// Insert writes b between what was written before the mark and after it.
func (r *Reply) Insert(mark int, b []byte) {
	if len(b) == 0 || !r.within(len(b)) {
		return
	}
	if mark >= r.size {
		r.buf = slices.Insert(r.buf, mark-r.size, b...)
		return
	}
	at := 0
	for i, p := range r.parts {
		if cut := mark - at; cut <= len(p) {
			r.parts = slices.Replace(r.parts, i, i+1, p[:cut:cut], slices.Clone(b), p[cut:])
			r.size += len(b)
			return
		}
		at += len(p)
	}
}

// within is fits for bytes that are inserted before the end.
func (r *Reply) within(n int) bool {
	if r.lost || r.Len()+n > r.room && r.more != nil && !r.more(r.Len()+n) {
		if !r.lost {
			r.lose()
		}
		return false
	}
	return true
}

// Reset empties the reply, whose memory nobody else may use any more. The reply keeps a
// buffer of at most keep bytes.
func (r *Reply) Reset(keep int) {
	first := r.buf
	if len(r.parts) > 0 {
		first = r.parts[0]
		for _, p := range append(r.parts[1:], r.buf) {
			// A part that was cut in two has another capacity.
			if cap(p) == partBytes {
				spareParts.Put((*[partBytes]byte)(p[:partBytes]))
			}
		}
	}
	r.Release()
	if cap(first) <= keep {
		r.buf = first[:0]
	}
}

// Release empties the reply and leaves its memory to the code that has taken it.
func (r *Reply) Release() {
	r.buf, r.parts, r.size = nil, nil, 0
	if r.more != nil && !r.lost {
		r.room = firstPart
	}
}

// ArrayLater writes an array whose length is known only after its elements:
// build writes them and returns how many there are.
func (r *Reply) ArrayLater(build func() (n int)) {
	start := r.Len()
	r.insertHead(start, '*', build())
}

// SetLater is ArrayLater for a set.
func (r *Reply) SetLater(build func() (n int)) {
	start := r.Len()
	if n := build(); r.proto == 3 {
		r.insertHead(start, '~', n)
	} else {
		r.insertHead(start, '*', n)
	}
}

// MapLater is ArrayLater for pairs.
func (r *Reply) MapLater(build func() (pairs int)) {
	start := r.Len()
	if n := build(); r.proto == 3 {
		r.insertHead(start, '%', n)
	} else {
		r.insertHead(start, '*', 2*n)
	}
}

// insertHead puts a header before what was written after the mark.
func (r *Reply) insertHead(mark int, kind byte, n int) {
	var head [24]byte
	b := strconv.AppendInt(append(head[:0], kind), int64(n), 10)
	r.Insert(mark, append(b, '\r', '\n'))
}
