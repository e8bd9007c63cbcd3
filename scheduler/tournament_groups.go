package scheduler

import "unsafe"

// Nodes of groups play in two levels: the nodes of each group among themselves, and
// the champions of the groups that are open among themselves. Above both is the
// final against the champion of the nodes without a group. A group that closes or
// opens costs one match on each of log H levels, whatever its size, and no prices:
// the champion of a host that is asked too seldom stands above all others, and wins
// whenever its host opens.
//
// A pick is what a scan of the nodes of open groups would pick, ties included. A
// small group has no matches: its champion is found by looking at all, and stays it
// until the first step in which another may have come level.
//
//	main      nodes without a group, by slot; parks those that cannot win
//	upper     groups, by number: champion and due step of each that is open
//	squads    of more than listed nodes: a tournament of their own, by place
type hosts struct {
	main   *tournament
	upper  tournament
	seats  []seat  // by slot
	squads []squad // by number of the group
	bytes  int     // of squads
}

// seat is where a node plays: at a place of the squad of a group; 0: in main.
type seat struct{ group, place int32 }

// squad is the nodes of a group.
type squad struct {
	slots  []int32
	own    *tournament // of more than listed nodes
	winner int32       // of a list
	due    int64       // step in which a list is looked at again
	plays  bool        // upper has its champion
}

// listed is the number of nodes up to which a group is a list. One of half as many
// becomes a list again.
const listed = 16

// inner makes a tournament of entrants that main lets play.
func (h *hosts) inner(t *tournament) {
	*t = tournament{rule: h.main.rule, table: h.main.table, parking: parking{sweep: -1}, held: t.held}
	t.forget()
}

// newHosts makes the two levels without nodes.
func (t *tournament) newHosts() *hosts {
	h := &hosts{main: t}
	h.inner(&h.upper)
	h.upper.under = h
	return h
}

// groups makes the two levels of a table, of nodes in all groups.
func (t *tournament) groups() *hosts {
	h := t.newHosts()
	for slot := t.table.After(0); slot >= 0; slot = t.table.After(slot + 1) {
		if g := t.table.GroupOf(slot); g != 0 {
			h.join(slot, g)
		}
	}
	return h
}

// touch takes note of a change of the node in a slot, and returns false if it is
// one of those without a group.
func (h *hosts) touch(slot int) bool {
	var group int32
	p, i := h.main.table.find(slot)
	if p != nil {
		group = p.group(i)
		if last := int64(p.get(i, colLast)); last > h.upper.now && !h.upper.late && group != 0 {
			h.upper.now = last
		}
	}
	old := h.seat(slot).group
	switch {
	case old == 0 && group == 0:
		return false
	case old == 0 && p != nil:
		h.main.drop(slot)
	}
	if old != group {
		if old != 0 {
			h.leave(slot)
			h.regroup(int(old))
		}
		if group == 0 {
			return p == nil
		}
		h.join(slot, group)
	} else {
		h.change(slot)
	}
	h.regroup(int(group))
	return true
}

// drop takes a node that has got a group out of the tournament of the others.
func (t *tournament) drop(slot int) {
	if id := slot / fan; t.played && len(t.levels) > 0 && id < len(t.levels[0]) && t.levels[0][id] != nil {
		t.forget()
		t.climb(slot, slot, 0, false)
	}
}

func (h *hosts) seat(slot int) seat {
	if slot < len(h.seats) {
		return h.seats[slot]
	}
	return seat{}
}

// join seats a node in the squad of a group.
func (h *hosts) join(slot int, group int32) {
	for len(h.squads) <= int(group) {
		h.squads = append(h.squads, squad{})
	}
	for len(h.seats) <= slot {
		h.seats = append(h.seats, seat{})
	}
	q := &h.squads[group]
	h.seats[slot] = seat{group, int32(len(q.slots))}
	h.bytes -= 4 * cap(q.slots)
	q.slots = append(q.slots, int32(slot))
	h.bytes += 4 * cap(q.slots)
	q.due = 0
	if q.own == nil && len(q.slots) > listed {
		q.own = new(tournament)
		h.inner(q.own)
		q.own.squad = q
	}
	h.change(slot)
}

