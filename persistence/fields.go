package persistence

import (
	"container/heap"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
)

// timedValue is a value whose parts can expire, as a hash's fields do.
// NextExpiry returns a time (unix ms) before which no part does; ok is false if
// none ever will. ExpireFields deletes up to limit parts that are over at now,
// recording that in ch, and returns how many.
type timedValue interface {
	structures.Value
	NextExpiry() (ms int64, ok bool)
	ExpireFields(ch *structures.Change, now int64, limit int, visit func(field []byte)) int
}

// timetable orders the objects of a table by their NextExpiry, so that the cycle
// looks at those that are due and at no others. An object knows its place.
type timetable []timedObject

type timedObject struct {
	next int64
	o    *object
}

// Len, Less, Swap, Push and Pop are for package heap.
func (h timetable) Len() int           { return len(h) }
func (h timetable) Less(i, j int) bool { return h[i].next < h[j].next }
func (h timetable) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].o.timed, h[j].o.timed = int32(i+1), int32(j+1)
}

func (h *timetable) Push(x any) {
	e := x.(timedObject)
	*h = append(*h, e)
	e.o.timed = int32(len(*h))
}

func (h *timetable) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last], *h = timedObject{}, (*h)[:last]
	e.o.timed = 0
	return e
}

// schedule puts an object where its value's next expiry belongs. It is called
// whenever that may have changed.
func (t *table) schedule(o *object) {
	v, ok := o.value.(timedValue)
	if !ok {
		return
	}
	next, ok := v.NextExpiry()
	switch {
	case !ok:
		t.unschedule(o)
	case o.timed == 0:
		heap.Push(&t.timed, timedObject{next, o})
	case t.timed[o.timed-1].next != next:
		t.timed[o.timed-1].next = next
		heap.Fix(&t.timed, int(o.timed-1))
	}
}

func (t *table) unschedule(o *object) {
	if o.timed != 0 {
		heap.Remove(&t.timed, int(o.timed-1))
	}
}

// expireFields deletes parts of values that are due, about limit at most, and
// returns how many. The lock of the shard is held. What is on disk only has to
// wait until it is wanted, or warmed up.
func (s *Store) expireFields(t *table, db int, now int64, limit int) (expired int) {
	for expired < limit && len(t.timed) > 0 && t.timed[0].next <= now {
		o := t.timed[0].o
		n := s.expireFieldsOf(t, db, o, now, limit-expired)
		expired += n
		if n == 0 && len(t.timed) > 0 && t.timed[0].o == o && t.timed[0].next <= now {
			break // a value without that information
		}
	}
	expired += s.soundAlarms(t, db, now, limit-expired)
	s.stats.expiredFields.Add(int64(expired))
	return expired
}

// expireFieldsOf deletes what is due of one value with a record of its own, and
// the key with it if nothing is left.
func (s *Store) expireFieldsOf(t *table, db int, o *object, now int64, limit int) int {
	var rec, fields structures.Change
	if o.pager != nil {
		o.pager.failed = false
	}
	n := o.value.(timedValue).ExpireFields(&fields, now, limit, nil)
	t.resized(o)
	if n == 0 {
		return 0
	}
	rec.Op(format.OpKey, 2)
	rec.Uint(uint64(t.phys))
	rec.Bytes(o.key)
	rec.Append(fields.Encoded())
	i, empty := t.find(s.Hash(o.key), o.key), o.value.Empty()
	var told telling
	if f := s.feeder.Load(); f != nil {
		told.add(f, o, fields.Encoded(), false)
	}
	if empty {
		rec.Op(format.OpDelete, 0)
		t.erase(i)
	} else {
		t.setMeta(i, t.slots[i].meta|metaDirty)
	}
	s.append(rec.Encoded(), 0, &told)
	if s.opts.OnEvent != nil {
		s.opts.OnEvent(EventFieldExpired, db, o.key)
		if empty {
			s.opts.OnEvent(EventEmptied, db, o.key)
		}
	}
	return n
}
