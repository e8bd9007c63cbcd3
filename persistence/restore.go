package persistence

import (
	"context"
	"fmt"

	"github.com/vigildb/vigil/persistence/check"
	"github.com/vigildb/vigil/persistence/files"
)

// ErrDamaged is returned by Restore and Complete for a store that [check.Run] finds damaged.
var ErrDamaged = files.ErrDamaged

// Restore creates the store in o.Dir from a snapshot, or from a store that no
// process has open, after checking it. o.Dir must be missing or empty. Tables are
// hard-linked where that is possible; both can be used, and removed, without the
// other. The report is the result of the check; with ErrDamaged it gives the
// reason.
func Restore(o Options, snapshot string, progress files.Progress) (*check.Report, error) {
	o = o.withDefaults()
	return files.Restore(o.FS, o.Dir, snapshot, o.warnf, progress)
}

// Complete makes a store of files that were copied into o.Dir one by one: those of a snapshot, and a log that may go on behind it. Of
// that only records up to last stay, or all if last is 0, but none is cut off that values may have a part of, which is an error. The log
// of a member of a group stays as it is. Then everything is read; with ErrDamaged the report says what is wrong.
func Complete(o Options, last uint64, progress files.Progress) (*check.Report, error) {
	s := &Store{opts: o.withDefaults(), ctx: context.Background()}
	opener{s}.initFiles()
	report, err := s.files.Finish(last, progress)
	if err != nil {
		return report, fmt.Errorf("complete %s: %w", s.opts.Dir, err)
	}
	return report, nil
}
