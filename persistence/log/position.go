package log

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Position is a place in the log: an offset in bytes in a segment. Positions of frames rise with the
// order in which they were appended. The zero value is before all frames.
type Position struct {
	Segment uint64 // number of the segment, from 1
	Offset  int64  // in its file
}

// Compare returns -1, 0 or +1 if p is before, at or behind q.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Segment, q.Segment), cmp.Compare(p.Offset, q.Offset))
}

// Before reports that p is before q.
func (p Position) Before(q Position) bool { return p.Compare(q) < 0 }

// String returns the name of the file and the offset.
func (p Position) String() string { return fmt.Sprintf("%s:%d", segmentName(p.Segment), p.Offset) }

const (
	nameDigits  = 10
	sparePrefix = "spare-"
	maxNumber   = 9_999_999_999 // of a segment: its name has ten digits
)

func segmentName(number uint64) string { return fmt.Sprintf("%0*d", nameDigits, number) }

func spareName(number uint64) string { return sparePrefix + segmentName(number) }

// IsSegment reports that a file is a segment by its name.
func IsSegment(name string) bool {
	_, ok := parseName(name)
	return ok
}

// parseName returns the number of the segment that a file is by its name.
func parseName(name string) (number uint64, ok bool) {
	if len(name) != nameDigits || strings.Trim(name, "0123456789") != "" {
		return 0, false
	}
	number, err := strconv.ParseUint(name, 10, 64)
	return number, err == nil && number > 0
}
