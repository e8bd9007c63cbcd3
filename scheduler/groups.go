package scheduler

import (
	"errors"
	"math"
	"math/bits"
)

// Limits say how often nodes of a group, such as the pages of one host, may be
// handed out. Times are in units of the caller's clock. Zero: no limit.
type Limits struct {
	// Gap is the least time from one hand-out to the next.
	Gap int64
	// Rest is the least time from the end of a lease to the next hand-out. Without a
	// Concurrency it allows one lease at a time.
	Rest int64
	// Steps is the least number of steps from one hand-out to the next.
	Steps int64
	// Concurrency is the greatest number of leases at a time.
	Concurrency int32
}

// ErrLimit is returned when a limit of a group is negative or beyond MaxStep.
var ErrLimit = errors.New("scheduler: limit of a group is out of range")

// Check returns ErrLimit if a limit is out of range.
func (l *Limits) Check() error {
	for _, v := range [...]int64{l.Gap, l.Rest, l.Steps} {
		if v < 0 || v > MaxStep {
			return ErrLimit
		}
	}
	if l.Concurrency < 0 {
		return ErrLimit
	}
	return nil
}

// most is how many leases there may be at a time.
func (l *Limits) most() int32 {
	switch {
	case l.Concurrency > 0:
		return l.Concurrency
	case l.Rest > 0:
		return 1
	}
	return math.MaxInt32
}

// Group is a group of nodes. What is not said to be derived has to survive.
type Group struct {
	Limits
	// Handed and Ended are one more than the times of the last hand-out and of the
	// last end of a lease, Last one more than the step of the last hand-out. Zero: none
	// was yet.
	Handed, Ended, Last int64
	// Held is the time before which the group is closed whatever its limits.
	Held int64
	// Crowd is what was learnt of signals at the nodes of the group.
	Crowd Crowd
	// Nodes and Leased are derived: members, and leases that run.
	Nodes, Leased int32

	seen    int64 // one more than the end of a lease that is not in Ended yet
	wakes   int64 // a time at which the group is looked at again, 0: none
	stepsOn int64 // the same for steps
	shut    bool
}

// Opens is the time from which on limits and holds let the group be open.
func (g *Group) Opens() int64 {
	at := g.Held
	if g.Gap > 0 && g.Handed > 0 {
		at = max(at, g.Handed-1+g.Gap)
	}
	if ended := max(g.Ended, g.seen); g.Rest > 0 && ended > 0 {
		at = max(at, ended-1+g.Rest)
	}
	return at
}

// OpensStep is the first step in which Steps lets the group be open.
func (g *Group) OpensStep() int64 {
	if g.Steps > 0 && g.Last > 0 {
		return g.Last - 1 + g.Steps
	}
	return 0
}

// closed says whether no node may be handed out at a time and in a step.
func (g *Group) closed(now, step int64) bool {
	return g.Leased >= g.most() || now < g.Opens() || step < g.OpensStep()
}

// room is how many nodes may be handed out at once, if the group is open. Brief
// says that their leases end at once.
func (g *Group) room(brief bool) int32 {
	if g.Gap > 0 || g.Steps > 0 || brief && g.Rest > 0 {
		return 1
	}
	if brief {
		return math.MaxInt32
	}
	return g.most() - g.Leased
}

// plain says that nothing is to be kept of a group but its name.
func (g *Group) plain(now int64) bool {
	return g.Limits == Limits{} && g.Held <= now && g.Crowd == Crowd{}
}

// Groups are those of a table, by numbers from 1 on. They know which are open: who
// owns the table says what time and step it is before each Pick (Open), when a
// node is handed out (Give) and when its lease ends (Back).
//
// Cost: O(log H) for H closed groups, when one closes or opens.
type Groups struct {
	list []*Group
	free int // lowest number that may be free
	// Brief: the leases that the next Pick is for end at once.
	Brief bool

	now, step int64
	byTime    wakeQueue
	bySteps   wakeQueue
}

// Len is one more than the highest number.
func (gs *Groups) Len() int { return len(gs.list) }

// Of is the group of a number, nil if there is none.
func (gs *Groups) Of(number int32) *Group {
	if number <= 0 || int(number) >= len(gs.list) {
		return nil
	}
	return gs.list[number]
}

// Free is the lowest free number.
func (gs *Groups) Free() int32 {
	gs.free = max(gs.free, 1)
	for gs.free < len(gs.list) && gs.list[gs.free] != nil {
		gs.free++
	}
	return int32(gs.free)
}

