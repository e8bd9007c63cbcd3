package persistence

// A handler that panics leaves a transaction of which nothing may stay, although it has
// changed values in their places. Memory cannot be put back, so it is made anew of the
// disk, as at Open: the journal has everything but this transaction (ADR 0083).
//
// Until that is done memory is torn. This is noted under the locks of the transaction, and
// these are released: others may wait for them with locks of their own, or in a pass. So
// whoever locks a shard looks whether memory is torn, and if so gives the shard back:
// transactions wait, background work ends. Those that the torn values cannot matter to,
// because they hold other shards already, go on to their ends.

// remake makes torn memory anew, and returns when that is done or has failed. The caller holds no lock.
func (s *Store) remake() {
	r := &s.keyspace.Tear
	s.remaking.Lock()
	defer s.remaking.Unlock()
	if !r.Torn() {
		return // by another one
	}
	if s.member != nil {
		s.member.Leave()
		return
	}
	err := s.remakeAlone()
	if err != nil {
		s.report(LevelError, "remake", err)
	}
	r.Over(err)
}

// remakeAlone makes memory anew of the disk and the whole journal.
func (s *Store) remakeAlone() error {
	defer s.holdStill()()
	newest := s.commits.Journal.Newest()
	if err := s.commits.AwaitSync(newest); err != nil {
		return err
	}
	if err := s.forgetPass(); err != nil {
		return err
	}
	s.forgetMemory()
	s.commits.Seen.Raise(newest) // which keys the records are about is forgotten
	if err := s.recall(); err != nil {
		return err
	}
	s.catalog.Tell()
	s.warmer.Restart()
	return nil
}

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
	s.remake()
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
	tx.rec.Reset(maxKeptRecord)
	tx.told.Reset()
	clear(tx.big)
	tx.big, tx.referred, tx.loan = tx.big[:0], 0, nil
	tx.changed, tx.growing, tx.hasLast, tx.apart = false, false, false, false
	tx.flushed, tx.open, tx.spare = nil, nil, nil
	tx.placer.Abandon()
	tx.arrives = arrival{}
}
