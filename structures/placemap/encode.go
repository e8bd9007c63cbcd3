package placemap

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/vigildb/vigil/placement"
	"github.com/vigildb/vigil/structures"
)

// The head, which is all there is:
//
//	+-------------+--------------------+-------------------------------+
//	| version (1) | changes (uvarint)  | the map, as placement has it  |
//	+-------------+--------------------+-------------------------------+
//
// These numbers are on disk and never change.
const version = 1

// AppendHead appends the head to dst.
func (v *Map) AppendHead(dst []byte) []byte {
	return v.Export(binary.AppendUvarint(append(dst, version), v.version))
}

// Decode makes a map from its head. The error wraps structures.ErrCorrupt.
func Decode(head []byte) (*Map, error) {
	if len(head) == 0 || head[0] != version {
		return nil, fmt.Errorf("placemap: version of head: %w", structures.ErrCorrupt)
	}
	changes, n := binary.Uvarint(head[1:])
	if n <= 0 || !bytes.Equal(binary.AppendUvarint(nil, changes), head[1:1+n]) {
		return nil, fmt.Errorf("placemap: number of changes: %w", structures.ErrCorrupt)
	}
	m, err := placement.Decode(head[1+n:])
	if err != nil {
		return nil, fmt.Errorf("placemap: %w: %w", err, structures.ErrCorrupt)
	}
	v := &Map{}
	v.adopt(m)
	v.version = changes
	return v, nil
}

// Pages visits nothing: a map has no pages. A change of one unit may touch any
// part of its table, and maps are small: 20 bytes a unit and the names.
func (v *Map) Pages(bool, func(id uint64, page []byte)) {}

// Clean has nothing to do.
func (v *Map) Clean() {}

// SetPage refuses all pages.
func (v *Map) SetPage(id uint64, _ []byte) error {
	return fmt.Errorf("placemap: page %d: %w", id, structures.ErrCorrupt)
}
