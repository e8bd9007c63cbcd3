package structures

import "errors"

var (
	// ErrWrongType is returned when a key holds a value of another type.
	ErrWrongType = errors.New("structures: wrong type")
	// ErrCorrupt is returned when stored or received bytes are not a valid
	// encoding. Callers wrap it with what was being read.
	ErrCorrupt = errors.New("structures: corrupt encoding")
	// ErrUnknownChange is returned by Apply for an operation that the type
	// does not have: the journal was written by a newer version.
	ErrUnknownChange = errors.New("structures: unknown change")
)