// leave takes a node out of the squad that it is in: the last one takes its place.
func (h *hosts) leave(slot int) {
	s := h.seats[slot]
	q := &h.squads[s.group]
	last := len(q.slots) - 1
	moved := q.slots[last]
	q.slots[s.place] = moved
	h.seats[moved].place = s.place
	q.slots = q.slots[:last]
	h.seats[slot] = seat{}
	q.due = 0
	switch {
	case len(q.slots) == 0:
		h.bytes -= 4 * cap(q.slots)
		*q = squad{plays: q.plays}
	case q.own == nil:
	case len(q.slots) < listed/2:
		q.own = nil
	default:
		q.own.forget()
		for _, place := range [...]int{int(s.place), last} {
			if place < last {
				q.own.climbTo(int(q.slots[place]), place)
			} else {
				q.own.climbTo(slot, place)
			}
		}
	}
}

// change plays what a node of a squad takes part in.
func (h *hosts) change(slot int) {
	s := h.seats[slot]
	q := &h.squads[s.group]
	q.due = 0
	if q.own == nil {
		return
	}
	q.own.forget()
	q.own.now = max(q.own.now, h.upper.now)
	q.own.climbTo(slot, int(s.place))
}

// climbTo plays the matches above the node at a place, if any were played.
func (t *tournament) climbTo(slot, place int) {
	if t.played {
		t.climb(place, slot, 0, t.grow(place))
	}
}

// regroup takes note that a group has another champion, was opened or closed.
func (h *hosts) regroup(group int) {
	if !h.upper.played {
		return
	}
	h.upper.forget()
	played := group < len(h.squads) && h.squads[group].plays
	winner := winnerOf(h.outcome(&h.upper, group))
	if winner == nobody && !played {
		return // a node of a group that is closed, and was
	}
	h.upper.climb(group, winner, 0, h.upper.grow(group))
}

// Regroup says that a group was opened or closed.
func (t *tournament) Regroup(group int) {
	if t.hosts != nil {
		t.hosts.regroup(group)
	}
}

// outcome is that of a group as an entrant of upper: its champion, up to the step at
// which another node of it may be.
func (h *hosts) outcome(t *tournament, group int) uint64 {
	if group >= len(h.squads) {
		return pack(nobody, never)
	}
	q := &h.squads[group]
	if q.plays = len(q.slots) > 0 && !h.main.table.Groups.shut(int32(group)); !q.plays {
		return pack(nobody, never)
	}
	if q.own != nil {
		q.own.advance(max(t.now, q.own.now))
		final := q.own.levels[len(q.own.levels)-1][0].match[1]
		if dueOf(final) == never {
			return pack(winnerOf(final), never)
		}
		return pack(winnerOf(final), t.after(q.own.base, int64(dueOf(final))))
	}
	if q.due <= t.now {
		h.look(t, q)
	}
	return pack(int(q.winner), t.after(t.now, q.due-t.now))
}

// look finds the champion of a list. Each node that was beaten on the way stays so
// for its lead, so that the least of these is how long the champion stays it.
func (h *hosts) look(t *tournament, q *squad) {
	t.forget()
	x, y := &t.held[0], &t.held[1]
	winner, due := nobody, uint64(never)
	for _, slot := range q.slots {
		if !t.load(int(slot), y) {
			continue
		}
		if winner == nobody {
			winner = y.slot
		} else {
			w, lead := t.meet(x, y, int64(4*len(h.squads)))
			winner, due = w, min(due, lead)
		}
		if winner == y.slot {
			x, y = y, x
		}
	}
	q.winner, q.due = int32(winner), ahead
	if due != never {
		q.due = t.base + int64(due)
	}
	t.forget()
}

