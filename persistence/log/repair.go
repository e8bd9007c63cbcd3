package log

// Repair goes on after a failed write or sync, once the disk works again. The segment that failed is not
// written any more: another one is made, whose head ends the failed one where it was synced, and the frames
// that are not synced are written there and synced. If nothing of the failed segment was synced it is
// replaced.
//
// The frames that are not synced have other positions then. Moved, if it is not nil, is called for each
// before anything is written, and must not call the log. Positions that were kept elsewhere, such as those
// of readers, are ErrMoved if they are behind the new end of the segment.
//
// After an error Repair can be called again; nothing is lost in memory. A log that has not failed is flushed
// and synced.
func (l *Log) Repair(moved func(from, to Position)) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.abandon(moved)
	_, err := l.flush()
	if err == nil {
		_, err = l.Sync()
	}
	return err
}

// abandon gives up the last segment, if it has failed, and gives the frames that are not synced places in
// another one. Writing is held.
func (l *Log) abandon(moved func(from, to Position)) {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.mu
	if s.failed == nil || s.closed {
		return
	}
	last, synced, old := s.lastLocked(), s.synced, s.runs
	last.ours = false
	s.end = synced
	if synced.Offset == HeadBytes {
		// A disk that fails each time does not leave a segment each time. The new file has the name at
		// once, by a rename, so a crash finds one or the other.
		s.end = Position{last.number - 1, last.before}
	}
	s.turn, s.written, s.failed = true, synced, nil
	s.runs, s.next, s.kept = nil, 0, 0
	for _, r := range old {
		from := int64(0)
		if r.at.Segment == synced.Segment {
			from = synced.Offset
		}
		r.entries(from, func(at int64, e *entry, payload [][]byte) {
			to := l.placeLocked(e, payload)
			if moved != nil {
				moved(Position{r.at.Segment, at}, to)
			}
		})
	}
	_ = l.file.Close() // it has failed already
	l.file = nil
}
