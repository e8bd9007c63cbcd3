package resharding

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// Keys travel to another group in frames, one after the other. A frame is keys:
//
//	length (uvarint) | key | 0 (1)                                                            a key that is gone
//	length (uvarint) | key | kind (1) | expiry in unix ms, 0 for none (8) | length (4) | what Tx.Dump has made
//
// Later ones replace what came before of the same key.

const (
	// frameBytes is about how large a frame is, unless a value is larger.
	frameBytes = 1 << 20
	// maxValue is the largest value that is moved: it is one change of the group that gets it.
	maxValue = 512 << 20
)

// ErrFrame is returned for a frame that does not decode, or has keys of slots that are this group's.
var ErrFrame = errors.New("keys from another group do not decode")

// AppendKey appends a key of the selected database, which is locked, to a frame.
func AppendKey(frame []byte, tx *persistence.Tx, key []byte) ([]byte, error) {
	frame = append(binary.AppendUvarint(frame, uint64(len(key))), key...)
	expire, ok := tx.ExpireAt(key)
	if !ok {
		return append(frame, 0), tx.Err()
	}
	at := len(frame)
	frame = binary.LittleEndian.AppendUint64(append(frame, 0), uint64(expire))
	frame = append(frame, 0, 0, 0, 0)
	from := len(frame)
	kind, frame, _ := tx.Dump(frame, key)
	frame[at] = byte(kind)
	size := len(frame) - from
	if err := tx.Err(); err != nil {
		return frame, err
	}
	if size > maxValue {
		return frame, fmt.Errorf("the value of a key of slot %d has %d bytes, and ones of up to %d can be moved", commands.KeySlot(key), size, maxValue)
	}
	binary.LittleEndian.PutUint32(frame[from-4:], uint32(size))
	return frame, nil
}

// movedKey is a key of a frame.
type movedKey struct {
	key     []byte
	kind    structures.Kind // KindNone for one that is gone
	expire  int64
	payload []byte
}

// cutKey splits the first key off a frame.
func cutKey(b []byte) (k movedKey, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > persistence.MaxKey || uint64(len(b)-size) < n+1 {
		return k, nil, ErrFrame
	}
	b = b[size:]
	k.key, k.kind, b = b[:n], structures.Kind(b[n]), b[n+1:]
	if k.kind == structures.KindNone {
		return k, b, nil
	}
	if len(b) < 12 {
		return k, nil, ErrFrame
	}
	k.expire = int64(binary.LittleEndian.Uint64(b))
	n = uint64(binary.LittleEndian.Uint32(b[8:]))
	if b = b[12:]; uint64(len(b)) < n || n > maxValue || k.expire < 0 {
		return k, nil, ErrFrame
	}
	k.payload = b[:n]
	return k, b[n:], nil
}
