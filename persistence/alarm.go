package persistence

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/types"
)

// A small value of which parts expire rests as a record too. A timetable would have to
// be told whenever a record moves; an alarm knows the hash of a key only:
//
//	for each record of which a part expires there is an alarm not later than that
//
// An alarm outlives the record for which it was set. When it goes off, or when there are
// many, it is looked at whether there still is a key with that hash.

// alarm says when to look at the records of keys with a hash.
type alarm struct {
	at   int64 // unix ms
	hash uint64
}

// alarms is a heap, the earliest first.
type alarms struct {
	heap []alarm
	// room is the length at which those without a key are dropped, so that a client
	// that makes and deletes values does not fill memory with them.
	room int
}

// Len, Less, Swap, Push and Pop are for package heap.
func (a *alarms) Len() int           { return len(a.heap) }
func (a *alarms) Less(i, j int) bool { return a.heap[i].at < a.heap[j].at }
func (a *alarms) Swap(i, j int)      { a.heap[i], a.heap[j] = a.heap[j], a.heap[i] }
func (a *alarms) Push(x any)         { a.heap = append(a.heap, x.(alarm)) }

func (a *alarms) Pop() any {
	last := len(a.heap) - 1
	x := a.heap[last]
	a.heap = a.heap[:last]
	return x
}

// leastAlarms is the number of alarms below which those without a key stay.
const leastAlarms = 64

// setAlarm sets the alarm of an object that becomes a record, if it needs one earlier
// than the one it has.
func (t *table) setAlarm(o *object, hash uint64) {
	v, ok := o.value.(timedValue)
	if !ok {
		return
	}
	next, ok := v.NextExpiry()
	if !ok || o.alarm != 0 && o.alarm <= next {
		return
	}
	if t.alarms.Len() >= max(t.alarms.room, leastAlarms) {
		t.dropAlarms()
	}
	heap.Push(&t.alarms, alarm{next, hash})
}

// hasAlarm notes the alarm of an object that was made of a record.
func (o *object) hasAlarm() {
	if v, ok := o.value.(timedValue); ok {
		o.alarm, _ = v.NextExpiry()
	}
}

// lapses reports whether parts of the value of a record can expire.
func (t *table) lapses(meta uint64) bool {
	_, value, _ := t.parts(meta)
	return lapsing[value[0]]
}

// lapsing has, by kind, whether parts of values expire.
var lapsing = func() (kinds [structures.Kinds]bool) {
	for _, t := range types.All() {
		if t.Compact != nil {
			_, kinds[t.Kind] = t.Compact(nil).(timedValue)
		}
	}
	return kinds
}()

// dropAlarms drops the alarms of keys that are gone, and all but the first of a key.
func (t *table) dropAlarms() {
	a := t.alarms.heap
	slices.SortFunc(a, func(x, y alarm) int {
		return cmp.Or(cmp.Compare(x.hash, y.hash), cmp.Compare(x.at, y.at))
	})
	a = slices.CompactFunc(a, func(x, y alarm) bool { return x.hash == y.hash })
	a = slices.DeleteFunc(a, func(x alarm) bool {
		i := t.seek(x.hash)
		return i >= len(t.slots) || t.slots[i].hash != x.hash
	})
	slices.SortFunc(a, func(x, y alarm) int { return cmp.Compare(x.at, y.at) })
	t.alarms = alarms{slices.Clip(a), 2 * len(a)}
}

// soundAlarms deletes parts of records that are due, about limit at most, and returns
// how many.
func (s *Store) soundAlarms(t *table, db int, now int64, limit int) (expired int) {
	for expired < limit && t.alarms.Len() > 0 && t.alarms.heap[0].at <= now {
		a := heap.Pop(&t.alarms).(alarm)
		for i := t.seek(a.hash); i < len(t.slots) && t.slots[i].meta != 0 && t.slots[i].hash == a.hash; i++ {
			meta, used := t.slots[i].meta, t.used
			switch {
			case meta&metaTombstone != 0:
				continue
			case meta&metaObject != 0:
				t.objects[meta&locationMask].alarm = 0 // it stands in the timetable
				continue
			case !t.isCompact(meta) || !t.lapses(meta):
				continue // another value has the key now
			}
			o, at := s.lift(t, i)
			o.alarm = 0
			n := s.expireFieldsOf(t, db, o, now, limit-expired)
			expired += n
			o.changed = true
			if t.used < used {
				i-- // the slot is gone, and the next one there
			} else if at < uint64(len(t.objects)) && t.objects[at] == o {
				s.compactObject(t, i, o, maxRecent)
			}
			if n == 0 && t.alarms.Len() > 0 && t.alarms.heap[0] == a {
				return expired // a value without that information
			}
		}
	}
	return expired
}
