package resharding

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// Keys travel to another group in frames, one after the other. A frame is keys:
//
//	length (uvarint) | key | 0 (1)                                                            a key that is gone
//	length (uvarint) | key | kind (1) | expiry in unix ms, 0 for none (8) | length (4) | what Transfers.Dump has made
//
//	2^32 + n (uvarint)                                                                         the keys behind it are of database n
//
// Later ones replace what came before of the same key. A frame begins with database 0. To servers before several databases the number
// is the length of a key that is too long, which they refuse: they cannot take the keys behind it for those of database 0. ADR 0123.

const (
	// frameBytes is about how large a frame is, unless a value is larger.
	frameBytes = 1 << 20
	// maxValue is the largest value that is moved: it is one change of the group that gets it.
	maxValue = 512 << 20
	// ofDatabase begins what says which database keys are in. It never changes, and a key is never so long.
	ofDatabase = 1 << 32
)

// ErrFrame is returned for a frame that does not decode, or has keys of slots that are this group's.
var ErrFrame = errors.New("keys from another group do not decode")

// TooFewError is returned for a key of a database that the group which gets the slots does not have.
type TooFewError struct{ Slot, DB, Databases int }

func (e TooFewError) Error() string {
	return fmt.Sprintf("slot %d has keys in database %d, and the server that is to get it has databases up to %d: "+
		"raise cluster-databases there, or finish its upgrade", e.Slot, e.DB, e.Databases-1)
}

// AppendDatabase appends to a frame that the keys which follow are of a database.
func AppendDatabase(frame []byte, db int) []byte {
	return binary.AppendUvarint(frame, ofDatabase+uint64(db))
}

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
	kind, frame, _ := tx.Transfers().Dump(frame, key)
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
	db      int
	key     []byte
	kind    structures.Kind // KindNone for one that is gone
	expire  int64
	payload []byte
}

// frameReader reads the keys of a frame.
type frameReader struct {
	b  []byte
	db int
}

func (f *frameReader) more() bool { return len(f.b) > 0 }

// next returns the next key.
func (f *frameReader) next() (k movedKey, err error) {
	n, size := binary.Uvarint(f.b)
	for ; n >= ofDatabase && size > 0; n, size = binary.Uvarint(f.b) {
		if n -= ofDatabase; n > math.MaxInt32 {
			return k, ErrFrame
		}
		f.db, f.b = int(n), f.b[size:]
	}
	b := f.b
	if size <= 0 || n > persistence.MaxKey || uint64(len(b)-size) < n+1 {
		return k, ErrFrame
	}
	b = b[size:]
	k.db, k.key, k.kind, b = f.db, b[:n], structures.Kind(b[n]), b[n+1:]
	if k.kind == structures.KindNone {
		f.b = b
		return k, nil
	}
	if len(b) < 12 {
		return k, ErrFrame
	}
	k.expire = int64(binary.LittleEndian.Uint64(b))
	n = uint64(binary.LittleEndian.Uint32(b[8:]))
	if b = b[12:]; uint64(len(b)) < n || n > maxValue || k.expire < 0 {
		return k, ErrFrame
	}
	k.payload, f.b = b[:n], b[n:]
	return k, nil
}
