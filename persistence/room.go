package persistence

import (
	"errors"
	"fmt"

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

// freeRoom makes a pass of a tight store, if something was deleted since the last one: what is deleted takes
// room until the journal is cut and Pebble has tables that say so. A pass that has to write more than
// half of what is free would only fill the disk: it waits for more deletions.
func (s *Store) freeRoom() {
	if !s.reserve.HasFreed() {
		return
	}
	usage, known := s.reserve.Look()
	if write := min(s.commits.Length.Bytes(), s.Memory()); known && write > int64(usage.AvailBytes/2) {
		s.report(LevelWarn, "free room", fmt.Errorf("deletions free room when %d bytes of values are written, which takes twice as many, and %d are free: "+
			"delete more, or make room", write, usage.AvailBytes))
		return
	}
	s.reserve.Passes()
	err := s.Materialise(s.passes)
	if err == nil {
		_, err = s.files.Disk.Flush()
	}
	if err == nil {
		s.reserve.Passed()
		return
	}
	if s.passes.Err() == nil {
		s.report(LevelError, "materialise", fmt.Errorf("free room: %w", err))
	}
}
