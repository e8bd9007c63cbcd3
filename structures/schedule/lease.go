package schedule

import "unsafe"

// lease is a node that was handed out.
type lease struct {
	until int64   // it ends at this millisecond
	step  int64   // step of the NEXT that gave it
	nats  float64 // of the node's signals before that NEXT
	heard float64 // their number
	slot  int32
	place int32 // in leases.running; over: in leases.over; next of leases.spare
}

// leases are those of a schedule: only leased nodes take memory, about 80 bytes.
//
// A lease has expired when time has passed its end, noticed or not. The
// schedule's recorded time and the time that it has seen (see clock) may differ
// by a Peek: a lease that had expired for the Peek has expired for every caller,
// but until the record says so too it has to be stored. Those leases are kept in over.
type leases struct {
	list  []lease
	spare int32           // first unused element of list, -1 if none
	at    map[int32]int32 // slot: index in list
	// running is a binary heap of indices, the lease that ends first at the root.
	running []int32
	// over holds indices in order of the end; -1: dropped since.
	over []int32
}

// isOver marks the place of a lease in over: place is isOver - position.
const isOver = -2

func newLeases() leases { return leases{spare: -1} }

// of is the lease of a slot, running or over.
func (l *leases) of(slot int) (lease, bool) {
	i, ok := l.at[int32(slot)]
	if !ok {
		return lease{}, false
	}
	return l.list[i], true
}

// runs says whether a slot has a lease that is not over.
func (l *leases) runs(slot int) bool {
	i, ok := l.at[int32(slot)]
	return ok && l.list[i].place >= 0
}

// add gives a slot without a lease one. Its place is set here.
func (l *leases) add(a lease) {
	if l.at == nil {
		l.at = make(map[int32]int32)
	}
	i := l.spare
	if i < 0 {
		i = int32(len(l.list))
		l.list = append(l.list, lease{})
	} else {
		l.spare = l.list[i].place
	}
	a.place = int32(len(l.running))
	l.list[i] = a
	l.at[a.slot] = i
	l.running = append(l.running, i)
	l.up(len(l.running) - 1)
}

// drop forgets the lease of a slot and reports whether it had one.
func (l *leases) drop(slot int) bool {
	i, ok := l.at[int32(slot)]
	if !ok {
		return false
	}
	if place := l.list[i].place; place <= isOver {
		l.over[isOver-place] = -1
	} else {
		l.stop(int(place))
	}
	l.forget(i)
	l.rest()
	return true
}

func (l *leases) forget(i int32) {
	delete(l.at, l.list[i].slot)
	l.list[i].place = l.spare
	l.spare = i
}

// keptLeases is how much room stays when no lease is left.
const keptLeases = 1024

// rest gives memory back if there are no leases.
func (l *leases) rest() {
	if len(l.at) > 0 {
		return
	}
	l.list, l.running, l.over, l.spare = l.list[:0], l.running[:0], l.over[:0], -1
	if cap(l.list) > keptLeases {
		*l = newLeases()
	}
}

// end takes the lease that ends first, if it ends at or before now, out of
// the running ones. It has expired but is not forgotten.
func (l *leases) end(now int64) (slot int, ok bool) {
	if len(l.running) == 0 || l.list[l.running[0]].until > now {
		return 0, false
	}
	i := l.running[0]
	l.stop(0)
	l.list[i].place = isOver - int32(len(l.over))
	l.over = append(l.over, i)
	return int(l.list[i].slot), true
}

// settle forgets the leases that were over at a recorded time. Leases are in
// over in order of their ends, as they were taken at growing times. It visits them.
func (l *leases) settle(now int64, visit func(lease)) {
	if len(l.over) == 0 {
		return
	}
	n := 0
	for _, i := range l.over {
		if i >= 0 && l.list[i].until > now {
			break
		}
		if i >= 0 {
			visit(l.list[i])
			l.forget(i)
		}
		n++
	}
	l.over = l.over[:copy(l.over, l.over[n:])]
	for k, i := range l.over {
		if i >= 0 {
			l.list[i].place = isOver - int32(k)
		}
	}
	l.rest()
}

// stop takes the lease at a place in the heap out of it.
func (l *leases) stop(place int) {
	last := len(l.running) - 1
	moved := l.running[last]
	l.running = l.running[:last]
	if place == last {
		return
	}
	l.set(place, moved)
	l.up(place)
	l.down(int(l.list[moved].place))
}

func (l *leases) set(place int, i int32) {
	l.running[place] = i
	l.list[i].place = int32(place)
}

func (l *leases) earlier(i, j int) bool {
	return l.list[l.running[i]].until < l.list[l.running[j]].until
}

func (l *leases) swap(i, j int) {
	a, b := l.running[i], l.running[j]
	l.set(i, b)
	l.set(j, a)
}

func (l *leases) up(i int) {
	for i > 0 && l.earlier(i, (i-1)/2) {
		l.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (l *leases) down(i int) {
	for {
		child := 2*i + 1
		if child+1 < len(l.running) && l.earlier(child+1, child) {
			child++
		}
		if child >= len(l.running) || !l.earlier(child, i) {
			return
		}
		l.swap(i, child)
		i = child
	}
}

// size is the memory held, in bytes. A map entry takes 8 bytes and a control
// byte, at a load of about two thirds.
func (l *leases) size() int {
	const mapEntry = 14
	return int(unsafe.Sizeof(lease{}))*cap(l.list) + 4*(cap(l.running)+cap(l.over)) + mapEntry*cap(l.list)
}
