package stream

import (
	"cmp"
	"math"
	"strconv"
)

// ID names an entry: a time in unix milliseconds, and a number among the entries
// of the same millisecond. IDs are ordered by Ms, then Seq.
type ID struct{ Ms, Seq uint64 }

// MaxID is the greatest ID.
var MaxID = ID{math.MaxUint64, math.MaxUint64}

// Compare returns -1, 0 or 1 as a is less than, equal to or greater than b.
func (a ID) Compare(b ID) int {
	if c := cmp.Compare(a.Ms, b.Ms); c != 0 {
		return c
	}
	return cmp.Compare(a.Seq, b.Seq)
}

// Less reports whether a is before b.
func (a ID) Less(b ID) bool { return a.Ms < b.Ms || a.Ms == b.Ms && a.Seq < b.Seq }

// Next returns the ID behind a; ok is false if a is the greatest.
func (a ID) Next() (next ID, ok bool) {
	switch {
	case a.Seq < math.MaxUint64:
		return ID{a.Ms, a.Seq + 1}, true
	case a.Ms < math.MaxUint64:
		return ID{a.Ms + 1, 0}, true
	}
	return ID{}, false
}

// Prev returns the ID before a; ok is false if a is 0-0.
func (a ID) Prev() (prev ID, ok bool) {
	switch {
	case a.Seq > 0:
		return ID{a.Ms, a.Seq - 1}, true
	case a.Ms > 0:
		return ID{a.Ms - 1, math.MaxUint64}, true
	}
	return ID{}, false
}

// Append appends the ID as clients read it: 1526919030474-55.
func (a ID) Append(dst []byte) []byte {
	dst = strconv.AppendUint(dst, a.Ms, 10)
	return strconv.AppendUint(append(dst, '-'), a.Seq, 10)
}

// String returns what Append appends.
func (a ID) String() string { return string(a.Append(nil)) }
