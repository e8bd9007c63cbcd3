package server

import "time"

// pauseStep is how long a client is paused at most before the store is asked again
// whether it has to wait any longer.
const pauseStep = 50 * time.Millisecond

// durability is the records of the journal that the replies of a client wait for.
// Only the owner of the session uses it.
type durability struct {
	s       *session
	changed uint64 // the last change made for the client, 0 if none since the last flush
	seen    uint64 // newest record that replies since the last flush may depend on
	flushed uint64 // the last change ever made for the client, of those flushed
	big     bool   // the last change was big: the client waits until it is written

	// Changes of values larger than memory slow down the client that makes them:
	large  bool          // some changes since the last flush are of such values
	until  time.Time     // the client is paused; zero if it is not
	waited time.Duration // in earlier pauses since the last flush
}

// change records a change made for the client, 0 for none.
func (d *durability) change(lsn uint64) { d.changed = max(d.changed, lsn) }

// read records that a reply may depend on a record of the journal.
func (d *durability) read(lsn uint64) { d.seen = max(d.seen, lsn) }

// Awaited is the newest record that has to be durable before the replies are sent, 0
// if there is none: a record of the client's own changes or, with appendfsync
// always, one whose effect the replies show.
func (d *durability) Awaited() uint64 { return max(d.changed, d.seen) }

// last is the last change ever made for the client.
func (d *durability) last() uint64 { return max(d.changed, d.flushed) }

// flush is called when the replies may leave. It reports whether they tell of
// changes of the client.
func (d *durability) flush() (changes bool) {
	d.seen, d.big, d.large, d.waited = 0, false, false, 0
	if d.changed == 0 {
		return false
	}
	d.flushed, d.changed = d.last(), 0
	return true
}

// settle reports whether the client's changes, and the changes that its replies
// show, are as durable as appendfsync demands. If not, none of its replies may be
// sent, and the session stops until it is resumed.
func (d *durability) settle() (bool, error) {
	s := d.s
	if d.Awaited() == 0 {
		return true, nil
	}
	always := s.srv.settings().syncAlways
	if always || d.big {
		if ok, err := s.conn.Durable(d.Awaited()); !ok && (always || err == nil) {
			if err != nil {
				s.srv.logf(logWarning, "disconnecting a client whose write could not be made durable: %v", err)
			}
			return false, err
		}
	}
	if d.slowed() {
		return false, nil
	}
	if d.flush() {
		s.conn.Throttle()
	}
	return true, nil
}

// slowed reports that the client, which changes a large value faster than the disk takes
// it, is paused. None of its replies are sent before the pause is over, and no more of
// its input is run. Other clients go on.
func (d *durability) slowed() bool {
	for d.large {
		now := d.s.srv.clock.Now()
		wait := d.until.Sub(now)
		if d.until.IsZero() || wait <= 0 {
			d.until = time.Time{}
			if wait = min(d.s.srv.store.Pace(d.waited), pauseStep); wait <= 0 {
				return false
			}
			d.waited += wait
			d.until = now.Add(wait)
		}
		if d.s.conn.Pause(wait) {
			return true
		}
		d.until = time.Time{}
	}
	return false
}

// SyncFailed reports, after the device has failed, whether the client waits for
// durability that cannot be reached. A client that waits only because its record is
// big continues.
func (d *durability) SyncFailed() bool {
	if d.s.srv.journal.Confirmed(d.Awaited()) {
		return false
	}
	d.big = false
	return d.s.srv.settings().syncAlways
}
