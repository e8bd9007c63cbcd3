package persistence

import (
	"slices"
	"time"

	"github.com/vigildb/vigil/persistence/feed"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
)

// sweepHost is the store for what deletes keys without a command, as they have expired or are evicted.
type sweepHost struct{ s *Store }

func (h sweepHost) Defers() bool { return h.s.keepsExpired() }

// Journal implements sweep.Host.
func (h sweepHost) Journal(rec []byte, o *keyspace.Object, changed []byte) uint64 {
	if o == nil || !h.s.feed.Active() {
		return h.s.feed.Append(&h.s.commits.Journal, rec, 0, nil)
	}
	var told feed.Telling
	told.Add(&h.s.feed, o, changed, false)
	return h.s.feed.Append(&h.s.commits.Journal, rec, 0, &told)
}

// Expired implements sweep.Host.
func (h sweepHost) Expired(db int, key []byte) {
	h.s.stats.expired.Add(1)
	h.s.opts.event(EventExpired, db, key)
}

// NamesParts implements sweep.Host.
func (h sweepHost) NamesParts(db int, o *keyspace.Object) bool {
	return h.s.opts.OnFields != nil && o.Value.Kind() == structures.KindHash && h.s.opts.OnFields(db, o.Key) != nil
}

// PartsExpired implements sweep.Host.
func (h sweepHost) PartsExpired(db int, o *keyspace.Object, n int, parts [][]byte) {
	h.s.stats.expiredFields.Add(int64(n))
	event := EventFieldExpired
	if o.Value.Kind() == structures.KindSet {
		event = EventMemberExpired
	}
	h.s.opts.event(event, db, o.Key)
	if len(parts) > 0 {
		if tell := h.s.opts.OnFields(db, o.Key); tell != nil { // it may have changed since
			tell(parts)
		}
	}
	if o.Value.Empty() {
		h.s.opts.event(EventEmptied, db, o.Key)
	}
}

// Sync implements sweep.Host.
func (h sweepHost) Sync() uint64 {
	lsn := h.s.commits.Journal.Newest()
	h.s.commits.RequestSync(lsn)
	return lsn
}

// Synced implements sweep.Host.
func (h sweepHost) Synced(lsn uint64) (bool, error) {
	if h.s.commits.Synced() < lsn {
		return false, nil
	}
	err := h.s.member.AwaitForce(lsn)
	return err == nil, err
}

// event tells who asked for events of one.
func (o *Options) event(e Event, db int, key []byte) {
	if o.OnEvent != nil {
		o.OnEvent(e, db, key)
	}
}

// Evict implements eviction.Host.
func (h sweepHost) Evict(t *keyspace.Table, db, i int) {
	key, hash := slices.Clone(t.Key(t.Meta(i))), t.HashAt(i)
	h.s.commits.Evicted(hash, h.s.sweeper.Delete(t, i, key))
	h.s.stats.evicted.Add(1)
	h.s.opts.event(EventEvicted, db, key)
}

// ExpireCycle deletes keys, and fields of values in memory, that have expired at now
// (unix ms) and returns the number of keys, see [sweep.Sweeper.Cycle].
func (s *Store) ExpireCycle(now int64, budget time.Duration) int { return s.sweeper.Cycle(now, budget) }