// Put places a group, over the one of this number if any. Its derived fields stay
// those of the group that was there.
func (gs *Groups) Put(number int32, g Group) {
	for len(gs.list) <= int(number) {
		gs.list = append(gs.list, nil)
	}
	if old := gs.list[number]; old != nil {
		g.Nodes, g.Leased, g.seen, g.shut = old.Nodes, old.Leased, old.seen, old.shut
		g.wakes, g.stepsOn = old.wakes, old.stepsOn
		if !g.limited() {
			g.seen = 0
		}
		*old = g
		return
	}
	gs.list[number] = &g
}

// Remove frees a number.
func (gs *Groups) Remove(number int32) {
	if gs.Of(number) == nil {
		return
	}
	gs.list[number] = nil
	gs.free = min(gs.free, int(number))
	for n := len(gs.list); n > 0 && gs.list[n-1] == nil; n-- {
		gs.list = gs.list[:n-1]
	}
}

// Idle says that a group has no node and nothing to be remembered at a time.
func (gs *Groups) Idle(number int32, now int64) bool {
	g := gs.Of(number)
	return g != nil && g.Nodes == 0 && g.plain(now)
}

// shut says whether no node of a group may be handed out.
func (gs *Groups) shut(number int32) bool {
	g := gs.Of(number)
	return g != nil && g.shut
}

// Closed says whether a group is closed at a time and in a step.
func (gs *Groups) Closed(number int32, now, step int64) bool {
	g := gs.Of(number)
	return g != nil && g.closed(now, step)
}

// Open moves on to a time and a step, neither before those of an earlier call, and
// opens the groups that are due; p is told.
func (gs *Groups) Open(p Policy, now, step int64) {
	gs.now, gs.step = max(gs.now, now), max(gs.step, step)
	gs.lookAgain(p, &gs.byTime, gs.now, func(g *Group) *int64 { return &g.wakes })
	gs.lookAgain(p, &gs.bySteps, gs.step, func(g *Group) *int64 { return &g.stepsOn })
}

// lookAgain looks at the groups of a queue that are due, unless they stand in it for another time by now.
func (gs *Groups) lookAgain(p Policy, queue *wakeQueue, now int64, standsFor func(g *Group) *int64) {
	for {
		w, ok := queue.due(now)
		if !ok {
			return
		}
		if g := gs.Of(w.group); g != nil && *standsFor(g) == w.at {
			*standsFor(g) = 0
			gs.Look(p, w.group)
		}
	}
}

// Look finds out whether a group is open, after its limits were changed, and sees to
// it that it is looked at again when it may open.
func (gs *Groups) Look(p Policy, number int32) {
	g := gs.Of(number)
	if g == nil {
		return
	}
	at, steps := g.Opens(), g.OpensStep()
	if at > gs.now && (g.wakes == 0 || at < g.wakes) {
		g.wakes = at
		gs.byTime.add(wake{at, number})
	}
	if steps > gs.step && (g.stepsOn == 0 || steps < g.stepsOn) {
		g.stepsOn = steps
		gs.bySteps.add(wake{steps, number})
	}
	if shut := g.closed(gs.now, gs.step); shut != g.shut {
		g.shut = shut
		p.Regroup(int(number))
	}
}

// Give takes note that a node of a group was handed out. With a brief lease it is
// back at once.
func (gs *Groups) Give(p Policy, number int32, now, step int64, brief bool) {
	g := gs.Of(number)
	if g == nil {
		return
	}
	if g.limited() {
		g.Handed, g.Last = max(g.Handed, now+1), max(g.Last, step+1)
	}
	if brief && g.limited() {
		g.Ended = max(g.Ended, now+1)
	}
	if !brief {
		g.Leased++
	}
	gs.Look(p, number)
}

func (g *Group) limited() bool { return g.Limits != Limits{} }

// Back takes note that a lease has ended at a time.
func (gs *Groups) Back(p Policy, number int32, at int64) {
	g := gs.Of(number)
	if g == nil {
		return
	}
	g.Leased = max(0, g.Leased-1)
	if g.limited() {
		g.seen = max(g.seen, at+1)
	}
	gs.Look(p, number)
}

// Settle makes the end of a lease that Back told of one that has to survive.
func (gs *Groups) Settle(number int32, at int64) {
	if g := gs.Of(number); g != nil && g.limited() {
		g.Ended = max(g.Ended, at+1)
	}
}

