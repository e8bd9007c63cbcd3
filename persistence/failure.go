package persistence

import "time"

// WriteError returns why nothing can be written, nil if it can: the disk cannot, or a
// member of a group does not lead it. Reads continue, changes stay in memory and are
// retried; the server refuses new ones.
func (s *Store) WriteError() error {
	if s.member.Follows() {
		return ErrNotLeader
	}
	return s.DiskError()
}

// DiskError returns why the disk cannot be written, nil if it can, whoever leads. It is ErrFull if there
// is room for deletions only.
func (s *Store) DiskError() error {
	if err := s.diskError(); err != nil || !s.reserve.Tight() {
		return err
	}
	return ErrFull
}

// diskError is DiskError for changes that only free room.
func (s *Store) diskError() error {
	if err := s.files.Disk.Err(); err != nil {
		return err
	}
	if s.writer.Stuck() {
		return ErrStuck
	}
	return s.commits.Durable.Err()
}

// Pace returns how much longer a client is to wait that changed a large value, see
// [Tx.Large], and has waited for some time already: 0 if it may go on. The server calls it without locks.
func (s *Store) Pace(waited time.Duration) time.Duration { return s.writer.Pace(waited) }
