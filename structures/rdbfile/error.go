package rdbfile

import (
	"fmt"
	"strconv"
)

// Error is why a file could not be read, and where.
type Error struct {
	Offset int64  // how many bytes were read
	Key    string // the beginning of the one whose value it was, "" for none
	DB     int
	Err    error
}

func (e *Error) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("offset %s: %v", Grouped(e.Offset), e.Err)
	}
	return fmt.Sprintf("offset %s (key %q, database %d): %v", Grouped(e.Offset), e.Key, e.DB, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Grouped spells a number with a comma before every three digits.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
