package wal

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/format"
)

// Damage is the error of opening, or checking, a store for a file that is not as it was
// written: bytes that had reached the device changed, or went, or the file did.
// The end of a file that was being written when the machine stopped is no damage.
// It wraps [format.ErrCorrupt].
type Damage struct {
	File   string // its name in the directory of the store
	Offset int64  // where the damage begins; negative if the whole file is meant
	Reason string
	// Truncatable reports that RecoverTruncate can go on without what the file
	// holds from there on. It is false where that would not leave a state that
	// the store ever had.
	Truncatable bool
}

func (d *Damage) Error() string {
	if d.Offset < 0 {
		return fmt.Sprintf("%s: %s", d.File, d.Reason)
	}
	return fmt.Sprintf("%s is damaged at offset %d: %s", d.File, d.Offset, d.Reason)
}

func (d *Damage) Unwrap() error { return format.ErrCorrupt }

// AsDamage is the damage that err describes, nil if it is another error.
func AsDamage(err error) *Damage {
	var d *Damage
	if errors.As(err, &d) {
		return d
	}
	return nil
}

// tableOf finds the table that an error of Pebble's is about: one that is missing
// or of another size, or that fails a checksum.
var tableOf = regexp.MustCompile(`(?:^|\n)L\d: (\d{6,}): |invalid table (\d{6,}) |(\d{6,})\.sst`)

// Named makes a Damage of an error of Pebble's about a damaged file. Other errors
// stay as they are.
func Named(err error) error {
	if err == nil || AsDamage(err) != nil || fence.IsFull(err) {
		return err
	}
	if m := tableOf.FindStringSubmatch(err.Error()); m != nil {
		return &Damage{File: m[1] + m[2] + m[3] + ".sst", Offset: -1, Reason: err.Error()}
	}
	if pebble.IsCorruptionError(err) {
		return fmt.Errorf("%w: %w", format.ErrCorrupt, err)
	}
	return err
}
