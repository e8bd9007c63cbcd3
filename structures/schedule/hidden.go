package schedule

import "github.com/vigildb/vigil/scheduler"

// forever is the end of a pause that has none: no time comes so far.
const forever = maxTime + MaxMillis

// hidden are the nodes that are not handed out for now, since they are leased or paused.
// The table hides them, and the groups of leased ones are told when leases end.
type hidden struct {
	leases leases
	pauses leases // their step is 0
	// counted: what groups know of their nodes and leases is right.
	counted bool
	table   *scheduler.Table
	groups  *groups
}

// recount counts the nodes and the leases of groups after loading. It returns false if a
// node is of a group that is not there.
func (h *hidden) recount(p scheduler.Policy) (whole bool) {
	h.counted = true
	return h.table.Recount(p, func(visit func(slot int)) {
		for _, i := range h.leases.running {
			visit(int(h.leases.list[i].slot))
		}
	})
}

// lease hides a node until a time.
func (h *hidden) lease(l lease) {
	h.table.Hide(int(l.slot), true)
	h.leases.add(l)
}

// unlease ends the lease of the node in a slot, if it has one, at the recorded time.
func (h *hidden) unlease(p scheduler.Policy, slot int, at int64) {
	ran := h.leases.runs(slot)
	if !h.leases.drop(slot) {
		return
	}
	h.show(slot)
	if ran && h.counted {
		group := h.table.GroupOf(slot)
		h.table.Groups.Back(p, group, at)
		h.settle(group, at)
	}
}

// settle records when a lease of a group has ended.
func (h *hidden) settle(group int32, at int64) {
	if group != 0 {
		h.table.Groups.Settle(group, at)
		h.groups.touch(group)
	}
}

// pause hides the node in a slot until a time, whatever pause it had.
func (h *hidden) pause(slot int, until int64) {
	h.pauses.drop(slot)
	h.table.Hide(slot, true)
	h.pauses.add(lease{slot: int32(slot), until: until})
}

// unpause ends the pause of the node in a slot, if it has one.
func (h *hidden) unpause(slot int) {
	h.pauses.drop(slot)
	h.show(slot)
}

// pauseLeft is how many milliseconds of a pause are left: 0 without a pause, -1 for
// one without end.
func (h *hidden) pauseLeft(slot int, now int64) int64 {
	l, ok := h.pauses.of(slot)
	switch {
	case !ok || l.until <= now:
		return 0
	case l.until == forever:
		return -1
	}
	return l.until - now
}

// show shows the node in a slot unless it is paused or leased.
func (h *hidden) show(slot int) {
	h.table.Hide(slot, h.leases.runs(slot) || h.pauses.runs(slot))
}

// expire shows the nodes whose lease or pause ended at or before now, and forgets what was
// over at the recorded time.
func (h *hidden) expire(p scheduler.Policy, now, recorded int64) {
	for _, held := range [...]*leases{&h.leases, &h.pauses} {
		for {
			slot, ok := held.end(now)
			if !ok {
				break
			}
			h.show(slot)
			p.Touch(slot)
			if held == &h.leases {
				l, _ := held.of(slot)
				h.table.Groups.Back(p, h.table.GroupOf(slot), l.until)
			}
		}
		held.settle(recorded, func(l lease) {
			if held == &h.leases {
				h.settle(h.table.GroupOf(int(l.slot)), l.until)
			}
		})
	}
	h.table.Groups.Open(p, now, 0)
}

// stored are the lease of a slot and the end of its pause, 0 without one, if the record
// knows them and they have not ended at the recorded time. The others are no part of the
// schedule, which would otherwise differ on a machine that was not asked in between.
func (h *hidden) stored(slot int, recorded int64) (l lease, paused int64) {
	l = h.storedOf(&h.leases, slot, recorded)
	return l, h.storedOf(&h.pauses, slot, recorded).until
}

func (h *hidden) storedOf(held *leases, slot int, recorded int64) lease {
	if len(held.over) == 0 && !h.table.Hidden(slot) {
		return lease{}
	}
	l, ok := held.of(slot)
	if !ok || l.until <= recorded {
		return lease{}
	}
	return l
}

// size is the memory held, in bytes.
func (h *hidden) size() int { return h.leases.size() + h.pauses.size() }