// restart derives all anew as of an earlier step than some node knows.
func (h *hosts) restart() {
	for g := range h.squads {
		h.squads[g].due = 0
		if own := h.squads[g].own; own != nil {
			own.played, own.now = false, 0
		}
	}
}

// pickGroups is Pick of a table with groups.
func (t *tournament) pickGroups(dst []int, step int64, count int) []int {
	h, before := t.hosts, len(dst)
	if step < h.upper.now {
		h.restart()
	}
	t.advance(step)
	h.upper.forget()
	h.upper.advance(step)
	dst, last, sure := t.bestGroups(dst, step, count)
	if !sure {
		t.unpark()
		t.advance(step)
		dst, last, _ = t.bestGroups(dst[:before], step, count)
	}
	if len(dst)-before < count {
		last = 0
	}
	t.heed(last)
	return dst
}

// bestGroups appends up to count nodes, and returns the value of the last, and
// whether no node that is parked can be before one of them.
func (t *tournament) bestGroups(dst []int, step int64, count int) (picks []int, last float64, sure bool) {
	h, rooms := t.hosts, t.table.Begin()
	t.queue = t.queue[:0]
	t.enqueueFinal(t, ofMain, step)
	t.enqueueFinal(&h.upper, ofUpper, step)
	for ; count > 0 && len(t.queue) > 0; count-- {
		first := t.queue[0]
		if first.value < t.sure {
			return dst, last, false
		}
		t.removeFirst()
		group := h.seat(first.slot).group
		if group != 0 && !rooms.Take(group) {
			count++
			continue
		}
		dst, last = append(dst, first.slot), first.value
		if count == 1 {
			return dst, last, true
		}
		switch first.of {
		case ofMain:
			t.enqueueLosers(first, step, t)
		case ofUpper:
			t.enqueueLosers(first, step, &h.upper)
			if rooms.left(group) > 0 {
				h.enqueueRest(first.slot, group, step)
			}
		default:
			if own := h.squads[group].own; own != nil {
				t.enqueueLosers(first, step, own)
			}
		}
	}
	return dst, last, count == 0 || t.sure == 0
}

// enqueueFinal enters the champion of a tournament.
func (t *tournament) enqueueFinal(of *tournament, whose int32, step int64) {
	top := len(of.levels) - 1
	if top < 0 {
		return
	}
	c := &of.held[0]
	winner := winnerOf(of.levels[top][0].match[1])
	if winner == nobody || !of.load(winner, c) {
		return
	}
	if v := of.value(c, step); v > 0 {
		t.enqueue(entry{candidate{v, c.slot}, whose, int8(top), 1, 0})
	}
}

// enqueueRest enters the nodes of a group after its champion.
func (h *hosts) enqueueRest(champion int, group int32, step int64) {
	q := &h.squads[group]
	if q.own != nil {
		h.main.enqueueLosers(entry{candidate{0, champion}, group, int8(len(q.own.levels) - 1), 1, 0}, step, q.own)
		return
	}
	h.upper.forget()
	c := &h.upper.held[0]
	for _, slot := range q.slots {
		if int(slot) == champion || !h.upper.load(int(slot), c) {
			continue
		}
		if v := h.upper.value(c, step); v > 0 {
			h.main.enqueue(entry{candidate{v, c.slot}, group, -1, 0, 0})
		}
	}
	h.upper.forget()
}

// size is the memory held beside main's blocks.
func (h *hosts) size() int {
	n := int(unsafe.Sizeof(*h)) + 8*cap(h.seats) + int(unsafe.Sizeof(squad{}))*cap(h.squads) + h.bytes + h.upper.Bytes()
	for g := range h.squads {
		if own := h.squads[g].own; own != nil {
			n += int(unsafe.Sizeof(*own)) + own.Bytes()
		}
	}
	return n
}
