package log

// Flush gives to the system what was appended before, and returns the position below which all frames are
// there: the end of the process loses nothing of them, the end of the system may. It is one write, and one
// more for each payload that was not copied, and for each 256 KiB; it does not sync. If a segment is full it
// is synced and the next one is made, which takes three syncs: of the data, of the head, of the directory.
//
// After an error frames stay in memory. If a write has failed, or a sync, so do Flush and Sync until Repair.
// If a segment could not be made, the next Flush tries again.
func (l *Log) Flush() (Position, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	return l.flush()
}

// flush writes what was appended. Writing is held.
func (l *Log) flush() (Position, error) {
	for {
		r, now, err := l.pending()
		if err == nil && r != nil && now.begin != nil {
			if err = l.begin(now.begin); err == nil {
				continue
			}
		}
		if err != nil || r == nil {
			return l.Written(), err
		}
		if err := l.give(r, &now); err != nil {
			return l.Written(), err
		}
	}
}

// pending returns the first run with something to write, and a copy of it: frames may be added to the run
// meanwhile, behind those in the copy. It is nil if there is nothing to write.
func (l *Log) pending() (r *run, now run, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return nil, now, err
	}
	if r = l.mu.pendingLocked(); r != nil {
		now = *r
	}
	return r, now, nil
}

// give writes what a run had when a copy was made of it. Writing is held.
func (l *Log) give(r, now *run) error {
	err := now.write(l.file)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.mu.failed = err
		return err
	}
	r.written = now.size
	l.mu.written = now.end()
	return nil
}

func (l *Log) usableLocked() error {
	switch {
	case l.view:
		return ErrReadOnly
	case l.mu.closed:
		return ErrClosed
	}
	return l.mu.failed
}

// Sync forces to the device what was written before, and returns the position below which all frames are
// there. It is one sync of the data of a file, or none if there is nothing to sync. Frames that are
// appended or flushed meanwhile are not waited for. For the error see Flush.
func (l *Log) Sync() (Position, error) {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	err := l.sync()
	return l.Synced(), err
}

// sync syncs the last segment. Syncing is held, so that the file stays open and the position cannot be
// overtaken by that of another sync.
func (l *Log) sync() error {
	l.mu.Lock()
	err, target := l.usableLocked(), l.mu.written
	done := !l.mu.synced.Before(target)
	l.mu.Unlock()
	if err != nil || done {
		return err
	}
	err = l.file.SyncData()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.mu.failed = syncError(segmentName(target.Segment), target.Offset, err)
		return l.mu.failed
	}
	l.mu.synced = target
	l.mu.releaseLocked()
	return nil
}

// begin makes the next segment, once the last one is synced up to its end: what its head says of that is then
// true. Writing is held.
func (l *Log) begin(h *head) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if err := l.sync(); err != nil {
		return err
	}
	file, err := l.make(h)
	if err != nil {
		return err
	}
	if l.file != nil {
		_ = l.file.Close() // all of it is on the device
	}
	l.file = file
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.mu
	if last := s.lastLocked(); last != nil && last.number == h.number {
		s.segments = s.segments[:len(s.segments)-1] // Repair replaces it
	} else if last != nil {
		last.end = h.before
	}
	s.segments = append(s.segments, &segment{number: h.number, before: h.before, own: h.own, big: h.big, ours: true})
	s.written = Position{h.number, HeadBytes}
	s.synced = s.written
	s.pendingLocked().begin = nil
	s.releaseLocked()
	return nil
}

// Close flushes and syncs, if the log has not failed, and closes it. The error is why something that was
// appended is not on the device. Positions and segments can still be asked for.
func (l *Log) Close() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.isClosed() {
		return nil
	}
	var err error
	if !l.view {
		if _, err = l.flush(); err == nil {
			_, err = l.Sync()
		}
	}
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if l.file != nil {
		_ = l.file.Close() // what is synced is, and err says that the rest is not
		l.file = nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.closed = true
	l.mu.runs = nil
	return err
}

func (l *Log) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.closed
}
