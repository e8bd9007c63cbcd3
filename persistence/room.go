package persistence

import (
	"errors"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/reserve"
)

// ErrFull is returned by WriteError and DiskError of a store that has given up its reserve: only
// deletions are accepted, see [Store.DeleteError].
var ErrFull = errors.New("persistence: the disk is full, and only deletions are accepted")

// MostReserve is the greatest value of Options.Reserve that is of use.
const MostReserve = reserve.Most

// IsFull reports whether an error of Open or Close comes from a disk without room: nothing is
// damaged.
func IsFull(err error) bool { return fence.IsFull(err) }

// Space returns how many bytes are free on the disk for this process, and how many it has; both 0 if
// that is not known.
func (s *Store) Space() (free, total uint64) { return s.reserve.Space() }

// DeleteError returns why not even changes that only free room can be written, nil if they can. A
// tight store expects one when it is asked.
func (s *Store) DeleteError() error {
	if s.member.Follows() {
		return ErrNotLeader
	}
	if s.reserve.Tight() {
		s.reserve.Freed()
	}
	return s.diskError()
}
