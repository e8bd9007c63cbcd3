package format

import "errors"

var (
	// ErrVersion is returned for bytes in a format that this version does not read.
	ErrVersion = errors.New("persistence: store has another format")
	// ErrCorrupt is returned for bytes that do not decode or fail their checksum.
	ErrCorrupt = errors.New("persistence: corrupt store")
)
