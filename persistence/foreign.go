package persistence

import (
	"encoding/binary"
	"fmt"

	"github.com/vigildb/vigil/structures"
)

// foreignPages bounds, with the length of the payload, the number of a page that
// a client brings. A table of pages is as long as the highest number, so that a
// few bytes could ask for much; this many cover a schedule of a million nodes,
// however many of them are gone.
const foreignPages = 1 << 14

// Decode makes a value of what Dump encoded, and stores nothing: whoever has to
// know first that payload is good Replaces with it. The payload may come from a
// client. Its kind must be one whose pages are numbered from 0 on, as those of
// schedules are. The error tells that it is not an encoding of that kind.
func (tx *Tx) Decode(kind structures.Kind, payload []byte) (structures.Value, error) {
	_, rest, err := cutBytes(payload)
	for limit := foreignPages + uint64(len(payload))/8; err == nil && len(rest) > 0; {
		id, n := binary.Uvarint(rest)
		if n <= 0 || id > limit {
			return nil, fmt.Errorf("page %d of a value of %d bytes: %w", id, len(payload), structures.ErrCorrupt)
		}
		_, rest, err = cutBytes(rest[n:])
	}
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	return tx.s.decodeDump(kind, payload)
}
