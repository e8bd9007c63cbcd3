package persistence

// Abandon gives up what was changed since the last Commit. It reports whether there was
// anything: then memory was made anew of the disk, which takes as long as Open, and others may
// have had the shards meanwhile, which the transaction holds afterwards as before. The
// deletion of expired keys is no change.
func (tx *Tx) Abandon() bool {
	if !tx.changed && len(tx.open) == 0 {
		tx.placer.Err = nil // a page that could not be read may have been the cause
		tx.Commit()
		return false
	}
	s, set, long := tx.s, tx.locked, tx.long
	s.keyspace.Tear.Set()
	tx.forget()
	tx.locked, tx.long = Shards{}, false
	if long {
		s.keyspace.EndLong(&set)
	} else {
		s.keyspace.Unlock(&set)
	}
	s.passes.Remake()
	if long {
		tx.LockLong(&set, tx.now)
	} else {
		tx.take(&set, true)
		tx.startAt(tx.now)
	}
	return true
}

// forget drops all that the transaction has of its changes, and of values.
func (tx *Tx) forget() {
	tx.rec = record{s: tx.s}
	tx.changed, tx.growing = false, false
	tx.flushed, tx.open, tx.spare = nil, nil, nil
	tx.placer.Abandon()
}
