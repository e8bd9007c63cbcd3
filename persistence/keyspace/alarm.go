package keyspace

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/types"
)

// A small value with parts that expire rests as a record too. A timetable would have to
// be told whenever a record moves; an alarm knows the hash of a key only:
//
//	for each record of which a part expires there is an alarm not later than that
//
// An alarm outlives the record for which it was set. When it goes off, or when there are
// many, it is looked at whether there still is a key with that hash.

// Alarm says when to look at the records of keys with a hash.
type Alarm struct {
	at   int64 // unix ms
	Hash uint64
}

// alarms is a heap, the earliest first.
type alarms struct {
	heap []Alarm
	// room is the length at which those without a key are dropped, so that a client
	// that makes and deletes values does not fill memory with them.
	room int
}

// Len, Less, Swap, Push and Pop are for package heap.
func (a *alarms) Len() int           { return len(a.heap) }
func (a *alarms) Less(i, j int) bool { return a.heap[i].at < a.heap[j].at }
func (a *alarms) Swap(i, j int)      { a.heap[i], a.heap[j] = a.heap[j], a.heap[i] }
func (a *alarms) Push(x any)         { a.heap = append(a.heap, x.(Alarm)) }

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
func (t *Table) setAlarm(o *Object, hash uint64) {
	v, ok := o.Value.(Timed)
	if !ok {
		return
	}
	next, ok := v.NextExpiry()
	if !ok || o.Alarm != 0 && o.Alarm <= next {
		return
	}
	if t.alarms.Len() >= max(t.alarms.room, leastAlarms) {
		t.dropAlarms()
	}
	heap.Push(&t.alarms, Alarm{next, hash})
}

// hasAlarm notes the alarm of an object that was made of a record.
func (o *Object) hasAlarm() {
	if v, ok := o.Value.(Timed); ok {
		o.Alarm, _ = v.NextExpiry()
	}
}

// PartsExpire reports whether parts of the value of a record can expire.
func (t *Table) PartsExpire(meta uint64) bool {
	_, value, _ := t.Parts(meta)
	return lapsing[value[0]]
}

// lapsing has, by kind, whether parts of values expire.
var lapsing = func() (kinds [structures.Kinds]bool) {
	for _, t := range types.All() {
		if t.Compact != nil {
			_, kinds[t.Kind] = t.Compact(nil).(Timed)
		}
	}
	return kinds
}()

// dropAlarms drops the alarms of keys that are gone, and all but the first of a key.
func (t *Table) dropAlarms() {
	a := t.alarms.heap
	slices.SortFunc(a, func(x, y Alarm) int {
		return cmp.Or(cmp.Compare(x.Hash, y.Hash), cmp.Compare(x.at, y.at))
	})
	a = slices.CompactFunc(a, func(x, y Alarm) bool { return x.Hash == y.Hash })
	a = slices.DeleteFunc(a, func(x Alarm) bool {
		i := t.Seek(x.Hash)
		return i >= len(t.slots) || t.slots[i].hash != x.Hash
	})
	slices.SortFunc(a, func(x, y Alarm) int { return cmp.Compare(x.at, y.at) })
	t.alarms = alarms{slices.Clip(a), 2 * len(a)}
}

// NextAlarm returns the earliest Alarm, the zero value if there is none.
func (t *Table) NextAlarm() Alarm {
	if t.alarms.Len() == 0 {
		return Alarm{}
	}
	return t.alarms.heap[0]
}

// PopAlarm returns the earliest Alarm, and forgets it, if it goes off at now or before.
func (t *Table) PopAlarm(now int64) (a Alarm, rings bool) {
	if t.alarms.Len() == 0 || t.alarms.heap[0].at > now {
		return Alarm{}, false
	}
	return heap.Pop(&t.alarms).(Alarm), true
}

// AlarmBy reports that there is an alarm for a hash at a time or before.
func (t *Table) AlarmBy(hash uint64, at int64) bool {
	return slices.ContainsFunc(t.alarms.heap, func(a Alarm) bool { return a.Hash == hash && a.at <= at })
}