// Opening is the first time at which limits or a hold let a closed group open, 0 if they
// close none.
func (gs *Groups) Opening() int64 {
	for len(gs.byTime) > 0 {
		first := gs.byTime[0]
		if g := gs.Of(first.group); g != nil && g.wakes == first.at && g.Opens() == first.at && first.at > gs.now {
			return first.at
		}
		gs.byTime.due(first.at)
		if g := gs.Of(first.group); g != nil && g.wakes == first.at {
			g.wakes = 0
			if at := g.Opens(); at > gs.now {
				g.wakes = at
				gs.byTime.add(wake{at, first.group})
			}
		}
	}
	return 0
}

// Join takes note that a leased node has come into a group.
func (gs *Groups) Join(p Policy, number int32) {
	if g := gs.Of(number); g != nil {
		g.Leased++
		gs.Look(p, number)
	}
}

// Leave takes note that a leased node has left its group.
func (gs *Groups) Leave(p Policy, number int32) {
	if g := gs.Of(number); g != nil {
		g.Leased = max(0, g.Leased-1)
		gs.Look(p, number)
	}
}

// Recount makes what is derived anew: the members of groups, and whether they are
// open. leased are the slots that are leased. It returns false if a node is of a group
// that is not there.
func (t *Table) Recount(p Policy, leased func(visit func(slot int))) bool {
	whole := true
	for _, g := range t.Groups.list {
		if g != nil {
			g.Nodes, g.Leased, g.wakes, g.stepsOn = 0, 0, 0, 0
		}
	}
	t.Groups.byTime, t.Groups.bySteps = t.Groups.byTime[:0], t.Groups.bySteps[:0]
	for id, page := range t.pages {
		if page == nil || page.mask&(1<<colGroup) == 0 {
			continue
		}
		for used := page.used; used != 0; used &= used - 1 {
			switch g := t.GroupOf(id*PageSize + bits.TrailingZeros64(used)); {
			case t.Groups.Of(g) != nil:
				t.count(g, 1)
			case g != 0:
				whole = false
			}
		}
	}
	leased(func(slot int) {
		if g := t.Groups.Of(t.GroupOf(slot)); g != nil {
			g.Leased++
		}
	})
	for number := range t.Groups.list {
		t.Groups.Look(p, int32(number))
	}
	return whole
}

// Rooms counts the nodes that one Pick takes of groups with room for some.
type Rooms struct {
	groups *Groups
	taken  map[int32]int32
}

func (r *Rooms) reset(groups *Groups) {
	r.groups = groups
	clear(r.taken)
}

// left is how many nodes more may be taken of a group; 0 is no group.
func (r *Rooms) left(number int32) int32 {
	g := r.groups.Of(number)
	switch {
	case g == nil:
		return math.MaxInt32
	case g.shut:
		return 0
	}
	return max(0, g.room(r.groups.Brief)-r.taken[number])
}

// Take counts a node and returns false if there is no room for it.
func (r *Rooms) Take(number int32) bool {
	if number == 0 {
		return true
	}
	if r.left(number) == 0 {
		return false
	}
	if r.taken == nil {
		r.taken = make(map[int32]int32)
	}
	r.taken[number]++
	return true
}

// wake is a group that is to be looked at.
type wake struct {
	at    int64
	group int32
}

// wakeQueue is a binary heap, the first to wake at the root.
type wakeQueue []wake

func (q *wakeQueue) add(w wake) {
	*q = append(*q, w)
	h := *q
	for i := len(h) - 1; i > 0 && h[i].at < h[(i-1)/2].at; i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
}

// due takes out the first that wakes at or before now.
func (q *wakeQueue) due(now int64) (w wake, ok bool) {
	h := *q
	if len(h) == 0 || h[0].at > now {
		return w, false
	}
	w = h[0]
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	*q = h
	for i := 0; ; {
		down := 2*i + 1
		if down+1 < len(h) && h[down+1].at < h[down].at {
			down++
		}
		if down >= len(h) || h[down].at >= h[i].at {
			return w, true
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
}

// groupBytes is the size of a Group as the allocator rounds it.
const groupBytes = 160

// bytes is the memory held.
func (gs *Groups) bytes() int {
	n := 8*cap(gs.list) + 16*(cap(gs.byTime)+cap(gs.bySteps))
	for _, g := range gs.list {
		if g != nil {
			n += groupBytes
		}
	}
	return n
}
