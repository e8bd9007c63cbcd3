package rdb

import (
	"errors"
)

// What FUNCTION DUMP returns is what Redis has of functions in its RDB files, in the frame
// of a value:
//
//	{ 245 | source of a library }... | version of RDB (2) | CRC-64 of all before it (8)

const (
	opFunction    = 245
	opFunctionOld = 246 // of release candidates of Redis 7.0
)

// Errors of EachLibrary.
var (
	ErrNoFunction   = errors.New("rdb: not a library of functions")
	ErrFunctionForm = errors.New("rdb: the form of a release candidate")
)

// AppendLibraries appends the payload of libraries with these sources.
func AppendLibraries(dst []byte, sources []string) []byte {
	from := len(dst)
	for _, source := range sources {
		dst = appendLength(append(dst, opFunction), uint64(len(source)))
		dst = append(dst, source...)
	}
	return seal(dst, from, versionPlain)
}

// EachLibrary visits the sources in a payload, which may be of up to that many bytes each.
// It returns the first error of visit, ErrFrame, ErrNoFunction, ErrFunctionForm or a
// structures.ErrCorrupt.
func EachLibrary(payload []byte, longest int, visit func(source string) error) error {
	body, _, err := open(payload)
	if err != nil {
		return err
	}
	var room []byte
	for r := (reader{b: body, max: uint64(longest)}); len(r.b) > 0; {
		switch r.byte() {
		case opFunction:
		case opFunctionOld:
			return ErrFunctionForm
		default:
			return ErrNoFunction
		}
		source := r.string(&room)
		if r.err != nil {
			return r.err
		}
		if err := visit(string(source)); err != nil {
			return err
		}
	}
	return nil
}
