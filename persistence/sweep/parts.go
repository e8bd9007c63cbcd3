package sweep

import (
	"bytes"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
)

// expireFields deletes parts of values that are due, about limit at most, and
// returns how many. The lock of the shard is held. What is on disk only has to
// wait until it is wanted, or warmed up.
func (s *Sweeper) expireFields(t *keyspace.Table, db int, now int64, limit int) (expired int) {
	for expired < limit {
		o := t.Due(now)
		if o == nil {
			break
		}
		n := s.expireFieldsOf(t, db, o, now, limit-expired)
		expired += n
		if n == 0 && t.Due(now) == o {
			break // a value without that information
		}
	}
	expired += s.soundAlarms(t, db, now, limit-expired)
	return expired
}

// expireFieldsOf deletes what is due of one value with a record of its own, and
// the key with it if nothing is left.
func (s *Sweeper) expireFieldsOf(t *keyspace.Table, db int, o *keyspace.Object, now int64, limit int) int {
	var rec, fields structures.Change
	if o.Pager != nil {
		writeback.PagerOf(o).Retry()
	}
	var names [][]byte
	var visit func(part []byte)
	if s.host.NamesParts(db, o) {
		visit = func(part []byte) { names = append(names, bytes.Clone(part)) }
	}
	n := o.Value.(keyspace.Timed).ExpireFields(&fields, now, limit, visit)
	t.Resized(o)
	if n == 0 {
		return 0
	}
	format.RecordKey(&rec, t.Phys, o.Key)
	rec.Append(fields.Encoded())
	i, emptied := t.Find(s.keys.Hash.Sum(o.Key), o.Key), o.Value.Empty()
	if emptied {
		rec.Op(format.OpDelete, 0)
	}
	s.host.Journal(rec.Encoded(), o, fields.Encoded())
	if emptied {
		t.Erase(i)
	} else {
		t.SetMeta(i, t.Meta(i)|keyspace.Dirty)
	}
	s.host.PartsExpired(db, o, n, names)
	return n
}

// soundAlarms deletes parts of records that are due, about limit at most, and returns
// how many.
func (s *Sweeper) soundAlarms(t *keyspace.Table, db int, now int64, limit int) (expired int) {
	for expired < limit {
		a, rings := t.PopAlarm(now)
		if !rings {
			break
		}
		for i := t.Seek(a.Hash); i < t.Places() && t.Meta(i) != 0 && t.HashAt(i) == a.Hash; i++ {
			meta, used := t.Meta(i), t.Used
			switch {
			case meta&keyspace.Tombstone != 0:
				continue
			case meta&keyspace.IsObject != 0:
				t.Object(meta).Alarm = 0 // it stands in the timetable
				continue
			case !t.IsCompact(meta) || !t.PartsExpire(meta):
				continue // another value has the key now
			}
			o, at := s.keyspace.Lift(t, i)
			o.Alarm = 0
			n := s.expireFieldsOf(t, db, o, now, limit-expired)
			expired += n
			o.Changed = true
			if t.Used < used {
				i-- // the slot is gone, and the next one there
			} else if t.Has(at, o) {
				s.keyspace.CompactObject(t, i, o, keyspace.MaxRecent)
			}
			if n == 0 && t.NextAlarm() == a {
				return expired // a value without that information
			}
		}
	}
	return expired
}
