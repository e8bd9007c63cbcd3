package keyspace

import (
	"container/heap"

	"github.com/vigildb/vigil/structures"
)

// Timed is a value whose parts can expire, as a hash's fields do.
// NextExpiry returns a time (unix ms) before which no part does; ok is false if
// none ever will. ExpireFields deletes up to limit parts that are over at now,
// recording that in ch, and returns how many.
type Timed interface {
	structures.Value
	NextExpiry() (ms int64, ok bool)
	ExpireFields(ch *structures.Change, now int64, limit int, visit func(field []byte)) int
}

// timetable orders the objects of a table by their NextExpiry, so that the cycle
// looks at those that are due and at no others. An object knows its place.
type timetable []timedObject

type timedObject struct {
	next int64
	o    *Object
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
func (t *Table) schedule(o *Object) {
	v, ok := o.Value.(Timed)
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

func (t *Table) unschedule(o *Object) {
	if o.timed != 0 {
		heap.Remove(&t.timed, int(o.timed-1))
	}
}

// TimedParts is the number of objects with parts that expire, and of the alarms of records.
func (t *Table) TimedParts() int { return len(t.timed) + t.alarms.Len() }

// Due returns an object with a part that expires at now or before, nil if there is none.
func (t *Table) Due(now int64) *Object {
	if len(t.timed) == 0 || t.timed[0].next > now {
		return nil
	}
	return t.timed[0].o
}
