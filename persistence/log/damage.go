package log

import (
	"errors"
	"fmt"
)

var (
	// ErrVersion is returned for a segment that a later version of this package wrote.
	ErrVersion = errors.New("log: another format")
	// ErrForeign is returned for a segment of another store. It is no Damage: what is cut off for it might
	// have been put aside by somebody who took the wrong file.
	ErrForeign = errors.New("log: a segment of another store")
	// ErrTooLarge is returned for a payload of more than MaxPayload bytes.
	ErrTooLarge = errors.New("log: payload of more than 4294967295 bytes")
	// ErrUnsynced is returned for a frame that cannot be appended until others are synced.
	ErrUnsynced = errors.New("log: too much is not synced yet")
	// ErrTrimmed is returned for positions below the first segment.
	ErrTrimmed = errors.New("log: position was trimmed")
	// ErrMoved is returned for positions behind the end of a segment: Repair has moved what was there.
	ErrMoved = errors.New("log: position was moved")
	// ErrReadOnly is returned by what would change a log that was opened by View.
	ErrReadOnly = errors.New("log: opened for reading only")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("log: closed")
)

// Damage is the error for a file that is not as it was written: bytes that had reached the device changed,
// or went, or the file did. The end of a segment that was being written when the machine stopped is no
// damage. [Cut] goes on without what follows it.
type Damage struct {
	File   string // its name in the directory of the log
	Offset int64  // where the damage begins; negative if the whole file is meant
	Reason string
}

func (d *Damage) Error() string {
	if d.Offset < 0 {
		return fmt.Sprintf("%s: %s", d.File, d.Reason)
	}
	return fmt.Sprintf("%s is damaged at offset %d: %s", d.File, d.Offset, d.Reason)
}

// AsDamage returns the damage that err describes, nil if it is another error.
func AsDamage(err error) *Damage {
	var d *Damage
	if errors.As(err, &d) {
		return d
	}
	return nil
}

func readError(name string, offset int64, err error) error {
	return fmt.Errorf("read %s at offset %d: %w", name, offset, err)
}
