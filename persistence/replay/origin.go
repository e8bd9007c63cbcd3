package replay

import (
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
)

// replayedOrigin is what a goroutine of a replay has found of whose data it is.
type replayedOrigin struct {
	whole, part       format.Replicated
	wholeLSN, partLSN uint64 // 0: none
}

// replay reads an operation of a record.
func (o *replayedOrigin) replay(args *structures.Args, lsn uint64) error {
	r, whole, err := format.DecodeReplicated(args)
	if whole {
		o.whole, o.wholeLSN = r, lsn
	} else {
		o.part, o.partLSN = r, lsn
	}
	return err
}

// settleOrigin determines whose data it is at the end of a replay, or of an entry. It was that of now, by record lsn, which may be ahead
// of the first records.
func (r *replay) settleOrigin(now format.Replicated, lsn uint64) {
	var last replayedOrigin
	for _, w := range r.workers {
		if o := &w.origin; o.wholeLSN > last.wholeLSN {
			last.whole, last.wholeLSN = o.whole, o.wholeLSN
		}
		if o := &w.origin; o.partLSN > last.partLSN {
			last.part, last.partLSN = o.part, o.partLSN
		}
	}
	if last.wholeLSN > lsn {
		now, lsn = last.whole, last.wholeLSN
	}
	if last.partLSN > lsn {
		now.Offset, now.DB, lsn = last.part.Offset, last.part.DB, last.partLSN
	}
	r.Arrived(now, lsn)
}
